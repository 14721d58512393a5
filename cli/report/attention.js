// What each month looks at: the whole map of weights, and one month's row over the series.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const edge = {left: 62, top: 18, right: 8, bottom: 96};

    // Round dates along an axis of cells.
    function cellTicks(series, attention, count) {
        const last = series.x.length - 1;
        const scale = kit.timeScale(series).domain([series.x[0], series.x[last]]);
        return scale.ticks(count).map((date) => ({
            at: kit.nearest(series.x, date) / attention.stride,
            text: series.monthly ? d3.utcFormat("%Y")(date) : String(date),
        }));
    }

    kit.attention = function (parent, series) {
        const models = series.models.filter((m) => m.kind === "transformer" && m.attention);
        const state = {model: models[0], head: "mean", row: 0, held: false};
        const n = series.x.length;
        const attention = () => state.model.attention;
        const weights = () => kit.weights(series, state.model, state.head);
        const firstTest = Math.max(0, series.split.indexOf(2));
        state.row = Math.floor(firstTest / attention().stride);

        // Pickers
        const controls = parent.append("div");
        const modelEntries = models.map((m) => ({id: m.id, name: m.name}));
        kit.picker(controls, "Model", "attention-model", modelEntries, state.model.id, (id) => {
            const old = attention().stride;
            state.model = models.find((m) => m.id === id);
            state.row = Math.floor((state.row * old) / attention().stride);
            if (state.head !== "mean" && +state.head >= attention().heads) state.head = "mean";
            pickHeads();
            repaint();
        });
        const headBox = controls.append("div");
        function pickHeads() {
            headBox.selectAll("*").remove();
            const entries = [{id: "mean", name: "mean of all"}].concat(
                attention().head_names.map((name, h) => ({id: String(h), name})));
            kit.picker(headBox, "Head", "attention-head", entries, state.head, (id) => {
                state.head = id;
                repaint();
            });
        }
        pickHeads();
        const insight = parent.append("p").attr("class", "insight").attr("aria-live", "polite");
        const pair = parent.append("div").attr("class", "pair");

        // The map
        const map = kit.chart(pair, {
            name: series.id + "-attention",
            title: "The whole map",
            label: "Attention map of " + series.name + ": each row is the " + series.noun +
                " being fitted, each column a " + series.noun + " it looks at, colour the weight.",
            caption: "Each row is the " + series.noun + " being fitted; its weights add up to one. " +
                "Move over the map to read a row; click to hold it. The strips along the edges show " +
                "the split: solid for test, pale for validation." + strideNote(),
            draw: drawMap,
        });
        const canvas = kit.heatCanvas(map);
        const slider = map.foot.append("div").attr("class", "tools").append("input")
            .attr("type", "range").attr("min", 0).attr("step", 1)
            .attr("aria-label", "The " + series.noun + " whose weights are shown");
        slider.on("input", () => setRow(+slider.node().value));
        function strideNote() {
            const stride = attention().stride;
            return stride === 1 ? "" : " To keep this file small every " +
                (stride === 2 ? "second" : stride + "th") + " row is kept, and a column gathers " +
                stride + " neighbouring " + series.noun + "s.";
        }

        let top = 1;
        function paint() {
            const size = attention().size;
            const cells = weights();
            top = kit.topWeight(cells);
            const palette = kit.palette(kit.ramp());
            kit.paintCells(canvas, size, size, (i) => palette[kit.level(cells[i], top)]);
        }

        let marker = null;
        function drawMap(svg, width) {
            const side = Math.min(620, width - edge.left - edge.right);
            const size = attention().size;
            svg.attr("height", edge.top + side + edge.bottom);
            kit.placeHeat(map, canvas, edge.left, edge.top, side, side);
            paint();
            const cell = side / size;
            [1, 2].forEach((which) => kit.runs(series.split, which).forEach(([a, b]) => {
                const from = (a / attention().stride) * cell;
                const length = Math.max(1, ((b - a + 1) / attention().stride) * cell);
                const kind = which === 2 ? "test" : "validation";
                const mark = (x, y, w, h) => svg.append("rect").attr("x", x).attr("y", y)
                    .attr("width", w).attr("height", h)
                    .attr("style", "fill:var(--" + (kind === "test" ? "test-mark" : "rule") + ")");
                mark(edge.left + from, edge.top - 7, length, 5);
                mark(edge.left - 7, edge.top + from, 5, length);
            }));
            svg.append("rect").attr("class", "frame-line").attr("x", edge.left).attr("y", edge.top)
                .attr("width", side).attr("height", side);
            const ticks = cellTicks(series, attention(), side / 70);
            const scale = d3.scaleLinear().domain([0, size]).range([0, side]);
            const axis = (make) => make(scale).tickValues(ticks.map((t) => t.at))
                .tickFormat((v, i) => ticks[i].text);
            kit.axis(svg, axis(d3.axisBottom), edge.left, edge.top + side);
            kit.axis(svg, axis(d3.axisLeft).tickSize(8), edge.left, edge.top);
            kit.text(svg, edge.left + side, edge.top + side + 34, "looked at \u2192")
                .attr("text-anchor", "end");
            kit.text(svg, 0, 0, "\u2190 being fitted").attr("text-anchor", "end")
                .attr("transform", "translate(10," + edge.top + ") rotate(-90)");

            // Colour key
            const key = svg.append("g")
                .attr("transform", "translate(" + edge.left + "," + (edge.top + side + 58) + ")");
            kit.colourKey(key, Math.min(240, side), kit.ramp(), [0, 0.25, 0.5, 1].map((share) =>
                [Math.sqrt(share), share === 0 ? "0"
                    : (share === 1 ? "\u2265 " : "") + kit.percent(share * top)]));
            kit.text(key, 0, -6, "weight of a cell within its row");

            marker = svg.append("rect").attr("class", "cross row").attr("fill", "none")
                .attr("x", edge.left - 1).attr("width", side + 2);
            const rowAt = (node) => Math.max(0, Math.min(size - 1,
                Math.floor((d3.mouse(node)[1] - edge.top) / cell)));
            svg.append("rect").attr("class", "veil point-at").attr("x", edge.left)
                .attr("y", edge.top).attr("width", side).attr("height", side)
                .on("mousemove", function () { if (!state.held) setRow(rowAt(this)); })
                .on("click", function () {
                    state.held = !state.held;
                    setRow(rowAt(this));
                });
            slider.attr("max", size - 1).style("margin-left", edge.left + "px")
                .style("width", side + "px");
            markRow();
        }
        function markRow() {
            if (!marker) return;
            const side = map.canvasBox.height;
            const cell = side / attention().size;
            marker.attr("y", edge.top + state.row * cell - 1).attr("height", Math.max(3, cell + 2));
            slider.property("value", state.row);
        }
        map.recolour = () => map.draw();

        // One row over the series
        const row = kit.chart(pair, {
            name: series.id + "-attention-row",
            title: "One " + series.noun + "\u2019s weights",
            label: "The weights of one " + series.noun + " of " + series.name +
                " drawn over the series: larger dots and taller bars weigh more.",
            caption: "Dots grow with the weight they receive; bars show it exactly. The upright line " +
                "is the " + series.noun + " being fitted, the dotted level the weight each would " +
                "get if all were alike.",
            draw: drawRow,
        });
        let plot = null;
        function drawRow(svg, width) {
            const side = Math.min(620, map.canvasBox.height);
            const height = edge.top + side + edge.bottom;
            const left = 46;
            const right = width - 10;
            const split = edge.top + (height - edge.top - 40) * 0.56;
            const base = height - 52;
            svg.attr("height", height);
            const x = kit.timeScale(series).domain([series.x[0], series.x[n - 1]])
                .range([left + 4, right - 4]);
            const y = d3.scaleLinear().domain(d3.extent(series.value)).nice()
                .range([split - 10, edge.top + 22]);
            const yw = d3.scaleLinear().range([base, split + 34]);
            kit.bands(svg.append("g"), series, x, edge.top + 14, split - edge.top - 14);
            kit.axis(svg, d3.axisLeft(y).ticks(5).tickSize(left - right), left, 0, "grid")
                .selectAll("text").remove();
            kit.axis(svg, kit.dataTicks(d3.axisLeft(y), 5), left, 0);
            kit.text(svg, left, edge.top - 6, series.name + ", " + series.unit, "strong");
            kit.text(svg, left, split + 22, "Weight", "strong");
            svg.append("path").attr("class", "data-line")
                .attr("d", d3.line().x((v, i) => x(series.x[i])).y(y)(series.value));
            const g = svg.append("g");
            const line = svg.append("line").attr("class", "cross row").attr("y1", edge.top + 14)
                .attr("y2", base);
            const label = kit.text(svg, 0, edge.top + 9, "", "strong halo");
            const even = svg.append("line").attr("class", "cross").attr("x1", left).attr("x2", right);
            const axisW = svg.append("g").attr("class", "axis")
                .attr("transform", "translate(" + left + ",0)");
            kit.axis(svg, d3.axisBottom(x).ticks(width / 80), 0, base);
            const dots = g.selectAll("circle").data(d3.range(n)).enter().append("circle")
                .attr("class", "weight-dot").attr("cx", (i) => x(series.x[i]))
                .attr("cy", (i) => y(series.value[i]));
            plot = {x, y, yw, g, line, label, even, axisW, dots, base, left, right};
            updateRow();
        }
        function updateRow() {
            const p = plot;
            const {size, stride} = attention();
            const share = weights().subarray(state.row * size, (state.row + 1) * size);
            const told = kit.describeRow(series, state.model, state.head, state.row, weights());
            insight.html("").append("strong").text(told.title + " ");
            insight.append("span").text(told.text);
            const peak = d3.max(share) || 1;
            p.yw.domain([0, Math.max(peak, (2 * stride) / n)]).nice();
            p.g.style("--c", state.model.colour);
            p.dots.attr("r", (i) => 0.8 + 5 * Math.sqrt(share[Math.floor(i / stride)] / peak))
                .attr("opacity", (i) => 0.12 + 0.8 * (share[Math.floor(i / stride)] / peak));
            const wide = Math.max(1, ((p.right - p.left) / size) * 0.82);
            const bars = p.g.selectAll("rect").data(Array.from(share));
            bars.exit().remove();
            bars.enter().append("rect").attr("class", "bar").merge(bars)
                .attr("x", (w, c) => {
                    const [a, b] = kit.columnSpan(attention(), n, c);
                    return (p.x(series.x[a]) + p.x(series.x[b])) / 2 - wide / 2;
                })
                .attr("width", wide).attr("y", (w) => p.yw(w)).attr("height", (w) => p.base - p.yw(w));
            const qx = p.x(series.x[told.query]);
            p.line.attr("x1", qx).attr("x2", qx);
            const far = qx > (p.left + p.right) / 2;
            p.label.attr("x", qx).attr("text-anchor", far ? "end" : "start").text(told.title);
            p.even.attr("y1", p.yw(stride / n)).attr("y2", p.yw(stride / n));
            p.axisW.call(d3.axisLeft(p.yw).ticks(4).tickFormat((w) => +(100 * w).toPrecision(3) + "%"));
            slider.attr("aria-valuetext", told.title);
        }

        function setRow(next) {
            state.row = Math.max(0, Math.min(attention().size - 1, next));
            markRow();
            if (plot) updateRow();
        }
        function repaint() {
            map.draw();
            setRow(state.row);
        }
    };
})();
