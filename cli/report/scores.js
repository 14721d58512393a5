// Test errors: a table, and beside it one row of dots per model, a dot for each seed.
(function () {
    "use strict";
    const kit = window.mercerKit;

    function reference(series) {
        return series.models.find((m) => m.id === series.reference) ||
            series.models.find((m) => m.kind === "baseline");
    }
    const scored = (series) => series.models.filter((m) => kit.isNumber(m.test_rmse_mean));

    kit.scoreTable = function (parent, series) {
        const models = scored(series);
        const best = models[d3.scan(models, (a, b) => a.test_rmse_mean - b.test_rmse_mean)];
        const base = reference(series);
        const digits = kit.digitsFor(d3.min(models, (m) => m.test_rmse_mean), 3);
        const figure = parent.append("div").attr("class", "chart");
        const table = figure.append("table");
        table.append("caption").text("Test error (RMSE, " + series.unit + "; smaller is better)");
        const against = base ? "Relative to " + base.name.toLowerCase() : "Relative";
        table.append("thead").append("tr").selectAll("th")
            .data(["Model", "Test RMSE", against, "Validation RMSE", "Parameters"]).enter()
            .append("th").attr("scope", "col").attr("class", (d, i) => (i ? "number" : null))
            .style("white-space", "normal").text((d) => d);
        const rows = table.append("tbody").selectAll("tr").data(models).enter().append("tr")
            .attr("data-model", (m) => m.id).attr("class", (m) => (m === best ? "best-row" : null));
        const head = rows.append("th").attr("scope", "row");
        head.append("span").text((m) => m.name + (m === best ? " " : ""));
        head.filter((m) => m === best).append("span").attr("class", "badge").text("best");
        head.append("span").attr("class", "detail").text((m) => m.detail || "");
        const cell = rows.append("td").attr("class", "number");
        cell.append("span").text((m) => kit.fixed(m.test_rmse_mean, digits));
        cell.filter((m) => m.test_rmse.length > 1).append("span").attr("class", "sd")
            .text((m) => " \u00b1 " + kit.fixed(m.test_rmse_sd, digits));
        const number = (f) => rows.append("td").attr("class", "number").text(f);
        // A quotient of roundings says nothing.
        const told = base && base.test_rmse_mean > 1e-12 * d3.max(series.value, Math.abs);
        number((m) => told ? kit.fixed(m.test_rmse_mean / base.test_rmse_mean, 2) : "\u2014");
        number((m) => kit.fixed(m.validation_rmse, digits));
        number((m) => kit.isNumber(m.parameters) ? kit.fixed(m.parameters, 0) : "\u2014");
        const seeds = d3.max(models, (m) => m.test_rmse.length);
        if (seeds > 1) {
            figure.append("figcaption").text("Mean \u00b1 standard deviation over " + seeds +
                " seeds for the trained models; the others have no randomness.");
        }
    };

    kit.scores = function (parent, series) {
        const models = scored(series);
        const base = reference(series);
        return kit.chart(parent, {
            name: series.id + "-scores",
            title: "The same errors, seed by seed",
            label: "Test error of each model on " + series.name + ": " + models.map((m) =>
                m.name + " " + kit.fixed(m.test_rmse_mean, 3)).join(", ") + " " + series.unit + ".",
            caption: "Each dot is one training run with its own seed, the upright bar the mean, the " +
                "pale stripe one standard deviation either side." +
                (base ? " The dotted line is the " + base.name.toLowerCase() + "." : ""),
            draw(svg, width) {
                const step = 48;
                const top = 8;
                const bottom = top + step * models.length;
                svg.attr("height", bottom + 44);
                const all = [].concat(...models.map((m) => m.test_rmse));
                const low = d3.min(all);
                const high = d3.max(all);
                const log = low > 0 && high / low > 6;
                const x = (log ? d3.scaleLog().domain([low * 0.85, high * 1.15])
                               : d3.scaleLinear().domain([0, high * 1.08]))
                    .range([10, width - 12]);
                const ticks = log && high / low < 30
                    ? [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]
                        .filter((t) => t > x.domain()[0] && t < x.domain()[1]) : x.ticks(5);
                const axis = d3.axisBottom(x).tickValues(ticks).tickFormat(d3.format("~g"));
                kit.axis(svg, axis.tickSize(top - bottom), 0, bottom, "grid").selectAll("text").remove();
                kit.axis(svg, axis.tickSize(5), 0, bottom);
                kit.text(svg, width - 12, bottom + 38, "test RMSE, " + series.unit +
                    (log ? " (logarithmic scale)" : "")).attr("text-anchor", "end");
                if (base) {
                    svg.append("line").attr("class", "cross").attr("x1", x(base.test_rmse_mean))
                        .attr("x2", x(base.test_rmse_mean)).attr("y1", top).attr("y2", bottom);
                }
                models.forEach((m, k) => {
                    const g = svg.append("g").style("--c", m.colour).attr("data-model", m.id);
                    const y = top + step * k + 33;
                    const mean = x(m.test_rmse_mean);
                    const onLeft = mean < width * 0.6;
                    kit.text(g, onLeft ? 12 : width - 14, y - 14, m.name, "strong halo")
                        .attr("text-anchor", onLeft ? "start" : "end");
                    if (m.test_rmse_sd > 0) {
                        const floor = Math.max(x.domain()[0], m.test_rmse_mean - m.test_rmse_sd);
                        g.append("line").attr("class", "spread").attr("y1", y).attr("y2", y)
                            .attr("x1", x(floor)).attr("x2", x(m.test_rmse_mean + m.test_rmse_sd));
                    }
                    g.selectAll("circle").data(m.test_rmse).enter().append("circle")
                        .attr("class", "seed").attr("r", 4).attr("cx", x).attr("cy", y);
                    g.append("line").attr("class", "mean").attr("x1", mean).attr("x2", mean)
                        .attr("y1", y - 8).attr("y2", y + 8);
                });
            },
        });
    };
})();
