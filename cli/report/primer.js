// A smoother to play with: the shortest series, a query and a bandwidth.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const height = 330;
    const margin = {left: 48, right: 12, top: 24};
    const floor = 262;

    kit.primer = function (parent, series) {
        const known = d3.range(series.x.length).filter((i) => series.split[i] === 0);
        const time = series.time;
        const span = time[time.length - 1] - time[0];
        const digits = kit.digitsFor(d3.deviation(series.value), 3);
        const state = {query: time[0] + 0.42 * span, h: span / 16};
        const unit = series.monthly ? "years" : "units";
        let plot = null;

        const chart = kit.chart(parent, {
            name: "primer",
            title: "Try it: a weighted average of neighbours",
            label: "A kernel smoother on " + series.name + ": a bell curve of weights around the " +
                "query, the points it weighs, and the smoothed curve.",
            caption: series.name + ", training " + series.noun + "s only. The bell at the bottom is " +
                "the kernel; dots grow with their weight; the curve joins the averages of all " +
                "queries.",
            draw,
        });
        const readout = chart.tools.append("div").attr("class", "tools").append("span")
            .attr("class", "readout");
        const controls = chart.foot.append("div").attr("class", "tools");
        function range(label, low, high, value, change) {
            const box = controls.append("label").style("flex", "1 1 12em").text(label);
            box.append("input").attr("type", "range").attr("min", low).attr("max", high)
                .attr("step", (high - low) / 200).property("value", value)
                .on("input", function () {
                    change(+this.value);
                    update();
                });
        }
        range("Query", time[0], time[time.length - 1], state.query, (v) => { state.query = v; });
        range("Bandwidth h", Math.log(span / 400), Math.log(span / 3), Math.log(state.h),
            (v) => { state.h = Math.exp(v); });

        const weight = (q, i) => Math.exp(-0.5 * Math.pow((q - time[i]) / state.h, 2));
        function average(q) {
            let sum = 0;
            let total = 0;
            known.forEach((i) => {
                const w = weight(q, i);
                sum += w;
                total += w * series.value[i];
            });
            return sum > 1e-12 ? total / sum : NaN;
        }

        function draw(svg, width) {
            svg.attr("height", height);
            const right = width - margin.right;
            const x = d3.scaleLinear().domain([time[0], time[time.length - 1]])
                .range([margin.left, right]);
            const y = d3.scaleLinear().domain(d3.extent(series.value)).nice()
                .range([floor - 16, margin.top]);
            kit.axis(svg, d3.axisLeft(y).ticks(5).tickSize(margin.left - right), margin.left, 0, "grid")
                .selectAll("text").remove();
            kit.axis(svg, d3.axisLeft(y).ticks(5), margin.left, 0);
            kit.axis(svg, d3.axisBottom(x).ticks(width / 90).tickFormat(d3.format("d")), 0, height - 24);
            kit.text(svg, margin.left, 10, series.name + ", " + series.unit, "strong");
            const bell = svg.append("path").attr("class", "kernel");
            const dots = svg.append("g").style("--c", "var(--smoother-0)").selectAll("circle")
                .data(known).enter().append("circle").attr("class", "weight-dot")
                .attr("cx", (i) => x(time[i])).attr("cy", (i) => y(series.value[i]));
            const curve = svg.append("path").attr("class", "fit").style("--c", "var(--smoother-0)");
            const line = svg.append("line").attr("class", "cross row").attr("y1", margin.top - 6)
                .attr("y2", height - 24);
            const ring = svg.append("circle").attr("class", "best").attr("r", 6)
                .style("--c", "var(--smoother-0)");
            const veil = svg.append("rect").attr("class", "veil point-at").attr("x", margin.left)
                .attr("width", right - margin.left).attr("y", 0).attr("height", height - 24);
            veil.on("mousemove", () => {
                state.query = x.invert(d3.mouse(veil.node())[0]);
                controls.select("input").property("value", state.query);
                update();
            });
            plot = {x, y, bell, dots, curve, line, ring};
            update();
        }
        function update() {
            const p = plot;
            const at = kit.nearest(time, state.query);
            const grid = d3.range(time[0], time[time.length - 1], span / 300);
            p.bell.attr("d", d3.area().x(p.x).y0(height - 24)
                .y1((t) => height - 24 - 52 * Math.exp(-0.5 * Math.pow((t - state.query) / state.h, 2)))(
                    grid));
            p.curve.attr("d", d3.line().defined((t) => kit.isNumber(average(t))).x(p.x)
                .y((t) => p.y(average(t)))(grid));
            p.dots.attr("r", (i) => 1.4 + 3.4 * weight(state.query, i))
                .attr("opacity", (i) => 0.3 + 0.7 * weight(state.query, i));
            const value = average(state.query);
            p.line.attr("x1", p.x(state.query)).attr("x2", p.x(state.query));
            p.ring.style("display", kit.isNumber(value) ? null : "none")
                .attr("cx", p.x(state.query)).attr("cy", kit.isNumber(value) ? p.y(value) : 0);
            const sum = d3.sum(known, (i) => weight(state.query, i));
            const squares = d3.sum(known, (i) => Math.pow(weight(state.query, i), 2));
            readout.text(series.when(at) + ", h = " + kit.fixed(state.h, 2) + " " + unit + ": " +
                (kit.isNumber(value)
                    ? "the average leans on about " + Math.max(1, Math.round(sum * sum / squares)) +
                        " " + series.noun + "s and gives " + kit.fixed(value, digits) + " " +
                        series.unit + "."
                    : "no training " + series.noun + " is near enough."));
        }
    };
})();
