// Training and validation loss of the trained models on a logarithmic scale, best epochs marked.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const margin = {top: 30, right: 20, bottom: 44, left: 58};
    const height = 330;

    kit.loss = function (parent, series) {
        const models = series.models.filter((m) => m.kind === "transformer" && m.loss);
        return kit.chart(parent, {
            name: series.id + "-loss",
            title: "How the Transformers learnt",
            label: "Training and validation loss by epoch for " +
                kit.list(models.map((m) => m.name)) + "; best epochs " +
                kit.list(models.map((m) => String(m.loss.best_epoch))) + ".",
            caption: "Thick line: validation loss; thin line: training loss. The ring marks the " +
                "epoch with the least validation loss, whose weights are kept.",
            draw(svg, width) {
                svg.attr("height", height);
                const right = width - margin.right;
                const bottom = height - margin.bottom;
                const values = [].concat(...models.map((m) => m.loss.train.concat(m.loss.validation)))
                    .filter((v) => v > 0);
                const x = d3.scaleLinear().domain([0, d3.max(models, (m) => d3.max(m.loss.epoch))])
                    .range([margin.left, right]);
                const y = d3.scaleLog().domain(d3.extent(values)).nice()
                    .range([bottom, margin.top]);
                const [low, high] = y.domain();
                const steps = high / low > 300 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5];
                const ticks = [].concat(...d3.range(-9, 9).map((e) =>
                    steps.map((s) => +(s * Math.pow(10, e)).toPrecision(2))))
                    .filter((t) => t >= low && t <= high);
                const tickY = d3.axisLeft(y).tickValues(ticks).tickFormat(d3.format("~g"));
                kit.axis(svg, tickY.tickSize(-(right - margin.left)), margin.left, 0, "grid")
                    .selectAll("text").remove();
                kit.axis(svg, tickY.tickSize(5), margin.left, 0);
                kit.axis(svg, d3.axisBottom(x).ticks(width / 100), 0, bottom);
                kit.text(svg, right, height - 6, "epoch").attr("text-anchor", "end");
                kit.text(svg, margin.left, 12, "Loss (logarithmic scale)", "strong");
                const line = (loss, which) => d3.line().defined((v) => v > 0)
                    .x((v, i) => x(loss.epoch[i])).y(y)(loss[which]);
                models.forEach((m, k) => {
                    const g = svg.append("g").style("--c", m.colour).attr("data-model", m.id);
                    g.append("path").attr("class", "train-loss").attr("d", line(m.loss, "train"));
                    g.append("path").attr("class", "validation-loss")
                        .attr("d", line(m.loss, "validation"));
                    const i = kit.nearest(m.loss.epoch, m.loss.best_epoch);
                    const bx = x(m.loss.epoch[i]);
                    const by = y(m.loss.validation[i]);
                    const text = m.name + ", best at epoch " + m.loss.best_epoch;
                    const ty = margin.top + 14 + 18 * k;
                    g.append("line").attr("class", "cross").attr("x1", bx).attr("x2", bx)
                        .attr("y1", ty + 5).attr("y2", by);
                    g.append("circle").attr("class", "best").attr("r", 5).attr("cx", bx).attr("cy", by);
                    const end = bx > width * 0.5;
                    kit.text(g, bx + (end ? 4 : -4), ty, text, "strong halo").style("fill", "var(--c)")
                        .attr("text-anchor", end ? "end" : "start");
                });
            },
        });
    };
})();
