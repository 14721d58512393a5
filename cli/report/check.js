// Does the data keep to the schema of cli/report/README.md? Returns the complaints, each a sentence
// part; a report with complaints still shows what it can.
(function () {
    "use strict";
    const kit = window.mercerKit;
    const kinds = ["baseline", "smoother", "transformer"];
    const numbers = (a) => Array.isArray(a) && a.length > 0 && a.every(kit.isNumber);

    function checkLoss(loss) {
        if (!loss) return ["has no loss curves"];
        if (!numbers(loss.epoch) || !numbers(loss.train) || !numbers(loss.validation)) {
            return ["has loss curves that are not lists of numbers"];
        }
        const n = loss.epoch.length;
        if (loss.train.length !== n || loss.validation.length !== n) {
            return ["has loss curves of unequal lengths"];
        }
        return kit.isNumber(loss.best_epoch) ? [] : ["does not name its best epoch"];
    }

    function checkAttention(attention, n) {
        if (!attention) return ["has no attention map"];
        const {heads, size, stride, weights, row_max: rowMax, head_names: names} = attention;
        if (!(heads > 0 && stride > 0 && size === Math.ceil(n / stride))) {
            return ["has an attention map of the wrong size"];
        }
        const cells = size * size;
        const whole = [weights, rowMax, names].every((a) => Array.isArray(a) && a.length === heads) &&
            weights.every((w) => w.length === cells) && rowMax.every((r) => r.length === size);
        return whole ? [] : ["has an attention map with missing weights"];
    }

    function checkModel(model, n) {
        const bad = [];
        if (!kinds.includes(model.kind)) bad.push("is of unknown kind \u201c" + model.kind + "\u201d");
        if (!Array.isArray(model.prediction) || model.prediction.length !== n) {
            bad.push("does not predict every point");
        } else if (!model.prediction.some(kit.isNumber)) {
            bad.push("predicts nothing");
        }
        if (!numbers(model.test_rmse)) bad.push("has no test error");
        if (!kit.isNumber(model.test_rmse_mean) || !kit.isNumber(model.test_rmse_sd)) {
            bad.push("has no mean test error");
        }
        if (model.kind === "transformer") {
            bad.push(...checkLoss(model.loss), ...checkAttention(model.attention, n));
        }
        return bad.map((text) => (model.name || model.id || "a model") + " " + text);
    }

    function checkSeries(series) {
        const n = Array.isArray(series.time) ? series.time.length : 0;
        const name = series.name || series.id || "a series";
        if (n < 2 || !numbers(series.time) || !numbers(series.value) || series.value.length !== n) {
            return [name + " lacks its times or values"];
        }
        if (!Array.isArray(series.split) || series.split.length !== n) {
            return [name + " does not say how it is split"];
        }
        if (!Array.isArray(series.models) || series.models.length === 0) {
            return [name + " has no models"];
        }
        return [].concat(...series.models.map((model) => checkModel(model, n)))
            .map((text) => name + ": " + text);
    }

    kit.check = function (data) {
        if (!Array.isArray(data.series) || data.series.length === 0) return ["there are no series"];
        return [].concat(...data.series.map(checkSeries));
    };
    // What can still be drawn.
    kit.usable = (series) => checkSeries(series).every((text) => !/lacks|does not say|no models/.test(text));
})();
