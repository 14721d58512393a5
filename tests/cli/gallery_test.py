#!/usr/bin/python3
"""Opens the page of `mercer demo smoothers` in a browser, reads it and uses it.

gallery_test.py PAGE.html [--screenshot OUT.png] [--self-test]

Exit status: 0 the page behaves, 1 it does not (the complaints are printed), 77 no browser.
What the page should show is worked out here from the JSON in #data, not by the page's code; that
the data are right is what gallery_data_test.py looks at.
--self-test breaks copies of the page, one way each, and expects a complaint about each.
"""

import json
import sys

from page_visit import ALPHABET, PageVisit, main
from report_mutations import with_data, with_end, with_script

try:
    from selenium.webdriver.common.keys import Keys
except ImportError:
    pass  # page_visit skips

LEVEL = {letter: k for k, letter in enumerate(ALPHABET)}
# Of every picture: what its caption says, how high its bars are, where its marks stand.
CARDS = """
return Array.from(document.querySelectorAll(".gallery [data-chart]")).map((box) => {
    const number = (e, name) => +e.getAttribute(name);
    const bars = Array.from(box.querySelectorAll(".bar"));
    const row = box.querySelector("rect.cross"), veil = box.querySelector(".veil");
    return {
        name: box.dataset.chart, title: box.querySelector("h4").textContent,
        caption: box.querySelector("figcaption span:last-of-type").textContent,
        note: box.querySelector("figcaption").textContent,
        attrs: box.querySelector("code").textContent,
        formula: box.querySelector("math").textContent, label: box.querySelector("math").getAttribute("aria-label"),
        wide: box.querySelector("math").getBoundingClientRect().width <= box.clientWidth,
        told: box.querySelector(".told").textContent,
        bars: bars.map((b) => number(b, "height")), low: bars.map((b) => number(b, "y")),
        at: (number(row, "y") + number(row, "height") / 2 - number(veil, "y")) / number(veil, "height"),
        fit: (box.querySelector("path.fit").getAttribute("d").match(/[ML]/g) || []).length,
    };
});
"""
PIXELS = """
const c = document.querySelector(`[data-chart="${arguments[0]}"] canvas`);
return Array.from(c.getContext("2d").getImageData(0, 0, c.width, c.height).data);
"""


