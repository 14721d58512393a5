// Unpacking of the attention weights and what can be said of one row of them.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const levels = new Uint8Array(128);
    Array.from(alphabet).forEach((letter, level) => { levels[letter.charCodeAt(0)] = level; });
    const cache = new Map();

    // The weights of one head, row after row: row_max * (level / 63)^2.
    kit.unpackHead = function (attention, head) {
        const {size, weights, row_max: rowMax} = attention;
        const text = weights[head];
        const out = new Float32Array(size * size);
        for (let r = 0, at = 0; r < size; ++r) {
            const scale = rowMax[head][r] / (63 * 63);
            for (let c = 0; c < size; ++c, ++at) {
                const level = levels[text.charCodeAt(at)];
                out[at] = scale * level * level;
            }
        }
        return out;
    };
    // Where the `count` largest shares are, the largest first.
    kit.largest = (share, count) =>
        d3.range(share.length).sort((a, b) => share[b] - share[a]).slice(0, count);

    // `head` is an index or "mean".
    kit.weights = function (series, model, head) {
        const key = [series.id, model.id, head].join("/");
        if (cache.has(key)) return cache.get(key);
        let out;
        if (head === "mean") {
            out = new Float32Array(model.attention.size * model.attention.size);
            for (let h = 0; h < model.attention.heads; ++h) {
                kit.unpackHead(model.attention, h).forEach((w, i) => { out[i] += w; });
            }
            out.forEach((w, i) => { out[i] = w / model.attention.heads; });
        } else {
            out = kit.unpackHead(model.attention, +head);
        }
        cache.set(key, out);
        return out;
    };

    // The observations a column gathers, and its name.
    kit.columnSpan = (attention, n, c) =>
        [c * attention.stride, Math.min(n, (c + 1) * attention.stride) - 1];
    kit.columnName = function (series, attention, c) {
        const [first, last] = kit.columnSpan(attention, series.x.length, c);
        return first === last ? series.when(first) : series.when(first) + "\u2013" + series.when(last);
    };

    // A sentence on where a row's weight lies.
    kit.describeRow = function (series, model, head, row, weights) {
        const attention = model.attention;
        const size = attention.size;
        const n = series.x.length;
        const query = row * attention.stride;
        const share = weights.subarray(row * size, (row + 1) * size);
        const sum = d3.sum(share) || 1;
        let entropy = 0;
        let distance = 0;
        share.forEach((w, c) => {
            const p = w / sum;
            const [first, last] = kit.columnSpan(attention, n, c);
            if (p > 0) entropy -= p * Math.log(p / (last - first + 1));
            distance += p * Math.abs((first + last) / 2 - query);
        });
        const top = kit.largest(share, 3);
        const spread = Math.min(n, Math.max(1, Math.round(Math.exp(entropy))));
        const who = head === "mean" ? "on the mean over heads" : "in " + attention.head_names[+head];
        return {
            query,
            title: series.when(query) + " (" + kit.splitNames[series.split[query]] + ")",
            text: "looks most at " + kit.list(top.map((c) => kit.columnName(series, attention, c) +
                " (" + kit.percent(share[c] / sum) + ")")) + " " + who + ". The weight is spread as " +
                "if shared evenly by about " + spread + " of " + n + " " + series.noun +
                "s, " + kit.fixed(distance, 0) + " " + series.noun + "s away on average.",
        };
    };
})();
