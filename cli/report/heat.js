// Heat maps: a canvas of cells under a plot, and the key to its colours.
(function () {
    "use strict";
    const kit = window.mercerKit;

    // A canvas under the chart's plot; kit.placeHeat says where.
    kit.heatCanvas = (chart) => chart.body.insert("canvas", ":first-child").attr("class", "heat")
        .attr("aria-hidden", "true").node();
    kit.placeHeat = function (chart, canvas, x, y, width, height) {
        chart.canvasBox = {x, y, width, height};
        d3.select(canvas).style("left", x + "px").style("top", y + "px")
            .style("width", width + "px").style("height", height + "px");
    };
    // One pixel for each cell: colourOf(i) is a d3.rgb.
    kit.paintCells = function (canvas, columns, rows, colourOf) {
        canvas.width = columns;
        canvas.height = rows;
        const pen = canvas.getContext("2d");
        const image = pen.createImageData(columns, rows);
        for (let i = 0; i < columns * rows; ++i) {
            const colour = colourOf(i);
            image.data.set([colour.r, colour.g, colour.b, 255], 4 * i);
        }
        pen.putImageData(image, 0, 0);
    };
    // 256 steps of a ramp over [0, 1].
    kit.palette = (ramp) => d3.range(256).map((i) => d3.rgb(ramp(i / 255)));
    // The weight that gets the last colour: but for a few, the greatest.
    kit.topWeight = function (cells) {
        const sorted = Float32Array.from(cells).sort();
        return sorted[Math.floor(0.998 * (sorted.length - 1))] || sorted[sorted.length - 1] || 1;
    };
    // Colours go with the root of the weight, so that small ones show.
    kit.level = (weight, top) => Math.min(255, Math.round(255 * Math.sqrt(weight / top)));
    // A strip of colours; `marks` are [place in [0, 1], text].
    kit.colourKey = function (group, span, ramp, marks) {
        d3.range(60).forEach((i) => group.append("rect").attr("x", (i * span) / 60)
            .attr("height", 9).attr("width", span / 60 + 0.6).attr("fill", ramp((i + 0.5) / 60)));
        group.append("rect").attr("class", "frame-line").attr("width", span).attr("height", 9);
        marks.forEach(([at, text]) => kit.text(group, at * span, 23, text)
            .attr("text-anchor", at === 0 ? "start" : "middle"));
    };
})();