class Gallery(PageVisit):
    def steps(self):
        return [[self.check_loading, self.check_console, self.check_network], [self.check_charts],
                [self.check_captions, self.check_bars], [self.check_pixels], [self.check_query],
                [self.check_heads], [self.check_export], [self.check_widths],
                [self.check_console, self.check_network]]

    def items(self):
        return [item for group in self.data["groups"] for item in group["items"]]

    def wanted_charts(self):
        return ["input"] + [item["id"] for item in self.items()]

    def exported_charts(self):
        return ["input", "kernel-1", "kernel-3", "filter-3", "normaliser-1"]

    def is_plain(self, chart):
        return any(i["id"] == chart and "constant" in i["title"] for i in self.items())

    def weights(self, item, head=0):
        """Row after row, with signs."""
        n, packed = self.data["input"]["tokens"], item["map"]
        negative = item["negative"][head] or "0" * n * n
        return [packed["row_max"][head][k // n] * (LEVEL[x] / 63) ** 2 * (-1 if s == "1" else 1)
                for k, (x, s) in enumerate(zip(packed["weights"][head], negative))]

    def check_captions(self):
        cards = {card["name"]: card for card in self.js(CARDS)}
        for item in self.items():
            card, where = cards[item["id"]], item["title"]
            if card["title"] != item["title"] or item["source"] not in card["caption"]:
                yield f"{where}: the caption does not name it and its source"
            if json.loads(card["attrs"]) != item["attrs"]:
                yield f"{where}: the attributes beneath it are {card['attrs']}"
            if card["label"] != item["formula"] or not card["formula"].strip() or "\\" in card["formula"]:
                yield f"{where}: the formula reads {card['formula']!r}"
            if not card["wide"]:
                yield f"{where}: the formula is wider than its card"
            if item["entropy"][0] and f"{sum(item['entropy'][0]) / len(item['entropy'][0]):.2f}" not in card["caption"]:
                yield f"{where}: the caption does not say the mean entropy"
            if (item["fallbacks"] > 0) != ("nearest key" in card["caption"]):
                yield f"{where}: the caption is silent on rows without weight"
            if item.get("note", "") not in card["note"]:
                yield f"{where}: the note is missing"
            if card["fit"] != self.data["input"]["tokens"]:
                yield f"{where}: the curve has {card['fit']} points"

    def check_bars(self, row=24, head=0, only=None):
        """The bars of every picture are this row's weights."""
        n = self.data["input"]["tokens"]
        for card, item in zip(self.js(CARDS), self.items()):
            if only and item["id"] != only:
                continue
            want = self.weights(item, min(head, item["map"]["heads"] - 1))[row * n:(row + 1) * n]
            unit = max(card["bars"]) / (max(map(abs, want)) or 1)
            if any(abs(b - abs(w) * unit) > 0.51 for b, w in zip(card["bars"], want)):
                yield f"{item['title']}: the bars are not the weights of token {row}"
            if any((w < 0) != (y > card["low"][want.index(max(want))] + card["bars"][want.index(max(want))] - 0.01)
                   for w, y in zip(want, card["low"]) if abs(w) * unit > 1):
                yield f"{item['title']}: negative bars do not hang down"
            if abs(card["at"] - (row + 0.5) / n) > 0.25 / n:
                yield f"{item['title']}: the mark stands at {card['at']:.3f} of the map, not on row {row}"
            if not card["told"].startswith(f"Token {row} "):
                yield f"{item['title']}: the words are about {card['told'][:12]!r}"
            entropy = item["entropy"][min(head, item["map"]["heads"] - 1)]
            if entropy and "entropy" in card["told"] and f"entropy {entropy[row]:.2f}" not in card["told"]:
                yield f"{item['title']}: the words do not say the row's entropy, {entropy[row]:.2f}"

    def check_pixels(self, head=0, only=None):
        """Heavier cells are darker (light colours), hidden ones grey."""
        shade = self.js("return getComputedStyle(document.documentElement).getPropertyValue('--hidden')").strip()
        shade = tuple(bytes.fromhex(shade.lstrip("#")))
        for item in self.items():
            if only and item["id"] != only:
                continue
            pixels, weights = self.js(PIXELS, item["id"]), self.weights(item, head)
            hidden = item["hidden"][head] or "0" * len(weights)
            seen = [k for k, x in enumerate(hidden) if x == "0"]
            grey = {tuple(pixels[4 * k:4 * k + 3]) for k, x in enumerate(hidden) if x == "1"}
            if grey and grey != {shade}:
                yield f"{item['title']}: hidden cells are {grey}, not {shade}"
            if grey & {tuple(pixels[4 * k:4 * k + 3]) for k in seen}:
                yield f"{item['title']}: a cell that is seen looks hidden"
            dark = sorted(seen, key=lambda k: abs(weights[k]))
            light = [sum(pixels[4 * k:4 * k + 3]) for k in dark]
            if self.is_plain(item["id"]):
                continue
            steps = [(a, b) for a, b in zip(light, light[1:]) if b > a + 60]
            fall = sum(light[:len(light) // 8]) - sum(light[-(len(light) // 8):])
            if steps and not any(item["negative"]):
                yield f"{item['title']}: heavier cells are not darker"
            if fall <= 0:
                yield f"{item['title']}: the map does not show its weights"
            if any(item["negative"]):
                blue = [pixels[4 * k + 2] - pixels[4 * k] for k in range(len(weights))]
                if any((weights[k] < 0) != (blue[k] < 0) for k in range(len(weights)) if abs(blue[k]) > 20):
                    yield f"{item['title']}: the colours do not tell negative weights"

    def check_query(self):
        """The mouse over one map, and the keyboard on the slider, choose the row in all."""
        n = self.data["input"]["tokens"]
        for chart, row in [("kernel-2", 7), ("filter-2", 40)]:
            self.hover(f'[data-chart="{chart}"] .veil', 0.5, (row + 0.5) / n)
            yield from self.settle(row)
        slider = self.one("#query")
        slider.send_keys(Keys.ARROW_LEFT * 3)
        yield from self.settle(37)
        if self.js("return document.getElementById('query-name').textContent") != "Query: token 37":
            yield "the slider's label does not say its token"
        self.click('[data-chart="kernel-1"] .veil')
        held = int(self.js("return document.getElementById('query').value"))
        self.hover('[data-chart="kernel-1"] .veil', 0.5, 0.1)
        yield from self.settle(held)
        self.click('[data-chart="kernel-1"] .veil')
        self.hover('[data-chart="kernel-1"] .veil', 0.5, 24.5 / n)
        yield from self.settle(24)

    def settle(self, row):
        self.driver.execute_async_script("const done = arguments[0];"
                                         "requestAnimationFrame(() => requestAnimationFrame(done))")
        value = self.js("return document.getElementById('query').value")
        if value != str(row):
            yield f"the slider stands at {value}, not {row}"
        yield from self.check_bars(row)

    def check_heads(self):
        for item in self.items():
            if item["map"]["heads"] < 2:
                if self.find(f'[data-chart="{item["id"]}"] [data-gallery-head]'):
                    yield f"{item['title']} has a picker for its only head"
                continue
            self.click(f'[data-chart="{item["id"]}"] [data-gallery-head="1"]')
            yield from self.check_bars(24, 1, item["id"])
            yield from self.check_pixels(1, item["id"])
            self.click(f'[data-chart="{item["id"]}"] [data-gallery-head="0"]')

    def check_widths(self):
        """The dark, and a telephone."""
        before = self.js(PIXELS, "kernel-1")[:4]
        for name, changed in [("dark", True), ("light", False)]:
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": name}]})
            self.driver.execute_async_script("setTimeout(arguments[0], 300)")
            if (self.js(PIXELS, "kernel-1")[:4] != before) != changed:
                yield f"the {name} scheme does not give the maps their colours"
        size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_async_script("setTimeout(arguments[0], 500)")
        if self.js("const e = document.documentElement; return e.scrollWidth > e.clientWidth"):
            yield "the page is wider than a telephone"
        yield from self.check_bars()
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def item_of(data, name):
    return next(i for g in data["groups"] for i in g["items"] if i["id"] == name)


def swap(old, new):
    return lambda page: page.replace(old, new)


MUTATIONS = [
    ("weights that are missing", with_data(lambda d: item_of(d, "kernel-2")["map"]["weights"].clear()),
     "lacks weights"),
    ("an unknown formula", with_data(lambda d: item_of(d, "kernel-2").update(formula="\\nonsense")),
     "unknown in a formula"),
    ("a script error", with_script('throw new Error("sabotage")'), "sabotage"),
    ("a picture from the network", with_end('<img src="http://127.0.0.1:9/x.png">'),
     "something else than the file was requested"),
    ("a missing picture", with_script('document.querySelector("[data-chart=filter-4]").remove()'),
     "filter-4 is missing"),
    ("bars of another row", swap("p.cells.subarray(state.row * n, (state.row + 1) * n)",
                                 "p.cells.subarray(0, n)"), "the bars are not the weights"),
    ("negative bars that stand", swap("Math.min(zero, p.yw(row[j]))", "Math.min(zero, 2 * zero - p.yw(row[j]), p.yw(row[j]))"),
     "hang down"),
    ("a map upside down", swap("setRow(Math.floor(y.invert(d3.mouse(this)[1])))",
                               "setRow(n - 1 - Math.floor(y.invert(d3.mouse(this)[1])))"), "the slider stands at"),
    ("a slider that does nothing", swap('.on("input", function () { setRow(+this.value); })', ""), "not on row 37"),
    ("signs forgotten", swap("if (negative[i] === \"1\") cells[i] = -w;", ""), "negative"),
    ("hidden cells like others", swap('hidden && hidden[i] === "1" ? grey', "false ? grey"), "hidden cells are"),
    ("a head ignored", swap("head = +id;", ""), "the bars are not the weights"),
    ("colours the wrong way", swap("Math.sqrt(weight / top)", "(1 - Math.sqrt(Math.min(1, weight / top)))"), "darker"),
    ("another source", with_script('document.querySelectorAll("figcaption").forEach((e) => '
                                   '{ e.innerHTML = e.innerHTML.replace("Tsai", "Nobody"); })'), "its source"),
    ("colours of the day at night", swap('.addEventListener("change", recolour(false))',
                                         '.addEventListener("nothing", recolour(false))'), "the dark scheme"),
]

if __name__ == "__main__":
    sys.exit(main(__doc__, Gallery, MUTATIONS))
