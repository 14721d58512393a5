// Shared pieces of the page: numbers, dates, colours, chart frames and the table of contents.
(function () {
    "use strict";
    const kit = {charts: [], errors: [], prefix: "mercer"};
    window.mercerKit = kit;

    // --- Numbers -------------------------------------------------------------------------------
    kit.isNumber = (value) => typeof value === "number" && Number.isFinite(value);
    // What is too large or too small for so many decimals has an exponent.
    kit.fixed = function (value, digits) {
        if (!kit.isNumber(value)) return "\u2014";
        const size = Math.abs(value);
        const plain = size < 1e9 && (digits < 6 || size >= 1e-4 || size === 0);
        return d3.format(plain ? ",." + digits + "f" : ".2e")(value).replace(/-/g, "\u2212");
    };
    kit.signed = (value, digits) =>
        kit.isNumber(value) ? (value < 0 ? "\u2212" : "+") + kit.fixed(Math.abs(value), digits) : "";
    // Decimals that leave `figures` significant figures of a typical value.
    kit.digitsFor = (value, figures) =>
        value > 0 ? Math.max(0, Math.min(6, figures - 1 - Math.floor(Math.log10(value)))) : 2;
    kit.percent = (share) =>
        share >= 0.1 ? kit.fixed(100 * share, 0) + " %" : kit.fixed(100 * share, 1) + " %";
    kit.list = (words) => words.length < 2
        ? words.join("")
        : words.slice(0, -1).join(", ") + " and " + words[words.length - 1];

    // --- Time ----------------------------------------------------------------------------------
    const monthName = d3.utcFormat("%B %Y");
    // A monthly decimal year may stand for the month's start (1959.083) or its middle (1959.125).
    function monthDate(decimal) {
        const year = Math.floor(decimal + 0.02);
        const month = Math.max(0, Math.min(11, Math.floor((decimal - year) * 12 + 0.25)));
        const date = new Date(Date.UTC(2000, month, 1));
        date.setUTCFullYear(year);  // Date.UTC takes the years 0 to 99 for 1900 to 1999
        return date;
    }
    kit.prepareTime = function (series) {
        series.monthly = (series.cadence || "month") === "month";
        series.noun = series.monthly ? "month" : "point";
        series.x = series.monthly ? series.time.map(monthDate) : series.time.slice();
        series.when = (i) =>
            series.monthly ? monthName(series.x[i]) : String(+series.time[i].toFixed(3));
    };
    kit.timeScale = (series) => (series.monthly ? d3.scaleUtc() : d3.scaleLinear());
    kit.nearest = function (xs, x) {
        const i = d3.bisectLeft(xs, x, 1, xs.length - 1);
        return x - xs[i - 1] < xs[i] - x ? i - 1 : i;
    };

    // --- The split -----------------------------------------------------------------------------
    kit.splitNames = ["training", "validation", "test"];
    // Runs [first, last] of consecutive points with the given split.
    kit.runs = function (split, which) {
        const runs = [];
        split.forEach((s, i) => {
            if (s !== which) return;
            const last = runs[runs.length - 1];
            if (last && last[1] === i - 1) last[1] = i;
            else runs.push([i, i]);
        });
        return runs;
    };
    // Shades the runs long enough to be seen as stretches; scattered points keep their marks only.
    kit.bands = function (group, series, x, top, height) {
        const half = series.x.length > 1 ? (series.x[1] - series.x[0]) / 2 : 0;
        [1, 2].forEach((which) => {
            kit.runs(series.split, which).filter((run) => run[1] - run[0] >= 2).forEach((run) => {
                const left = x(+series.x[run[0]] - half);
                const right = x(+series.x[run[1]] + half);
                group.append("rect").attr("class", kit.splitNames[which] + "-band")
                    .attr("x", left).attr("width", Math.max(1, right - left))
                    .attr("y", top).attr("height", height);
            });
        });
    };
    const circle = d3.symbol().type(d3.symbolCircle);
    const diamond = d3.symbol().type(d3.symbolDiamond);
    kit.pointPath = (split) =>
        split === 2 ? circle.size(34)() : split === 1 ? diamond.size(26)() : circle.size(10)();

    // --- Colours and strokes of models -----------------------------------------------------------
    const dashes = {baseline: ["7 4", "2 3", "9 3 2 3"], smoother: [null, "12 3"], transformer: [null]};
    const shades = {baseline: 3, smoother: 2, transformer: 3};
    kit.prepareModels = function (models) {
        const seen = {};
        models.forEach((model) => {
            const rank = (seen[model.kind] = (seen[model.kind] || 0) + 1) - 1;
            model.colour = "var(--" + model.kind + "-" + (rank % shades[model.kind]) + ")";
            model.dash = dashes[model.kind][rank % dashes[model.kind].length];
        });
    };
    kit.swatch = function (parent, model) {
        parent.append("svg").attr("width", 26).attr("height", 10).attr("aria-hidden", "true")
            .append("path").attr("class", "swatch").style("--c", model.colour)
            .attr("stroke-dasharray", model.dash).attr("stroke-width", 2.4).attr("d", "M1,5H25");
    };
    kit.dark = () => !kit.printing && matchMedia("(prefers-color-scheme: dark)").matches;
    // The colour that a name or var(--name) or --name stands for now.
    kit.colour = function (name) {
        const variable = /^var\((.*)\)$/.exec(name);
        return getComputedStyle(document.documentElement)
            .getPropertyValue(variable ? variable[1] : name).trim();
    };
    // Colours of the attention map, pale to deep on paper and dark to bright on a dark screen.
    kit.ramp = function () {
        const stops = kit.dark() ? ["#1a1e26", "#1f4b7a", "#2f8fc4", "#9fd8c9", "#fff3b8"]
                           : ["#ffffff", "#bcd9ea", "#4f9ccb", "#14548f", "#08204a"];
        return d3.scaleLinear().domain([0, 0.25, 0.5, 0.75, 1]).range(stops)
            .interpolate(d3.interpolateLab).clamp(true);
    };

    // --- Frames ----------------------------------------------------------------------------------
    kit.problem = function (message) {
        kit.errors.push(message);
        const box = d3.select("#problems").attr("hidden", null);
        box.append("p").text("This report is incomplete: " + message);
    };

    // A titled box with an export button. `options.draw(svg, width)` fills an emptied SVG and is
    // called again whenever the width or the colours change; it sets the SVG's height.
    kit.chart = function (parent, options) {
        const figure = parent.append("figure").attr("class", "chart").attr("data-chart", options.name);
        const head = figure.append("div").attr("class", "chart-head");
        head.append("h4").text(options.title);
        const button = head.append("button").attr("class", "export").attr("type", "button")
            .attr("aria-label", "Save \u201c" + options.title + "\u201d as SVG").text("Save SVG");
        const chart = {
            name: options.name, title: options.title, figure,
            tools: figure.append("div"), body: figure.append("div").attr("class", "chart-body"),
            foot: figure.append("div"), legend: options.legend, width: 0,
        };
        if (options.caption) figure.append("figcaption").text(options.caption);
        button.on("click", () => kit.saveSvg(chart));
        chart.draw = function () {
            chart.body.selectAll("svg.plot").remove();
            const width = Math.max(280, Math.floor(chart.body.node().clientWidth));
            chart.width = width;
            chart.svg = chart.body.append("svg").attr("class", "plot").attr("role", "img")
                .attr("aria-label", options.label).attr("width", width);
            chart.svg.append("title").text(options.label);
            options.draw(chart.svg, width);
            chart.svg.attr("viewBox", [0, 0, width, chart.svg.attr("height")].join(" "));
        };
        kit.charts.push(chart);
        return chart;
    };
    kit.drawAll = function () {
        kit.charts.forEach((chart) => {
            try {
                chart.draw();
                chart.figure.attr("data-rendered", "true");
            } catch (error) {
                chart.figure.attr("data-rendered", "failed");
                kit.problem("chart " + chart.name + " could not be drawn (" + error.message + ").");
            }
        });
    };
    kit.watch = function () {
        let waiting = 0;
        window.addEventListener("resize", () => {
            clearTimeout(waiting);
            waiting = setTimeout(() => {
                const stale = (c) => Math.floor(c.body.node().clientWidth) !== c.width;
                if (kit.charts.some(stale)) kit.drawAll();
            }, 120);
        });
        const recolour = (printing) => () => {
            kit.printing = printing;
            kit.charts.filter((c) => c.recolour).forEach((c) => c.recolour());
        };
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour(false));
        window.addEventListener("beforeprint", recolour(true));
        window.addEventListener("afterprint", recolour(false));
    };

    // --- Small parts -----------------------------------------------------------------------------
    kit.axis = function (svg, axis, x, y, kind) {
        return svg.append("g").attr("class", kind || "axis")
            .attr("transform", "translate(" + x + "," + y + ")").call(axis);
    };
    // An axis of data; its ticks have exponents where decimals would not fit beside it.
    kit.dataTicks = function (axis, count) {
        const [low, high] = axis.scale().domain();
        const plain = Math.max(Math.abs(low), Math.abs(high)) < 1e9 &&
            d3.precisionFixed(d3.tickStep(low, high, count) || 1) <= 6;
        return axis.ticks(count, plain ? null : "e");
    };
    kit.text = (svg, x, y, text, kind) =>
        svg.append("text").attr("class", "label " + (kind || "")).attr("x", x).attr("y", y).text(text);
    // A row of mutually exclusive buttons; `entries` are {id, name}.
    kit.picker = function (parent, label, kind, entries, current, pick) {
        const box = parent.append("div").attr("class", "tools");
        box.append("span").attr("class", "picker-name").text(label);
        const row = box.append("div").attr("class", "picker").attr("role", "group")
            .attr("aria-label", label);
        const buttons = row.selectAll("button").data(entries).enter().append("button")
            .attr("type", "button").attr("data-" + kind, (d) => d.id).text((d) => d.name);
        const mark = (id) => buttons.attr("aria-pressed", (d) => String(d.id === id));
        buttons.on("click", (d) => {
            mark(d.id);
            pick(d.id);
        });
        mark(current);
        return box;
    };
})();
