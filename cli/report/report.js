// Lays out the report of the demo and draws every chart.
(function () {
    "use strict";
    const kit = window.mercerKit;

    function describe(series) {
        const count = (which) => series.split.filter((s) => s === which).length;
        const nouns = series.noun + "s";
        return series.time.length + " " + nouns + ", " + series.when(0) + " to " +
            series.when(series.time.length - 1) + ": " + count(0) + " to train on, " + count(1) +
            " to choose by (validation), " + count(2) + " held back to test.";
    }

    function part(section, title, text) {
        section.append("h3").attr("class", "sub").text(title);
        section.append("p").text(text);
    }

    function show(series) {
        const section = d3.select("#series").append("section").attr("id", "series-" + series.id)
            .attr("aria-labelledby", "title-" + series.id);
        section.append("h2").attr("id", "title-" + series.id).text(series.name);
        section.append("p").text(describe(series));
        if (series.provenance) {
            section.append("p").attr("class", "provenance").text(series.provenance);
        }
        kit.fits(section, series);
        part(section, "Which fit is closest where it was not shown the answer?",
            "No model saw the test " + series.noun + "s while it was trained or chosen. RMSE is the " +
            "root of the mean squared residual over them, in the units of the series.");
        const scores = section.append("div").attr("class", "pair scores");
        kit.scoreTable(scores, series);
        kit.scores(scores, series);
        const trained = series.models.filter((m) => m.kind === "transformer");
        if (trained.some((m) => m.attention)) {
            part(section, "What each " + series.noun + " looks at",
                "These are the weights of the formula above, as each trained Transformer sets them, " +
                "each row divided by its sum. A band along the diagonal means looking at " +
                "neighbours in time, as the smoother does; stripes beside it mean looking at the " +
                "same season of other years; upright stripes, at the same few " + series.noun +
                "s whatever the question.");
            kit.attention(section, series);
        }
        if (trained.some((m) => m.loss)) kit.loss(section, series);
    }

    kit.start((data) => {
        kit.check(data).forEach((complaint) => kit.problem(complaint + "."));
        const all = Array.isArray(data.series) ? data.series.filter(kit.usable) : [];
        all.forEach((series) => {
            kit.prepareTime(series);
            kit.prepareModels(series.models);
        });
        kit.provenance(data);
        const verdict = Array.isArray(data.verdict) ? data.verdict : [];
        d3.select("#verdict-list").selectAll("li").data(verdict).enter().append("li").text((d) => d);
        d3.select("#verdict").attr("hidden", verdict.length ? null : true);
        kit.contents([["verdict", "Findings"], ["idea", "The idea"]]
            .concat(all.map((s) => ["series-" + s.id, s.name])));
        if (all.length) {
            const shortest = all[d3.scan(all, (a, b) => a.x.length - b.x.length)];
            kit.primer(d3.select("#primer"), shortest);
        }
        all.forEach(show);
        kit.drawAll();
        kit.watch();
    });
})();
