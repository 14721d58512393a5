// Saving a chart as a stand-alone SVG file: computed styles become attributes, a canvas under the
// plot becomes an embedded PNG, and the title and legend of the surrounding page are drawn in.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const properties = [
        "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray",
        "stroke-linecap", "stroke-linejoin", "opacity", "display", "font-family", "font-size",
        "font-weight", "text-anchor", "paint-order", "dominant-baseline",
    ];
    const initial = {
        "fill-opacity": "1", "stroke-opacity": "1", "stroke-dasharray": "none", "opacity": "1",
        "stroke-linecap": "butt", "stroke-linejoin": "miter", "display": "inline",
        "paint-order": "normal", "dominant-baseline": "auto", "stroke": "none",
        "stroke-width": "1px", "text-anchor": "start",
    };
    const textOnly = new Set(["font-family", "font-size", "font-weight", "text-anchor"]);
    const kept = new Set(["svg", "g", "path", "line", "rect", "circle", "text", "tspan", "image",
                          "defs", "clipPath", "title", "linearGradient", "stop"]);

    // Copies the look of `from` and its children onto the parallel tree `to`.
    function freeze(from, to) {
        const style = getComputedStyle(from);
        const isText = from.tagName === "text" || from.tagName === "tspan";
        properties.forEach((name) => {
            if (textOnly.has(name) && !isText) return;
            const value = style.getPropertyValue(name);
            if (value && value !== initial[name]) to.setAttribute(name, value);
        });
        ["class", "style", "tabindex", "pointer-events", "cursor"].forEach((name) =>
            to.removeAttribute(name));
        const children = Array.from(to.children);
        Array.from(from.children).forEach((child, i) => {
            const hidden = getComputedStyle(child).display === "none" && child.tagName !== "title";
            const structural = ["defs", "clipPath", "linearGradient", "stop"].includes(child.tagName);
            if (!kept.has(child.tagName) || (hidden && !structural) ||
                child.matches(".veil, .overlay, .handle")) {
                children[i].remove();
            } else {
                freeze(child, children[i]);
            }
        });
    }

    kit.svgText = function (chart) {
        const plot = chart.svg.node();
        const width = chart.width;
        const height = +plot.getAttribute("height");
        const legend = chart.legend ? chart.legend() : [];
        const inner = plot.cloneNode(true);
        freeze(plot, inner);
        const canvas = chart.body.select("canvas").node();
        if (canvas) {
            const box = chart.canvasBox;
            const image = document.createElementNS("http://www.w3.org/2000/svg", "image");
            Object.keys(box).forEach((name) => image.setAttribute(name, box[name]));
            image.setAttribute("preserveAspectRatio", "none");
            image.setAttribute("style", "image-rendering:pixelated");
            image.setAttribute("href", canvas.toDataURL("image/png"));
            inner.insertBefore(image, inner.firstChild);
        }

        const root = d3.select(document.body).append("svg").style("display", "none");
        const colour = kit.colour;
        const font = (node, size) => node.attr("font-family", "sans-serif").attr("font-size", size)
            .attr("fill", colour("--ink"));
        font(root.append("text").attr("x", 12).attr("y", 24), 16).attr("font-weight", 600)
            .text(chart.title);
        let x = 12;
        let y = 48;
        legend.forEach((entry) => {
            const span = 44 + 7.2 * entry.name.length;
            if (x + span > width && x > 12) {
                x = 12;
                y += 20;
            }
            root.append("path").attr("d", "M" + x + "," + (y - 4) + "h24").attr("fill", "none")
                .attr("stroke", colour(entry.colour)).attr("stroke-width", 2.4)
                .attr("stroke-dasharray", entry.dash);
            font(root.append("text").attr("x", x + 30).attr("y", y), 12).text(entry.name);
            x += span;
        });
        const top = legend.length ? y + 14 : 38;
        const total = top + height + 12;
        root.insert("rect", ":first-child").attr("width", width + 24).attr("height", total)
            .attr("fill", colour("--card"));
        inner.setAttribute("x", 12);
        inner.setAttribute("y", top);
        inner.setAttribute("overflow", "visible");
        root.node().appendChild(inner);
        root.attr("xmlns", "http://www.w3.org/2000/svg").attr("style", null)
            .attr("width", width + 24).attr("height", total)
            .attr("viewBox", "0 0 " + (width + 24) + " " + total);
        const text = new XMLSerializer().serializeToString(root.node());
        root.remove();
        return text;
    };

    kit.saveSvg = function (chart) {
        const blob = new Blob([kit.svgText(chart)], {type: "image/svg+xml"});
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = kit.prefix + "-" + chart.name + ".svg";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
})();
