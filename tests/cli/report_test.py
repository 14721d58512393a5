#!/usr/bin/python3
"""Opens the report of `mercer demo` in a browser, reads it and uses it.

report_test.py REPORT.html [--screenshot OUT.png] [--self-test]

Exit status: 0 the report behaves, 1 it does not (the complaints are printed), 77 no browser.
What the page should show is worked out here from the JSON in #data, not by the page's code.
--self-test breaks copies of the report, one way each, and expects a complaint about each.
"""

import argparse
import base64
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree

from report_mutations import DATA, MUTATIONS

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    NO_SELENIUM = None
except ImportError as error:
    NO_SELENIUM = f"python3-selenium cannot be imported ({error})"
    WebDriverException = RuntimeError

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
CHROMEDRIVER = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
READY_SECONDS = 20
WATCHDOG_SECONDS = 400
PER_SERIES = ["fits", "scores", "attention", "attention-row", "loss"]
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
MONTHS = ("January February March April May June July August September October November "
          "December").split()

# What is drawn in each chart: marks are shapes that take up room and are neither axes, grids,
# frames nor handles.
SURVEY = """
const aside = ".axis, .grid, defs, clipPath, .veil, .frame-line, .brush, .legend, button";
return Array.from(document.querySelectorAll("[data-chart]")).map((box) => {
    const marks = Array.from(box.querySelectorAll("svg path, svg circle, svg rect")).filter((m) => {
        if (m.closest(aside)) return false;
        const r = m.getBoundingClientRect();
        return r.width > 0 || r.height > 0;
    }).length;
    const odd = Array.from(box.querySelectorAll("svg *")).filter((e) =>
        Array.from(e.attributes).some((a) => /NaN|undefined|Infinity/.test(a.value))).length;
    const canvases = Array.from(box.querySelectorAll("canvas")).map((c) => {
        if (!c.width || !c.height) return "empty";
        const cells = new Uint32Array(
            c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
        const box = c.getBoundingClientRect();
        if (box.width < 50 || box.height < 50) return "too small to see";
        return cells.every((p) => p === cells[0]) ? "of one colour" : "";
    });
    return {name: box.dataset.chart, rendered: box.dataset.rendered || "not drawn", marks, odd,
            canvases};
});
"""
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
OUTSIDE = """
const found = performance.getEntriesByType("resource").map((e) => e.name);
document.querySelectorAll("[src], link[href], image[href], use[href], [srcset], [poster], [data]")
    .forEach((e) => ["src", "href", "srcset", "poster", "data"].forEach((name) => {
        if (e.getAttribute(name)) found.push(e.getAttribute(name));
    }));
return found.filter((url) => !/^(data|blob|about):|^#/.test(url));
"""
CATCH_BLOBS = """
window.caughtBlobs = [];
const make = URL.createObjectURL;
URL.createObjectURL = function (blob) {
    window.caughtBlobs.push(blob);
    return make.call(URL, blob);
};
"""
READ_BLOBS = """
const done = arguments[arguments.length - 1];
Promise.all(window.caughtBlobs.splice(0).map((b) => b.text())).then(done, (e) => done(String(e)));
"""


@contextlib.contextmanager
def browser():
    """A headless browser with its own empty home; closed and swept up on every way out."""
    with tempfile.TemporaryDirectory(prefix="mercer-report-", ignore_cleanup_errors=True) as home:
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
            os.environ[name] = home
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage",
                         "no-first-run", "disable-background-networking", "disable-extensions",
                         "hide-scrollbars", "force-device-scale-factor=1", "lang=en",
                         "window-size=1400,1000", f"user-data-dir={home}/profile"):
            options.add_argument("--" + argument)
        options.add_experimental_option("prefs", {
            "download.default_directory": home,
            "download.prompt_for_download": False,
            "profile.default_content_setting_values.automatic_downloads": 1})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(CHROMEDRIVER, log_path=os.devnull)
        driver = None
        try:
            driver = webdriver.Chrome(service=service, options=options)
            driver.set_page_load_timeout(READY_SECONDS)
            driver.set_script_timeout(READY_SECONDS)
            # Colours are compared with weights, so the scheme must not depend on the machine.
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": "light"},
                             {"name": "prefers-reduced-motion", "value": "reduce"}]})
            yield driver
        finally:
            with contextlib.suppress(Exception):
                if driver:
                    driver.quit()
            with contextlib.suppress(Exception):
                service.stop()


