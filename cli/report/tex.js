// The formulas of the tables, which are a little LaTeX, as MathML.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const space = "http://www.w3.org/1998/Math/MathML";
    const symbols = {
        "\\langle": "\u27e8", "\\rangle": "\u27e9", "\\|": "\u2016", "\\pi": "\u03c0",
        "\\alpha": "\u03b1", "\\tau": "\u03c4", "\\le": "\u2264", "\\ge": "\u2265",
        "\\in": "\u2208", "\\ne": "\u2260", "\\cup": "\u222a", "\\cap": "\u2229", "\\lfloor": "\u230a",
        "\\rfloor": "\u230b", "\\bmod": "mod", "\\sum": "\u2211",
    };
    const letters = new Set(["\\pi", "\\alpha", "\\tau"]);
    const functions = new Set(["\\exp", "\\log", "\\sin", "\\cos", "\\tanh", "\\max"]);
    const fences = new Set(["\\langle", "\\rangle", "\\|", "\\lfloor", "\\rfloor"]);
    const pattern = /\\text\{(?:[^}\\]|\\.)*\}|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|[^\s]/g;

    function make(tag, children, attributes) {
        const node = document.createElementNS(space, tag);
        [].concat(children).forEach((child) => node.append(child));
        Object.entries(attributes || {}).forEach(([k, v]) => node.setAttribute(k, v));
        return node;
    }

    // A <math> element; throws where a formula holds what this does not know.
    kit.tex = function (text, label) {
        const tokens = text.match(pattern) || [];
        let at = 0;

        function row(until) {
            const items = [];
            while (at < tokens.length && tokens[at] !== until) {
                const last = items[items.length - 1];
                if (last && last.tagName !== "mo" && functions.has(tokens[at])) {
                    items.push(make("mspace", [], {width: "0.17em"}));
                }
                items.push(scripted());
            }
            if (until && tokens[at++] !== until) throw new Error("the formula lacks " + until);
            return make("mrow", items);
        }
        function atom() {
            const token = tokens[at++];
            if (token === undefined) throw new Error("the formula ends too soon");
            if (token === "{") return row("}");
            if (token === "\\frac") {
                const above = atom();
                return make("mfrac", [above, atom()]);
            }
            if (token === "\\sqrt") return make("msqrt", atom());
            if (token.startsWith("\\text{")) {
                return make("mtext", token.slice(6, -1).replace(/\\(.)/g, "$1")
                    .replace(/ /g, "\u00a0"));
            }
            if (functions.has(token)) return make("mi", token.slice(1));
            if (letters.has(token)) return make("mi", symbols[token]);
            if (fences.has(token)) return make("mo", symbols[token], {stretchy: "false"});
            if (token in symbols) return make("mo", symbols[token]);
            if (token.startsWith("\\")) throw new Error("unknown in a formula: " + token);
            if (/^\d/.test(token)) return make("mn", token);
            if (/^[a-zA-Z]$/.test(token)) return make("mi", token);
            if (token === "|") return make("mo", "|", {stretchy: "false", lspace: "0", rspace: "0"});
            return make("mo", token === "-" ? "\u2212" : token,
                /^[[\]]$/.test(token) ? {stretchy: "false"} : {});
        }
        function scripted() {
            const base = atom();
            let below = null;
            let above = null;
            for (;; ) {
                if (tokens[at] === "_") {
                    ++at;
                    below = atom();
                } else if (tokens[at] === "^") {
                    ++at;
                    above = atom();
                } else if (tokens[at] === "'") {
                    ++at;
                    above = make("mo", "\u2032");
                } else {
                    break;
                }
            }
            const sum = base.textContent === symbols["\\sum"];
            if (below && above) return make(sum ? "munderover" : "msubsup", [base, below, above]);
            if (below) return make(sum ? "munder" : "msub", [base, below]);
            return above ? make(sum ? "mover" : "msup", [base, above]) : base;
        }
        return make("math", row(), {display: "block", "aria-label": label});
    };
})();
