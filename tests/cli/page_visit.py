"""What the tests of pages share: a headless browser, a visit to a page, breaking copies of it."""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree

from report_mutations import DATA

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    NO_SELENIUM = None
except ImportError as error:
    NO_SELENIUM = f"python3-selenium cannot be imported ({error})"
    WebDriverException = RuntimeError

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
CHROMEDRIVER = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
READY_SECONDS = 20
WATCHDOG_SECONDS = 400
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

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


class PageVisit:
    """One opening of one page. Each check_… method yields complaints; steps() is a list of lists of them."""

    def __init__(self, driver, path):
        self.driver = driver
        self.path = path
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

    def wanted_charts(self):
        return []

    def exported_charts(self):
        return [c["name"] for c in self.js(SURVEY)]

    def has_map(self, chart):
        """Is there a heat map in that chart?"""
        return True

    def is_plain(self, chart):
        """May its map be of one colour?"""
        return False

    def check_charts(self):
        survey = {chart["name"]: chart for chart in self.js(SURVEY)}
        self.charts = len(survey)
        for name in self.wanted_charts():
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
                if fault == "of one colour" and self.is_plain(name):
                    continue
                yield f"the canvas of {name} is {fault}"
            if self.has_map(name) and not chart["canvases"]:
                yield f"the chart {name} has no canvas"
        counted = self.js("return window.mercerReport.charts")
        if counted != len(survey):
            yield f"mercerReport counts {counted} charts; the page has {len(survey)}"
        if self.js("const e = document.documentElement; return e.scrollWidth > e.clientWidth"):
            yield "the page is wider than the window"

    def check_export(self):
        self.js(CATCH_BLOBS)
        for chart in self.exported_charts():
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
            if self.has_map(chart) and "image" not in tags:
                yield f"the export of {chart} lacks the map"

    def complaints(self, screenshot=None):
        """Runs the checks until one of them complains."""
        steps = self.steps()
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


def self_test(driver, report, visit, mutations):
    page = pathlib.Path(report).read_text(encoding="utf-8")
    faults = 0
    with tempfile.TemporaryDirectory(prefix="mercer-broken-") as folder:
        copy = pathlib.Path(folder) / "report.html"
        for name, mutate, expected in mutations:
            broken = mutate(page)
            copy.write_text(broken, encoding="utf-8")
            found = visit(driver, copy).complaints() if broken != page else ["(nothing changed)"]
            hit = next((text for text in found if expected in text), None)
            faults += hit is None
            print(f"{'caught' if hit else 'NOT CAUGHT'}: {name}: {hit or found}"[:240], flush=True)
    return faults


def main(doc, visit_page, mutations):
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
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
            visit = visit_page(driver, options.report)
            found = visit.complaints(screenshot)
            if not found and options.self_test:
                print("passed: the intact report", flush=True)
                faults = self_test(driver, options.report, visit_page, mutations)
                found = [f"{faults} broken reports were not caught"] if faults else []
    except WebDriverException as fault:
        found = [f"the browser broke off: {(fault.msg or 'no reason given').splitlines()[0]}"]
    for text in found:
        print(f"FAILED: {text}")
    if found:
        return 1
    print(f"the report behaves: {visit.charts} charts")
    return 0
