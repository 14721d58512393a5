// node ticks_test.js KIT.js D3.js: labels of an axis of data, whatever its numbers, fit beside it and tell ticks apart.
const d3 = globalThis.d3 = require(process.argv[3]);
globalThis.window = {};
require(process.argv[2]);
const kit = globalThis.window.mercerKit;
let faults = 0;
const widest = 9;  // "-1.05e+12"; with commas "-900,000,000" may be longer
for (const [low, high] of [[0, 1], [-3, 250], [312, 372], [0, 9e8], [1e15, 1.047e15], [-2e12, 3e12], [0, 1e98],
    [0, 5e-100], [-1e-9, 1e-9], [0, 0]])
    for (const count of [4, 5, 6]) {
        const axis = d3.axisLeft(d3.scaleLinear().domain([low, high]));
        const labels = axis.scale().ticks(count).map(axis.scale().tickFormat(...kit.dataTicks(axis, count).tickArguments()));
        const plain = Math.max(Math.abs(low), Math.abs(high)) < 1e9;
        if (labels.some((l) => l.length > (plain && high > 1e3 ? 12 : widest)) || new Set(labels).size < labels.length) {
            console.log("FAILED:", low, high, count, labels.join(" "));
            ++faults;
        }
    }
process.exit(faults ? 1 : 0);
