#!/usr/bin/python3
"""Opens the report of `mercer demo` in a browser, reads it and uses it.

report_test.py REPORT.html [--screenshot OUT.png] [--self-test]

Exit status: 0 the report behaves, 1 it does not (the complaints are printed), 77 no browser.
What the page should show is worked out here from the JSON in #data, not by the page's code.
--self-test breaks copies of the report, one way each, and expects a complaint about each.
"""

import json
import math
import pathlib
import re
import sys
import tempfile
import time

from page_visit import ALPHABET, PageVisit, main
from report_mutations import MUTATIONS, with_data

try:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    pass  # page_visit skips

PER_SERIES = ["fits", "scores", "attention", "attention-row", "loss"]
MONTHS = ("January February March April May June July August September October November "
          "December").split()

# The pixels' hash of a heat map and which heads and models its pickers say are shown.
HEAT = """
const canvas = document.querySelector(`[data-chart="${arguments[0]}-attention"] canvas`);
const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
let hash = 2166136261;
for (const b of bytes) hash = Math.imul(hash ^ b, 16777619) >>> 0;
return hash;
"""
LIGHTNESS = """
const canvas = document.querySelector(`[data-chart="${arguments[0]}-attention"] canvas`);
const b = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const out = [];
for (let i = 0; i < b.length; i += 4) out.push(b[i] + b[i + 1] + b[i + 2]);
return out;
"""
LINES = """
const fits = document.querySelector(`[data-chart="${arguments[0]}-fits"]`);
const out = {};
fits.querySelectorAll("svg.plot path[data-model]").forEach((line) => {
    const box = line.getBoundingClientRect();
    const shown = (e) => e && e.getClientRects().length > 0;
    const rest = fits.querySelector(`[data-residual="${line.dataset.model}"]`);
    out[line.dataset.model] = {
        shown: shown(line) && box.width > 50,
        residual: shown(rest),
        points: ((line.getAttribute("d") || "").match(/[ML]/g) || []).length,
        residuals: rest ? ((rest.querySelector("path").getAttribute("d") || "")
            .match(/[ML]/g) || []).length : 0,
    };
});
return out;
"""
TABLE = """
const section = document.getElementById("series-" + arguments[0]);
return Array.from(section ? section.querySelectorAll("table tbody tr") : []).map((row) =>
    Array.from(row.children).map((cell) => cell.innerText.trim()));
"""
LOSS = """
const chart = document.querySelector(`[data-chart="${arguments[0]}-loss"]`);
const out = {ticks: [], models: {}};
chart.querySelectorAll(".axis").forEach((axis) => out.ticks.push(
    Array.from(axis.querySelectorAll(".tick")).map((t) => {
        const m = t.transform.baseVal.consolidate().matrix;
        return [t.textContent, m.e, m.f];
    })));
chart.querySelectorAll("[data-model]").forEach((g) => {
    const best = g.querySelector("circle");
    out.models[g.dataset.model] = {
        lines: g.querySelectorAll("path").length,
        best: best && [+best.getAttribute("cx"), +best.getAttribute("cy")],
    };
});
return out;
"""


