// The series with every model's fit: a zoomable view, the residuals below it, and the whole series
// at the bottom with a brush that says which stretch is in view.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const margin = {left: 58, right: 14};
    const focus = {top: 18, height: 320};
    const strip = {top: 366, height: 110};
    const context = {top: 530, height: 54};
    const total = 612;

    kit.fits = function (parent, series) {
        const n = series.x.length;
        const shown = new Set(series.models.map((m) => m.id));
        const full = [series.x[0], series.x[n - 1]];
        const digits = kit.digitsFor(d3.deviation(series.value), 4);
        const held = [1, 2].some((which) =>
            kit.runs(series.split, which).some(([first, last]) => last - first >= 2));
        let view = full.slice();
        let plot = null;

        const chart = kit.chart(parent, {
            name: series.id + "-fits",
            title: "Data and fits",
            label: series.name + " over time with the fit of " +
                kit.list(series.models.map((m) => m.name)) + ", and each fit\u2019s residuals.",
            caption: "Dots are training " + series.noun + "s, diamonds validation, ringed circles " +
                "test. " + (held ? "Held-out stretches are shaded. " : "") + "Drag the lower strip\u2019s window, drag the " +
                "main view to pan, or hold Ctrl and scroll to zoom. Click a name to hide or show " +
                "its fit, double-click to see it alone. Residual: observed minus fitted; the dots " +
                "mark test " + series.noun + "s.",
            legend: () => series.models.filter((m) => shown.has(m.id)),
            draw,
        });

        // Legend and tools
        const legend = chart.tools.append("div").attr("class", "legend").attr("role", "group")
            .attr("aria-label", "Show or hide fits");
        const chips = legend.selectAll("button").data(series.models).enter().append("button")
            .attr("type", "button").attr("class", "chip").attr("data-legend", (m) => m.id)
            .attr("aria-pressed", "true");
        chips.each(function (m) { kit.swatch(d3.select(this), m); });
        chips.append("span").attr("class", "chip-name").text((m) => m.name);
        chips.append("span").attr("class", "chip-value");
        chips.on("click", (m) => {
            if (shown.has(m.id)) shown.delete(m.id);
            else shown.add(m.id);
            update();
        }).on("dblclick", (m) => {
            const alone = shown.size === 1 && shown.has(m.id);
            series.models.forEach((other) => {
                if (alone || other.id === m.id) shown.add(other.id);
                else shown.delete(other.id);
            });
            update();
        });
        const tools = chart.tools.append("div").attr("class", "tools");
        const readout = tools.append("span").attr("class", "readout").attr("aria-live", "off");
        const buttons = tools.append("span").attr("class", "picker picker-tools");
        const button = (text, action) =>
            buttons.append("button").attr("type", "button").text(text).on("click", action);
        button("Whole series", () => setView(full));
        button("\u2039 Test " + series.noun + "s", () => stepTest(-1));
        button("Test " + series.noun + "s \u203a", () => stepTest(1));

        // Windows on the held-out points: runs of test points, near ones together.
        const windows = testWindows();
        let at = -1;
        function testWindows() {
            const span = full[1] - full[0];
            const groups = [];
            kit.runs(series.split, 2).forEach(([first, last]) => {
                const a = +series.x[first];
                const b = +series.x[last];
                const group = groups[groups.length - 1];
                if (group && b - group[0] < 0.12 * span) group[1] = b;
                else groups.push([a, b]);
            });
            return groups.map(([a, b]) => {
                const pad = Math.max(0.3 * (b - a), 0.03 * span);
                const low = Math.max(+full[0], a - pad);
                return [low, Math.min(+full[1], b + pad)];
            });
        }
        function stepTest(step) {
            if (!windows.length) return;
            at = at < 0 && step < 0 ? windows.length - 1 : (at + step + windows.length) % windows.length;
            setView(windows[at]);
        }

        function setView(next) {
            view = [Math.max(+full[0], +next[0]), Math.min(+full[1], +next[1])];
            if (+view[0] === +full[0] && +view[1] === +full[1]) at = -1;
            plot.syncBrush();
            plot.syncZoom();
            update();
        }
        const toX = (v) => (series.monthly ? new Date(+v) : +v);

        function draw(svg, width) {
            svg.attr("height", total);
            const inner = width - margin.left - margin.right;
            const right = margin.left + inner;
            const x = kit.timeScale(series).range([margin.left, right]);
            const xAll = kit.timeScale(series).domain(full).range([margin.left, right]);
            const y = d3.scaleLinear().range([focus.top + focus.height, focus.top]);
            const yr = d3.scaleLinear().range([strip.top + strip.height, strip.top]);
            const yc = d3.scaleLinear().domain(d3.extent(series.value))
                .range([context.top + context.height - 4, context.top + 4]);

            [["focus", focus], ["strip", strip]].forEach(([name, box]) => {
                svg.append("clipPath").attr("id", series.id + "-" + name).append("rect")
                    .attr("x", margin.left).attr("width", inner)
                    .attr("y", box.top).attr("height", box.height);
            });
            const clipped = (name) => svg.append("g")
                .attr("clip-path", "url(#" + series.id + "-" + name + ")");
            const bandsA = clipped("focus");
            const bandsB = clipped("strip");
            const gridY = svg.append("g").attr("class", "grid");
            const gridR = svg.append("g").attr("class", "grid");
            const axisY = svg.append("g").attr("class", "axis");
            const axisR = svg.append("g").attr("class", "axis");
            const axisX = svg.append("g").attr("class", "axis");
            kit.text(svg, margin.left, 10, series.name + ", " + series.unit, "strong");
            kit.text(svg, margin.left, strip.top - 8, "Residual, " + series.unit, "strong");
            const points = clipped("focus");
            const order = d3.range(n).sort((a, b) => series.split[a] - series.split[b]);
            const marks = points.selectAll("path").data(order).enter().append("path")
                .attr("class", (i) => kit.splitNames[series.split[i]] + "-point")
                .attr("d", (i) => kit.pointPath(series.split[i]));
            const lines = clipped("focus").selectAll("path").data(series.models).enter()
                .append("path").attr("class", "fit").attr("data-model", (m) => m.id)
                .style("--c", (m) => m.colour).attr("stroke-dasharray", (m) => m.dash);
            const residuals = clipped("strip").selectAll("g").data(series.models).enter()
                .append("g").attr("data-residual", (m) => m.id).style("--c", (m) => m.colour);
            residuals.append("path").attr("class", "residual-line");
            const tests = d3.range(n).filter((i) => series.split[i] === 2);
            const dots = residuals.selectAll("circle")
                .data((m) => tests.filter((i) => kit.isNumber(m.prediction[i]))
                    .map((i) => ({i, r: series.value[i] - m.prediction[i]})))
                .enter().append("circle").attr("class", "residual-dot").attr("r", 2.8);
            const zero = svg.append("line").attr("class", "zero")
                .attr("x1", margin.left).attr("x2", right);
            const cross = svg.append("line").attr("class", "cross").style("display", "none")
                .attr("y1", focus.top).attr("y2", strip.top + strip.height);
            const veil = svg.append("rect").attr("class", "veil grab").attr("x", margin.left)
                .attr("width", inner).attr("y", focus.top)
                .attr("height", strip.top + strip.height - focus.top);

            // Context
            kit.bands(svg.append("g"), series, xAll, context.top, context.height);
            svg.append("rect").attr("class", "frame-line").attr("x", margin.left)
                .attr("width", inner).attr("y", context.top).attr("height", context.height);
            svg.append("path").attr("class", "data-line").attr("d",
                d3.line().x((v, i) => xAll(series.x[i])).y(yc)(series.value));
            kit.axis(svg, d3.axisBottom(xAll).ticks(width / 90), 0, context.top + context.height);
            const brush = d3.brushX().extent([[margin.left, context.top],
                                              [right, context.top + context.height]])
                .on("brush end", brushed);
            const brushGroup = svg.append("g").attr("class", "brush").call(brush);
            const zoom = d3.zoom().scaleExtent([1, 60])
                .translateExtent([[margin.left, 0], [right, 0]])
                .extent([[margin.left, 0], [right, 0]])
                .filter(() => !d3.event.button &&
                    (d3.event.type !== "wheel" || d3.event.ctrlKey || d3.event.metaKey))
                .on("zoom", zoomed);
            veil.call(zoom).on("mousemove", hover).on("mouseleave", leave);

            plot = {x, y, yr, bandsA, bandsB, gridY, gridR, axisY, axisR, axisX, marks, lines,
                    residuals, dots, zero, inner, right, width};
            let syncing = false;
            plot.syncBrush = function () {
                syncing = true;
                brushGroup.call(brush.move, view.map((v) => xAll(toX(v))));
                syncing = false;
            };
            plot.syncZoom = function () {
                const [a, b] = view.map((v) => xAll(toX(v)));
                const k = inner / Math.max(1, b - a);
                syncing = true;
                veil.call(zoom.transform, d3.zoomIdentity
                    .translate(margin.left - k * a, 0).scale(k));
                syncing = false;
            };
            function brushed() {
                if (syncing || !d3.event.sourceEvent) return;
                const selection = d3.event.selection;
                const tiny = !selection || selection[1] - selection[0] < inner / 60;
                if (tiny && d3.event.type !== "end") return;
                view = tiny ? full.slice() : selection.map(xAll.invert);
                plot.syncZoom();
                if (tiny) plot.syncBrush();
                update();
            }
            function zoomed() {
                if (syncing) return;
                view = d3.event.transform.rescaleX(xAll).domain();
                plot.syncBrush();
                update();
            }
            function hover() {
                const i = kit.nearest(series.x, x.invert(d3.mouse(veil.node())[0]));
                cross.style("display", null).attr("x1", x(series.x[i])).attr("x2", x(series.x[i]));
                readout.text(series.when(i) + ", a " + kit.splitNames[series.split[i]] + " " +
                    series.noun + ": observed " + kit.fixed(series.value[i], digits) + " " +
                    series.unit + "; fitted above (observed minus fitted)");
                chips.select(".chip-value").text((m) => kit.isNumber(m.prediction[i])
                    ? kit.fixed(m.prediction[i], digits) + " (" +
                        kit.signed(series.value[i] - m.prediction[i], digits) + ")"
                    : "no value");
            }
            function leave() {
                cross.style("display", "none");
                readout.text("Move over the chart to read the values.");
                chips.select(".chip-value").text("");
            }
            leave();
            plot.syncBrush();
            plot.syncZoom();
            update();
        }

        // Everything that depends on the window or on which fits are shown.
        function update() {
            const p = plot;
            const visible = series.models.filter((m) => shown.has(m.id));
            const inside = d3.range(n).filter((i) => series.x[i] >= view[0] && series.x[i] <= view[1]);
            p.x.domain(view.map(toX));
            const pad = ([low, high], share) => {
                const room = (high - low || 1) * share;
                return [low - room, high + room];
            };
            const levels = inside.map((i) => series.value[i]).concat(
                ...visible.map((m) => inside.map((i) => m.prediction[i]).filter(kit.isNumber)));
            if (levels.length) p.y.domain(pad(d3.extent(levels), 0.05));
            const errors = [].concat(...visible.map((m) =>
                inside.filter((i) => kit.isNumber(m.prediction[i]))
                    .map((i) => Math.abs(series.value[i] - m.prediction[i]))));
            const reach = 1.06 * (d3.max(errors) || 1);
            p.yr.domain([-reach, reach]);

            chips.attr("aria-pressed", (m) => String(shown.has(m.id)));
            p.bandsA.selectAll("*").remove();
            p.bandsB.selectAll("*").remove();
            kit.bands(p.bandsA, series, (v) => p.x(toX(v)), focus.top, focus.height);
            kit.bands(p.bandsB, series, (v) => p.x(toX(v)), strip.top, strip.height);
            p.gridY.attr("transform", "translate(" + margin.left + ",0)")
                .call(d3.axisLeft(p.y).ticks(6).tickSize(-p.inner).tickFormat(""));
            p.gridR.attr("transform", "translate(" + margin.left + ",0)")
                .call(d3.axisLeft(p.yr).ticks(4).tickSize(-p.inner).tickFormat(""));
            p.axisY.attr("transform", "translate(" + margin.left + ",0)")
                .call(kit.dataTicks(d3.axisLeft(p.y), 6));
            p.axisR.attr("transform", "translate(" + margin.left + ",0)")
                .call(kit.dataTicks(d3.axisLeft(p.yr), 4));
            p.axisX.attr("transform", "translate(0," + (strip.top + strip.height) + ")")
                .call(d3.axisBottom(p.x).ticks(p.width / 90));
            p.zero.attr("y1", p.yr(0)).attr("y2", p.yr(0));
            const magnify = inside.length < n / 3 ? 1.6 : 1;
            p.marks.attr("transform", (i) => "translate(" + p.x(series.x[i]) + "," +
                p.y(series.value[i]) + ") scale(" + magnify + ")");
            const line = (height) => d3.line().defined((v) => kit.isNumber(v))
                .x((v, i) => p.x(series.x[i])).y(height);
            p.lines.style("display", (m) => (shown.has(m.id) ? null : "none"))
                .attr("d", (m) => line(p.y)(m.prediction));
            p.residuals.style("display", (m) => (shown.has(m.id) ? null : "none"))
                .select("path").attr("d", (m) => line(p.yr)(m.prediction.map((v, i) =>
                    (kit.isNumber(v) ? series.value[i] - v : null))));
            p.dots.attr("cx", (d) => p.x(series.x[d.i])).attr("cy", (d) => p.yr(d.r));
        }
        return chart;
    };
})();