class Visit:
    """One opening of one report. Each check_… method yields complaints."""

    def __init__(self, driver, path):
        self.driver = driver
        self.url = pathlib.Path(path).resolve().as_uri()
        self.data = {}
        self.charts = 0
        text = pathlib.Path(path).read_text(encoding="utf-8")
        found = DATA.search(text)
        try:
            self.data = json.loads(found.group(2)) if found else {}
        except ValueError:
            pass  # check_loading names it

    # Small parts

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def series(self):
        return self.data["series"]

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = self.find(selector)
        if not found:
            raise LookupError(f"the page has no {selector}")
        self.js('arguments[0].scrollIntoView({block: "center", behavior: "instant"})', found[0])
        return found[0]

    def click(self, selector):
        self.one(selector).click()

    def hover(self, selector, across, down):
        """The mouse to these shares of the element's width and height."""
        element = self.one(selector)
        box = self.js("const r = arguments[0].getBoundingClientRect(); return [r.width, r.height]",
                      element)
        ActionChains(self.driver, duration=20).move_to_element_with_offset(
            element, int((across - 0.5) * box[0]), int((down - 0.5) * box[1])).perform()

    # The checks, in order

    def check_loading(self):
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(self.url)
        deadline = time.monotonic() + READY_SECONDS
        while not self.js("return !!(window.mercerReport && window.mercerReport.ready)"):
            if time.monotonic() > deadline:
                yield f"window.mercerReport is not ready after {READY_SECONDS} s"
                break
            time.sleep(0.05)
        for message in self.js("return (window.mercerReport || {}).errors || []"):
            yield f"the page reports: {message}"
        if not self.data:
            yield "the element #data holds no JSON"
        elif len(self.data.get("series", [])) < 2:
            yield "the data has fewer than two series"

    def check_console(self):
        for entry in self.driver.get_log("browser"):
            if entry["level"] == "SEVERE":
                yield f"the console says: {entry['message']}"

    def check_network(self):
        asked = set(self.js(OUTSIDE))
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.add(message["params"]["request"]["url"])
        for url in sorted(asked):
            own = url.split("#")[0] == self.url
            if not own and not url.startswith(("data:", "blob:", "about:")):
                yield f"something else than the file was requested: {url}"

    def check_charts(self):
        survey = {chart["name"]: chart for chart in self.js(SURVEY)}
        self.charts = len(survey)
        wanted = ["primer"] + [f"{s['id']}-{kind}" for s in self.series() for kind in PER_SERIES]
        for name in wanted:
            if name not in survey:
                yield f"the chart {name} is missing"
        for name, chart in survey.items():
            if chart["rendered"] != "true":
                yield f"the chart {name} is not drawn (data-rendered: {chart['rendered']})"
            if chart["marks"] == 0:
                yield f"the chart {name} shows nothing"
            if chart["odd"]:
                yield f"the chart {name} has {chart['odd']} elements with NaN or undefined in them"
            for fault in filter(None, chart["canvases"]):
                yield f"the canvas of {name} is {fault}"
            if name.endswith("-attention") and not chart["canvases"]:
                yield f"the chart {name} has no canvas"
        counted = self.js("return window.mercerReport.charts")
        if counted != len(survey):
            yield f"mercerReport counts {counted} charts; the page has {len(survey)}"
        if self.js("const e = document.documentElement; return e.scrollWidth > e.clientWidth"):
            yield "the page is wider than the window"

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

    def check_primer(self):
        curve = 'return document.querySelector(\'[data-chart="primer"] path.fit\')' \
                '.getAttribute("d")'
        before = self.js(curve)
        self.one('[data-chart="primer"] label:last-of-type input').send_keys(Keys.ARROW_RIGHT * 9)
        if self.js(curve) == before:
            yield "moving the primer's bandwidth does not change its curve"

    def check_export(self):
        self.js(CATCH_BLOBS)
        for chart in [c["name"] for c in self.js(SURVEY)]:
            self.click(f'[data-chart="{chart}"] button.export')
            texts = self.driver.execute_async_script(READ_BLOBS)
            if not isinstance(texts, list) or len(texts) != 1:
                yield f"the export button of {chart} saves {len(texts)} files"
                continue
            if not texts[0].startswith("<svg"):
                yield f"the export of {chart} does not start with <svg: {texts[0][:40]!r}"
                continue
            try:
                tags = [e.tag.split("}")[-1]
                        for e in xml.etree.ElementTree.fromstring(texts[0]).iter()]
            except xml.etree.ElementTree.ParseError as fault:
                yield f"the export of {chart} is not well-formed: {fault}"
                continue
            if sum(tag in ("path", "circle") or tag == "image" for tag in tags) < 3:
                yield f"the export of {chart} shows nothing"
            if "var(" in texts[0] or re.search(r'(href|src)="(?!data:)', texts[0]):
                yield f"the export of {chart} depends on the page"
            if chart.endswith("-attention") and "image" not in tags:
                yield f"the export of {chart} lacks the map"

    def complaints(self, screenshot=None):
        """Runs the checks until one of them complains."""
        steps = [[self.check_loading, self.check_console, self.check_network], [self.check_charts],
                 [self.check_lines, self.check_data, self.check_table, self.check_loss],
                 [self.check_hover], [self.check_primer], [self.check_export],
                 [self.check_legend], [self.check_heat_maps],
                 [self.check_console, self.check_network]]
        for step in steps:
            found = []
            for check in step:
                try:
                    found += check()
                except (WebDriverException, LookupError, TypeError, ValueError) as fault:
                    text = getattr(fault, "msg", None) or f"{type(fault).__name__}: {fault}"
                    found.append(f"{check.__name__} broke off: {text.splitlines()[0]}")
            if screenshot and step is steps[0]:
                self.photograph(screenshot)
            if found:
                return found
        return []

    def photograph(self, path):
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "format": "png", "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": 1400, "scale": 1,
                     "height": self.js("return document.documentElement.scrollHeight")}})
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))


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


