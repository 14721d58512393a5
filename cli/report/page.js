// What the pages share: reading the data, where a page comes from, and saying when it is done.
(function () {
    "use strict";
    const kit = window.mercerKit;

    function readData() {
        try {
            return JSON.parse(document.getElementById("data").textContent);
        } catch (error) {
            kit.problem("its data cannot be read (" + error.message + ").");
            return null;
        }
    }

    // The lines above and below the page: when, by what, how to make it again.
    kit.provenance = function (data) {
        const machine = data.machine || {};
        const day = new Date(data.generated);
        const parts = [];
        if (!Number.isNaN(+day)) parts.push("Made on " + d3.utcFormat("%-d %B %Y")(day));
        if (data.version) parts.push("by Mercer " + data.version);
        if (machine.seconds) {
            parts.push("in " + kit.fixed(machine.seconds, machine.seconds < 1 ? 2 : machine.seconds < 10 ? 1 : 0) + " s");
        }
        if (machine.isa) {
            parts.push("on " + machine.isa + (machine.threads ? ", " + machine.threads + " thread" +
                (machine.threads === 1 ? "" : "s") : ""));
        }
        d3.select("#colophon").text(parts.join(" ") + ".");
        const foot = d3.select("#foot").append("p");
        foot.append("span").text("This file stands alone: it holds its data, its script and its " +
            "drawing library (D3 5), and asks the network for nothing.");
        if (data.command) {
            foot.append("span").text(" To make it again: ");
            foot.append("code").text(data.command);
        }
    };
    // Entries are [id of a section, name].
    kit.contents = function (entries) {
        d3.select("#contents").selectAll("li").data(entries).enter().append("li").append("a")
            .attr("href", (d) => "#" + d[0]).text((d) => d[1]);
    };

    // Runs build(data) and publishes window.mercerReport.
    kit.start = function (build) {
        const report = (window.mercerReport = {ready: false, charts: 0, errors: kit.errors});
        window.addEventListener("error", (event) => kit.problem(event.message));
        try {
            const data = readData();
            if (data) build(data);
        } catch (error) {
            kit.problem("the page could not be built (" + error.message + ").");
        }
        report.charts = kit.charts.filter((c) => c.figure.attr("data-rendered") === "true").length;
        report.ready = true;
    };
})();
