// The gallery: for each smoother its map of weights, one row of it as bars, and what it makes of the
// signal. One query is marked in all pictures.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const edge = {left: 36, right: 8, top: 6};
    const state = {row: 24, held: false, cards: []};

    function complaints(item, n) {
        const {map, out, entropy} = item;
        const heads = map && map.heads;
        const whole = map && map.size === n && map.weights.length === heads &&
            map.weights.every((w) => w.length === n * n) && out.length === heads &&
            out.every((o) => o.length === n && o.every(kit.isNumber)) && entropy.length === heads;
        return whole ? [] : [(item.title || item.id) + " lacks weights or results"];
    }

    // The signed weights of one head, row after row.
    function weightsOf(item, head) {
        const cells = kit.unpackHead(item.map, head);
        const negative = item.negative[head];
        if (negative) cells.forEach((w, i) => { if (negative[i] === "1") cells[i] = -w; });
        return cells;
    }

    // Blue for positive weights, orange for negative ones; both fade to the card's colour.
    function ramps() {
        const up = kit.ramp();
        const dark = kit.dark();
        const stops = dark ? ["#1a1e26", "#7a3b12", "#e08a3c", "#ffe0b0"]
                           : ["#ffffff", "#f8c993", "#d9721a", "#6b2b00"];
        const down = d3.scaleLinear().domain([0, 0.33, 0.67, 1]).range(stops)
            .interpolate(d3.interpolateLab).clamp(true);
        return {up, down};
    }

    function describe(item, head, row, weights, n) {
        const share = Array.from(weights.subarray(row * n, (row + 1) * n));
        const seen = share.filter((w) => w !== 0).length;
        const name = "Token " + row;
        if (!seen) return [name, " sees nothing: its answer is zero."];
        if (d3.min(share) === d3.max(share)) return [name, " looks at all keys alike."];
        const most = kit.largest(share, 3).filter((j) => share[j] > 0);
        const entropy = item.entropy[head];
        return [name, " looks most at " +
            kit.list(most.map((j) => j + " (" + kit.percent(share[j]) + ")")) +
            (entropy ? "; entropy " + kit.fixed(entropy[row], 2) + ", as if shared by " +
                kit.fixed(Math.exp(entropy[row]), 1) + " keys." : "; some weights are negative.")];
    }

    function card(parent, item, data) {
        const n = data.input.tokens;
        const values = data.input.value;
        let head = 0;
        let plot = null;
        const chart = kit.chart(parent, {
            name: item.id,
            title: item.title,
            label: item.title + ": weights of " + n + " queries (rows) for " + n +
                " keys (columns); below, one row as bars and the smoothed signal.",
            draw,
        });
        try {
            chart.tools.append("div").attr("class", "formula").node()
                .append(kit.tex(item.formula, item.formula));
        } catch (error) {
            kit.problem("the formula of " + item.title + " (" + error.message + ").");
        }
        if (item.map.heads > 1) {
            const entries = item.map.head_names.map((name, h) => ({id: String(h), name: String(h + 1)}));
            kit.picker(chart.foot.append("div"), "Head", "gallery-head", entries, "0", (id) => {
                head = +id;
                chart.draw();
            });
        }
        const canvas = kit.heatCanvas(chart);
        const told = chart.foot.append("p").attr("class", "told");
        const caption = chart.figure.append("figcaption");
        if (item.note) caption.append("span").text(item.note + " ");
        const mean = item.entropy[0] && d3.mean(item.entropy[0]);
        caption.append("span").text((kit.isNumber(mean)
            ? "Mean entropy of a row " + kit.fixed(mean, 2) + ". " : "") +
            (item.fallbacks ? count(item.fallbacks, "row") + " without weight took the nearest key. " : "") +
            (item.nonpositive ? count(item.nonpositive, "row") + " with a sum that is not positive. " : "") +
            item.source + ".");
        caption.append("code").attr("class", "attrs")
            .text(JSON.stringify(item.attrs).replace(/[,:](?=["{[\dtf-])/g, "$& "));
        function count(k, noun) { return k + " " + noun + (k === 1 ? "" : "s"); }

        function paint() {
            const cells = weightsOf(item, head);
            const hidden = item.hidden[head];
            const sizes = cells.map(Math.abs);
            const top = Math.max(kit.topWeight(sizes), 4 / n);  // even weights are no peak
            const {up, down} = ramps();
            const blue = kit.palette(up);
            const orange = kit.palette(down);
            const grey = d3.rgb(kit.colour("--hidden"));
            kit.paintCells(canvas, n, n, (i) => hidden && hidden[i] === "1" ? grey
                : (cells[i] < 0 ? orange : blue)[kit.level(sizes[i], top)]);
            return {cells, top, up, down, hidden};
        }

        function draw(svg, width) {
            const side = width - edge.left - edge.right;
            const {cells, top, up, down, hidden} = paint();
            kit.placeHeat(chart, canvas, edge.left, edge.top, side, side);
            const x = d3.scaleLinear().domain([0, n]).range([edge.left, edge.left + side]);
            const y = d3.scaleLinear().domain([0, n]).range([edge.top, edge.top + side]);
            const ticks = d3.range(0, n, 12);
            const axis = (make, scale) => make(scale).tickValues(ticks.map((t) => t + 0.5))
                .tickFormat((t) => Math.floor(t)).tickSize(3);
            svg.append("rect").attr("class", "frame-line").attr("x", edge.left).attr("y", edge.top)
                .attr("width", side).attr("height", side);
            kit.axis(svg, axis(d3.axisLeft, y), edge.left, 0);
            kit.text(svg, 0, 0, "query").attr("text-anchor", "end")
                .attr("transform", "translate(9," + (edge.top + 2) + ") rotate(-90)");

            // The key to the colours
            const below = edge.top + side + 10;
            const negative = item.negative[head];
            const span = Math.min(120, side * 0.4);
            const key = svg.append("g").attr("transform", "translate(" + edge.left + "," + below + ")");
            kit.colourKey(key, span, up, [[0, "0"], [1, "\u2265 " + kit.percent(top)]]);
            let next = edge.left + span + 34;
            if (negative) {
                const other = svg.append("g").attr("transform", "translate(" + next + "," + below + ")");
                kit.colourKey(other, span / 2, down, [[1, "\u2212" + kit.percent(top)]]);
                next += span / 2 + 30;
            }
            if (hidden) {
                svg.append("rect").attr("class", "hidden-cell").attr("x", next).attr("y", below)
                    .attr("width", 9).attr("height", 9);
                kit.text(svg, next + 14, below + 9, "hidden");
            }

            // One row as bars, then the signal, over the same keys
            const barTop = below + 52;
            const base = barTop + 58;
            const curveTop = base + 30;
            const curveBase = curveTop + 84;
            const left = edge.left;
            const right = edge.left + side;
            kit.text(svg, left, barTop - 8, "weights of the query", "strong");
            const yw = d3.scaleLinear();
            const zero = svg.append("line").attr("class", "zero").attr("x1", left).attr("x2", right);
            const bars = svg.append("g").selectAll("rect").data(d3.range(n)).enter().append("rect")
                .attr("class", "bar").attr("x", (j) => x(j) + 0.5).attr("width", side / n - 1);
            const barAxis = svg.append("g").attr("class", "axis").attr("transform", "translate(" + left + ",0)");
            kit.text(svg, left, curveTop - 8, "signal and answers", "strong");
            const out = item.out[head];
            const range = d3.extent(values);
            const most = range[1] - range[0];
            const ys = d3.scaleLinear().range([curveBase, curveTop]).clamp(true)
                .domain([Math.max(range[0] - most, Math.min(range[0], d3.min(out))),
                         Math.min(range[1] + most, Math.max(range[1], d3.max(out)))]).nice();
            kit.axis(svg, d3.axisLeft(ys).ticks(3).tickSize(3), left, 0);
            kit.axis(svg, axis(d3.axisBottom, x), 0, curveBase + 2);
            kit.text(svg, right, curveBase + 32, "key \u2192").attr("text-anchor", "end");
            svg.append("g").selectAll("circle").data(values).enter().append("circle")
                .attr("class", "training-point").attr("r", 1.8)
                .attr("cx", (v, j) => x(j + 0.5)).attr("cy", ys);
            svg.append("path").attr("class", "fit").style("--c", "var(--smoother-0)")
                .attr("d", d3.line().x((v, j) => x(j + 0.5)).y(ys)(out));
            const ring = svg.append("circle").attr("class", "best").attr("r", 4)
                .style("--c", "var(--transformer-0)");
            const across = svg.append("rect").attr("class", "cross row").attr("fill", "none")
                .attr("x", left - 1).attr("width", side + 2).attr("height", side / n + 2);
            const upright = svg.append("line").attr("class", "cross row").attr("y1", barTop)
                .attr("y2", curveBase);
            svg.append("rect").attr("class", "veil point-at").attr("x", left).attr("y", edge.top)
                .attr("width", side).attr("height", side)
                .on("mousemove", function () {
                    if (!state.held) setRow(Math.floor(y.invert(d3.mouse(this)[1])));
                })
                .on("click", function () {
                    state.held = !state.held;
                    setRow(Math.floor(y.invert(d3.mouse(this)[1])));
                });
            svg.attr("height", curveBase + 38);
            plot = {x, y, yw, ys, bars, barAxis, zero, ring, across, upright, cells, out, base, barTop};
            update();
        }

        function update() {
            const p = plot;
            const row = p.cells.subarray(state.row * n, (state.row + 1) * n);
            const [low, high] = [Math.min(0, d3.min(row)), Math.max(d3.max(row), 2 / n)];
            p.yw.domain([low, high]).range([p.base, p.barTop]);
            const zero = p.yw(0);
            p.zero.attr("y1", zero).attr("y2", zero);
            p.bars.attr("y", (j) => Math.min(zero, p.yw(row[j])))
                .attr("height", (j) => Math.abs(p.yw(row[j]) - zero))
                .style("--c", (j) => row[j] < 0 ? "var(--transformer-0)" : "var(--smoother-0)");
            p.barAxis.call(d3.axisLeft(p.yw).tickValues([low, high].filter((w) => w !== 0)).tickSize(3)
                .tickFormat((w) => String(+(100 * w).toPrecision(2)).replace("-", "\u2212") + "%"));
            p.across.attr("y", p.y(state.row) - 1);
            const at = p.x(state.row + 0.5);
            p.upright.attr("x1", at).attr("x2", at);
            p.ring.attr("cx", at).attr("cy", p.ys(p.out[state.row]));
            const [name, text] = describe(item, head, state.row, p.cells, n);
            told.html("").append("strong").text(name);
            told.append("span").text(text);
        }
        chart.recolour = () => chart.draw();
        state.cards.push({update: () => { if (plot) update(); }});
    }

    // The signal, and the features of every token as columns.
    function input(parent, data) {
        const {tokens: n, width: d, value, features} = data.input;
        const chart = kit.chart(parent, {
            name: "input",
            title: "The input: " + n + " tokens",
            label: "Above, the values of " + n + " tokens, a noisy wave; below, their " + d +
                " features, one column for each token.",
            caption: "Dots: the values to be smoothed, a slow wave, a season of twelve tokens and " +
                "noise. Below, each token\u2019s " + d + " features as a query: they lie on a smooth " +
                "curve that comes back nearly to itself every twelve tokens.",
            draw,
        });
        const canvas = kit.heatCanvas(chart);
        function draw(svg, width) {
            const side = width - edge.left - edge.right;
            const base = 140;
            const x = d3.scaleLinear().domain([0, n]).range([edge.left, edge.left + side]);
            const y = d3.scaleLinear().domain(d3.extent(value)).nice().range([base, 14]);
            kit.axis(svg, d3.axisLeft(y).ticks(4).tickSize(3), edge.left, 0);
            svg.append("path").attr("class", "data-line")
                .attr("d", d3.line().x((v, j) => x(j + 0.5)).y(y)(value));
            svg.append("g").selectAll("circle").data(value).enter().append("circle")
                .attr("class", "training-point").attr("r", 2.4)
                .attr("cx", (v, j) => x(j + 0.5)).attr("cy", y);
            const top = d3.max(features, Math.abs);
            const {up, down} = ramps();
            const blue = kit.palette(up);
            const orange = kit.palette(down);
            kit.paintCells(canvas, n, d, (i) => {
                const f = features[(i % n) * d + Math.floor(i / n)];
                return (f < 0 ? orange : blue)[Math.round(255 * Math.abs(f) / top)];
            });
            kit.placeHeat(chart, canvas, edge.left, base + 16, side, 112);
            svg.append("rect").attr("class", "frame-line").attr("x", edge.left).attr("y", base + 16)
                .attr("width", side).attr("height", 112);
            kit.text(svg, 0, 0, "feature").attr("text-anchor", "end")
                .attr("transform", "translate(28," + (base + 18) + ") rotate(-90)");
            kit.axis(svg, d3.axisBottom(x).tickValues(d3.range(0, n, 6).map((t) => t + 0.5))
                .tickFormat((t) => Math.floor(t)).tickSize(3), 0, base + 130);
            kit.text(svg, edge.left + side, base + 160, "token \u2192").attr("text-anchor", "end");
            svg.attr("height", base + 166);
        }
        chart.recolour = () => chart.draw();
    }

    let slider = null;
    let waiting = false;
    function setRow(next) {
        const last = +slider.attr("max");
        state.row = Math.max(0, Math.min(last, next));
        slider.property("value", state.row).attr("aria-valuetext", "token " + state.row);
        d3.select("#query-name").text("Query: token " + state.row +
            (state.held ? " (held; click a map to let go)" : ""));
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => {
            waiting = false;
            state.cards.forEach((c) => c.update());
        });
    }

    kit.start((data) => {
        const n = data.input.tokens;
        kit.prefix = "mercer-smoothers";
        kit.provenance(data);
        kit.contents([["input", "The input"]].concat(data.groups.map((g) => [g.id, g.title])));
        slider = d3.select("#query").attr("max", n - 1).on("input", function () { setRow(+this.value); });
        input(d3.select("#input-chart"), data);
        data.groups.forEach((group) => {
            const section = d3.select("#groups").append("section").attr("id", group.id)
                .attr("aria-labelledby", "title-" + group.id);
            section.append("h2").attr("id", "title-" + group.id).text(group.title);
            section.append("p").text(group.text);
            const grid = section.append("div").attr("class", "gallery");
            group.items.forEach((item) => {
                const bad = complaints(item, n);
                bad.forEach((complaint) => kit.problem(complaint + "."));
                if (!bad.length) card(grid, item, data);
            });
        });
        kit.drawAll();
        kit.watch();
        setRow(state.row);
    });
})();