def self_test(driver, report):
    page = pathlib.Path(report).read_text(encoding="utf-8")
    faults = 0
    with tempfile.TemporaryDirectory(prefix="mercer-broken-") as folder:
        copy = pathlib.Path(folder) / "report.html"
        for name, mutate, expected in MUTATIONS:
            broken = mutate(page)
            copy.write_text(broken, encoding="utf-8")
            found = Visit(driver, copy).complaints() if broken != page else ["(nothing changed)"]
            hit = next((text for text in found if expected in text), None)
            faults += hit is None
            print(f"{'caught' if hit else 'NOT CAUGHT'}: {name}: {hit or found}"[:240], flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("report")
    parser.add_argument("--screenshot", metavar="OUT.png")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    missing = [f"{path} is missing" for path in (CHROMIUM, CHROMEDRIVER) if not shutil.which(path)]
    missing += [NO_SELENIUM] if NO_SELENIUM else []
    if missing:
        print("[skipped] no browser: " + "; ".join(missing))
        return 77
    if not pathlib.Path(options.report).is_file():
        print(f"FAILED: there is no report {options.report}")
        return 1

    def stop(number, _frame):
        raise SystemExit(f"FAILED: stopped by {signal.Signals(number).name}"
                         + (f" after {WATCHDOG_SECONDS} s" if number == signal.SIGALRM else ""))
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    signal.alarm(WATCHDOG_SECONDS)

    screenshot = options.screenshot and pathlib.Path(options.screenshot).resolve()
    try:
        with browser() as driver:
            visit = Visit(driver, options.report)
            found = visit.complaints(screenshot)
            if not found and options.self_test:
                print("passed: the intact report", flush=True)
                faults = self_test(driver, options.report)
                found = [f"{faults} broken reports were not caught"] if faults else []
    except WebDriverException as fault:
        found = [f"the browser broke off: {(fault.msg or 'no reason given').splitlines()[0]}"]
    for text in found:
        print(f"FAILED: {text}")
    if found:
        return 1
    print(f"the report behaves: {visit.charts} charts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
