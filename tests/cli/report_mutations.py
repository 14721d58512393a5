"""Ways to break a report, each with the complaint that report_test.py must make of it."""

import json
import re

DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)


def with_data(change):
    """A mutation that changes the JSON."""
    def mutate(page):
        def swap(found):
            data = json.loads(found.group(2))
            change(data)
            text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
            return found.group(1) + text + found.group(3)
        return DATA.sub(swap, page, count=1)
    return mutate


def with_end(markup):
    """A mutation that appends to the body."""
    return lambda page: (markup + "</body>").join(page.rsplit("</body>", 1))


def with_script(code):
    return with_end(f"<script>{code}</script>")


def forget_predictions(data):
    del data["series"][0]["models"][1]["prediction"]


def misplace_error(data):
    data["series"][1]["models"][0]["test_rmse"] = [1.0]
    data["series"][1]["models"][0]["test_rmse_mean"] = 1.0


MUTATIONS = [
    ("corrupt JSON", lambda page: DATA.sub(
        lambda m: m.group(1) + m.group(2)[:-9] + m.group(3), page), "data cannot be read"),
    ("a model without predictions", with_data(forget_predictions), "does not predict every point"),
    ("a script error", with_script('throw new Error("sabotage")'), "sabotage"),
    ("a picture from the network", with_end('<img src="http://127.0.0.1:9/x.png">'),
     "something else than the file was requested: http://127.0.0.1:9/x.png"),
    ("a picture let in from the network", lambda page: with_end(
        '<img src="http://127.0.0.1:9/x.png">')(page.replace("img-src data:", "img-src * data:")),
     "something else than the file was requested: http://127.0.0.1:9/x.png"),
    ("no chart is drawn", lambda page: page.replace("kit.drawAll();\n        kit.watch", "kit.watch"), "is not drawn"),
    ("a missing chart", with_script(
        'document.querySelector("[data-chart$=-loss]").remove()'), "loss is missing"),
    ("an emptied chart", with_script(
        'document.querySelector("[data-chart$=-scores] svg.plot").textContent = ""'),
     "scores shows nothing"),
    ("a blank heat map", with_script(
        'document.querySelector("canvas").getContext("2d").clearRect(0, 0, 999, 999)'),
     "of one colour"),
    ("an error that the predictions do not have", with_data(misplace_error), "the data says [1.0]"),
    ("a wrong number in the table", with_script(
        'document.querySelectorAll("td.number > span").forEach((e) => '
        '{ if (/^0[.]/.test(e.textContent)) e.textContent = "0.111"; })'), "the table of errors"),
    ("a best epoch out of place", lambda page: page.replace(
        "const bx = x(m.loss.epoch[i]);", "const bx = x(m.loss.epoch[i] / 2);"), "best epoch at"),
    ("a legend that does nothing", lambda page: page.replace(
        "</style>", ".fit { display: inline !important; }</style>", 1), "in the legend"),
    ("a heat map read upside down", lambda page: page.replace(
        "(d3.mouse(node)[1] - edge.top) / cell", "size - (d3.mouse(node)[1] - edge.top) / cell"),
     "hovering the heat map"),
    ("a heat map that ignores the head", lambda page: page.replace(
        "kit.weights(series, state.model, state.head)", 'kit.weights(series, state.model, "mean")'),
     "looks like"),
    ("years of the wrong century", lambda page: page.replace(
        "date.setUTCFullYear(year)", "date.setTime(Date.UTC(year, month, 1))"), "March of the year 99"),
    ("quotients of roundings", lambda page: page.replace(
        "base && base.test_rmse_mean > 1e-12 * d3.max(series.value, Math.abs)", "base"), "quotients of roundings"),
    ("large numbers in full", lambda page: page.replace("size < 1e9 && ", ""), "numbers are written"),
    ("names that become markup", lambda page: page.replace(
        'append("figcaption").text(options.caption)', 'append("figcaption").html(options.caption)'),
     "became markup"),
    ("an export of nothing", with_script('window.mercerKit.svgText = () => ""'),
     "does not start with <svg"),
]