class Visit(PageVisit):
    """One opening of one report."""

    def series(self):
        return self.data["series"]

    def steps(self):
        return [[self.check_loading, self.check_console, self.check_network], [self.check_charts],
                [self.check_lines, self.check_data, self.check_table, self.check_loss],
                [self.check_hover], [self.check_primer, self.check_years, self.check_numbers], [self.check_export],
                [self.check_legend], [self.check_heat_maps],
                [self.check_console, self.check_network], [self.check_odd_data]]

    def wanted_charts(self):
        return ["primer"] + [f"{s['id']}-{kind}" for s in self.series() for kind in PER_SERIES]

    def has_map(self, chart):
        return chart.endswith("-attention")

    def check_loading(self):
        yield from super().check_loading()
        if self.data and len(self.data.get("series", [])) < 2:
            yield "the data has fewer than two series"

    def check_lines(self):
        for s in self.series():
            lines = self.js(LINES, s["id"])
            for model in s["models"]:
                drawn = lines.get(model["id"])
                where = f"{s['id']}: {model['name']}"
                points = sum(p is not None for p in model["prediction"])
                if not drawn or not drawn["shown"]:
                    yield f"{where} has no line in the data-and-fits chart"
                elif drawn["points"] != points:
                    yield f"{where}: the line has {drawn['points']} points, not {points}"
                elif not drawn["residual"] or drawn["residuals"] != points:
                    yield f"{where}: its residuals are not all drawn"
            for split, kind in enumerate(("training", "validation", "test")):
                count = len(self.find(f'[data-chart="{s["id"]}-fits"] .{kind}-point'))
                if count != s["split"].count(split):
                    yield f"{s['id']}: {count} {kind} points drawn, not {s['split'].count(split)}"

    def check_data(self):
        """The errors in the data follow from the predictions in it (those of the first seed)."""
        for s in self.series():
            tests = [i for i, split in enumerate(s["split"]) if split == 2]
            for model in s["models"]:
                errors = [s["value"][i] - model["prediction"][i] for i in tests]
                rmse = math.sqrt(sum(e * e for e in errors) / len(errors))
                if not any(abs(rmse - told) < 2e-3 * rmse for told in model["test_rmse"]):
                    yield (f"{s['id']}: {model['name']}'s predictions have a test RMSE of "
                           f"{rmse:.5g}; the data says {model['test_rmse']}")

    def check_table(self):
        for s in self.series():
            rows = {row[0].split("\n")[0]: row for row in self.js(TABLE, s["id"])}
            base = next(m for m in s["models"] if m["id"] == s["reference"])
            least = min(s["models"], key=lambda m: mean(m["test_rmse"]))
            for model in s["models"]:
                where = f"{s['id']}: the table of errors"
                row = next((r for name, r in rows.items() if name.startswith(model["name"])), None)
                if row is None or len(row) != 5:
                    yield f"{where} lacks {model['name']}"
                    continue
                seeds = model["test_rmse"]
                wanted = [(numbers(row[1])[:1], mean(seeds)),
                          (numbers(row[2]), mean(seeds) / mean(base["test_rmse"])),
                          (numbers(row[3]), model["validation_rmse"]),
                          (numbers(row[4]), model["parameters"])]
                if len(seeds) > 1:
                    spread = math.sqrt(sum((e - mean(seeds)) ** 2 for e in seeds)
                                       / (len(seeds) - 1))
                    wanted.append((numbers(row[1])[1:], spread))
                for shown, value in wanted:
                    if len(shown) != 1 or not shows(shown[0], value):
                        yield f"{where} shows {row[1:]} for {model['name']}, not {value:.6g}"
                if len(numbers(row[1])[0].replace(".", "").lstrip("0")) < 3:
                    yield f"{where} gives {model['name']} fewer than three figures: {row[1]}"
                if row[0].split("\n")[0].endswith(" best") != (model is least):
                    yield f"{where} marks the wrong model as best: {row[0]!r}"

    def check_loss(self):
        for s in self.series():
            chart = self.js(LOSS, s["id"])
            where = f"{s['id']}: the loss chart"
            if len(chart["ticks"]) != 2:
                yield f"{where} does not have two axes"
                continue
            # The axes' own labels say where a value belongs.
            up = [(float(t), y) for t, _, y in chart["ticks"][0]]
            along = [(float(t.replace(",", "")), x) for t, x, _ in chart["ticks"][1]]
            if len(up) < 2 or len(along) < 2:
                yield f"{where} has an axis with fewer than two labels"
                continue
            for model in (m for m in s["models"] if m["kind"] == "transformer"):
                drawn, loss = chart["models"].get(model["id"]), model["loss"]
                if not drawn or drawn["lines"] != 2 or not drawn["best"]:
                    yield f"{where} lacks a curve or the best epoch of {model['name']}"
                    continue
                at = loss["epoch"].index(loss["best_epoch"])
                x = place(loss["best_epoch"], along, lambda v: v)
                y = place(loss["validation"][at], up, math.log)
                if abs(drawn["best"][0] - x) > 1.5 or abs(drawn["best"][1] - y) > 1.5:
                    yield (f"{where} marks {model['name']}'s best epoch at {drawn['best']}, "
                           f"not at [{x:.1f}, {y:.1f}]")
                if loss["validation"][at] > min(loss["validation"]) * (1 + 1e-6):
                    yield f"{where}: epoch {loss['best_epoch']} has not the least validation loss"

    def check_legend(self):
        for s in self.series():
            chart, ids = f'[data-chart="{s["id"]}-fits"]', [m["id"] for m in s["models"]]

            def shown():
                lines = self.js(LINES, s["id"])
                return [i for i in ids if lines[i]["shown"]], \
                    [i for i in ids if lines[i]["residual"]]

            # All off one by one, then on again: two clicks at once would be a double click.
            for action in ("hide", "show"):
                for k, model in enumerate(ids):
                    self.click(f'{chart} [data-legend="{model}"]')
                    wanted = ids[k + 1:] if action == "hide" else ids[:k + 1]
                    if shown() != (wanted, wanted):
                        yield (f"{s['id']}: clicking {model} in the legend does not {action} its "
                               f"line and residuals: shown are {shown()}")
                        return
            alone = self.one(f'{chart} [data-legend="{ids[0]}"]')
            for wanted in (ids[:1], ids):
                time.sleep(0.5 if wanted is ids else 0)  # else it would be a triple click
                ActionChains(self.driver, duration=20).double_click(alone).perform()
                if shown() != (wanted, wanted):
                    yield f"{s['id']}: a double click in the legend shows {shown()}"
                    return
            self.hover(f"{chart} .veil", 0.5, 0.3)
            values = [e.text for e in self.find(f"{chart} .chip-value")]
            if not all(numbers(v) for v in values) or len(values) != len(ids):
                yield f"{s['id']}: hovering the fits does not show each fit's value: {values}"

    def check_heat_maps(self):
        for s in self.series():
            models = [m for m in s["models"] if m["kind"] == "transformer"]
            section = f"#series-{s['id']}"
            first, seen = self.js(HEAT, s["id"]), {}
            for model in models[1:] + models[:1]:
                before = self.js(HEAT, s["id"])
                self.click(f'{section} [data-attention-model="{model["id"]}"]')
                if self.js(HEAT, s["id"]) == before:
                    yield f"{s['id']}: choosing {model['name']} does not change the heat map"
                for head in range(model["attention"]["heads"]):
                    self.click(f'{section} [data-attention-head="{head}"]')
                    pixels = self.js(HEAT, s["id"])
                    if pixels in seen:
                        yield (f"{s['id']}: {model['name']}'s head {head + 1} looks like "
                               f"{seen[pixels]}")
                    seen[pixels] = f"{model['name']}'s head {head + 1}"
                    if head == 0 and model is models[0]:
                        r = likeness(model["attention"], self.js(LIGHTNESS, s["id"]))
                        if r > -0.9:
                            yield (f"{s['id']}: the heat map of {seen[pixels]} does not darken "
                                   f"with its weights (correlation {r:.2f})")
                self.click(f'{section} [data-attention-head="mean"]')
            if self.js(HEAT, s["id"]) != first:
                yield f"{s['id']}: the first map does not come back"

    def check_hover(self):
        for s in self.series():
            attention = next(m for m in s["models"] if m["kind"] == "transformer")["attention"]
            map_, said = f'[data-chart="{s["id"]}-attention"] .veil', []
            dots = f'[data-chart="{s["id"]}-attention-row"] circle'
            radii = "return Array.from(document.querySelectorAll(arguments[0]), (c) => " \
                    'c.getAttribute("r")).join()'
            insight, drawn = f"#series-{s['id']} .insight", []
            for down in (0.25, 0.8):
                self.hover(map_, 0.4, down)
                rows = {math.floor(down * attention["size"]) + k for k in (-1, 0, 1)}
                names = {month(s["time"][r * attention["stride"]]) for r in rows}
                text = self.find(insight)[0].text  # without scrolling away from the map
                said.append(text)
                drawn.append(self.js(radii, dots))
                if not any(text.startswith(name) for name in names):
                    yield (f"{s['id']}: hovering the heat map at {down:.0%} of its height names "
                           f"none of {sorted(names)}: {text!r}")
            if said[0] == said[1]:
                yield f"{s['id']}: hovering another row of the heat map says the same"
            if drawn[0] == drawn[1]:
                yield f"{s['id']}: hovering another row does not change the dots"
            ActionChains(self.driver, duration=20).click().perform()
            self.hover(map_, 0.4, 0.5)
            if self.find(insight)[0].text != said[1]:
                yield f"{s['id']}: a click on the heat map does not hold its row"

    def check_years(self):
        said = self.js("const s = {time: [99.2083]}; window.mercerKit.prepareTime(s); return s.when(0)")
        if said != "March 0099":
            yield f"March of the year 99 is called {said}"

    def check_numbers(self):
        said = self.js("return [[1e100, 2], [-2e-17, 6], [1234.5, 1], [0, 6]]"
                       ".map((x) => window.mercerKit.fixed(x[0], x[1]))")
        if said != ["1.00e+100", "\u22122.00e\u221217", "1,234.5", "0.000000"]:
            yield f"numbers are written {said}"

    def check_odd_data(self):
        """Last, for it opens a copy. Names come from files of whoever: the page shows them and runs nothing. Errors that
        are roundings have no quotients."""
        def change(data):
            for s in data["series"]:
                s.update({key: f'<b class="injected">{key}</b>' for key in ("name", "unit", "provenance")})
                for model in s["models"]:
                    model.update({key: f'<b class="injected">{key}</b>' for key in ("name", "detail")})
                    model.update(test_rmse=[1e-20], test_rmse_mean=1e-20)
        page = pathlib.Path(self.path).read_text(encoding="utf-8")
        with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as copy:
            copy.write(with_data(change)(page))
            copy.flush()
            self.driver.get(pathlib.Path(copy.name).as_uri())
            count = len(self.find('figure[data-rendered="true"]'))
            if count != len(self.wanted_charts()):
                yield f"with names that are markup, {count} charts are drawn"
            for element in self.find(".injected"):
                where = self.js("return arguments[0].closest('figure, section, body').outerHTML", element)
                yield f"a name of the data became markup in {where[:200]}"
            for s in self.series():
                if any(row[2] != "\u2014" for row in self.js(TABLE, s["id"])):
                    yield f"{s['id']}: the table of errors has quotients of roundings"

    def check_primer(self):
        curve = 'return document.querySelector(\'[data-chart="primer"] path.fit\')' \
                '.getAttribute("d")'
        before = self.js(curve)
        self.one('[data-chart="primer"] label:last-of-type input').send_keys(Keys.ARROW_RIGHT * 9)
        if self.js(curve) == before:
            yield "moving the primer's bandwidth does not change its curve"


def mean(values):
    return sum(values) / len(values)


def numbers(text):
    """The numbers in a text as they are written, without separators of thousands."""
    return re.findall(r"-?\d+(?:\.\d+)?", text.replace(",", "").replace("\u2212", "-"))


def shows(text, value):
    """Is `value` what `text` rounds?"""
    decimals = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5001 * 10 ** -decimals + 1e-6 * abs(value)


def place(value, ticks, scale):
    """Where an axis with these labels and places puts a value."""
    (a, at_a), (b, at_b) = ticks[0], ticks[-1]
    return at_a + (at_b - at_a) * (scale(value) - scale(a)) / (scale(b) - scale(a))


def month(decimal):
    """The month whose middle a decimal year is."""
    months = round(decimal * 12 - 0.5)
    return f"{MONTHS[months % 12]} {months // 12}"


def likeness(attention, lightness):
    """Correlation of the first head's weights (their roots, capped) with the pixels' lightness."""
    size = attention["size"]
    level = {letter: k for k, letter in enumerate(ALPHABET)}
    weights = [math.sqrt(attention["row_max"][0][k // size]) * level[letter]
               for k, letter in enumerate(attention["weights"][0])]
    if len(weights) != len(lightness):
        return 0.0
    cap = sorted(weights)[int(0.998 * (len(weights) - 1))] or 1.0
    weights = [min(w, cap) for w in weights]
    mw, ml = mean(weights), mean(lightness)
    covariance = sum((w - mw) * (v - ml) for w, v in zip(weights, lightness))
    spread = math.sqrt(sum((w - mw) ** 2 for w in weights) * sum((v - ml) ** 2 for v in lightness))
    return covariance / spread if spread else 0.0


if __name__ == "__main__":
    sys.exit(main(__doc__, Visit, MUTATIONS))
