#!/usr/bin/env python3
"""gallery_data_test.py MERCER: the pictures of `mercer demo smoothers` are what `mercer eval` says of the attributes
beneath them, there is one for every kernel, filter, position scheme and normaliser, and some are worked out here."""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from report_mutations import DATA
from page_visit import ALPHABET
from tensors import read

mercer = str(Path(sys.argv[1]).resolve())
work = Path(tempfile.mkdtemp())
faults = 0
LEVEL = {letter: k for k, letter in enumerate(ALPHABET)}


def check(holds, what):
    global faults
    if not holds:
        faults += 1
        print("FAILED:", what)


def run(*words):
    return subprocess.run([mercer, *words], cwd=work, capture_output=True, text=True)


made = run("demo", "smoothers", "--out", "g.html", "--inputs", "in.safetensors", "--quiet")
check(made.returncode == 0 and made.stdout == "g.html\n" and made.stderr == "", f"the command: {made}")
page = (work / "g.html").read_text(encoding="utf-8")
check(len(page) < 1_500_000, f"the page has {len(page)} bytes")
data = json.loads(DATA.search(page).group(2))
check(data["command"] == "mercer demo smoothers --out g.html --inputs in.safetensors --quiet", data["command"])
again = run("demo", "smoothers", "--out", "h.html")
check(again.returncode == 0 and again.stdout == "h.html\n", "stdout holds the path only")
other = json.loads(DATA.search((work / "h.html").read_text(encoding="utf-8")).group(2))
check(other["groups"] == data["groups"], "the gallery is the same every time")
for words, status in [(["--out", "no/where.html"], 5), (["--colour"], 2), (["extra"], 2), (["--inputs", "no/where"], 5)]:
    check(run("demo", "smoothers", *words).returncode == status, words)

# One for each.
items = [(group, item) for group in data["groups"] for item in group["items"]]
ops = {o["name"]: o for o in json.loads(run("ops", "--json").stdout)}
for attribute in ops["attend"]["attributes"]:
    for choice in attribute.get("choices", []):
        shown = [i for g, i in items if g["id"] == attribute["name"] and i["name"] == choice["name"]]
        check(shown, f"no picture of the {attribute['name']} {choice['name']}")
        check(all(i["source"] == choice["source"] for i in shown), choice["name"])
check(len({i["id"] for _, i in items}) == len(items) and len({i["title"] for _, i in items}) == len(items), "names are unique")

# What eval says.
tensors = read(work / "in.safetensors")
n, heads = data["input"]["tokens"], tensors["q"][1][1]


def named(attrs):
    """The inputs that attributes name."""
    if isinstance(attrs, str):
        return {attrs} & set(tensors)
    if isinstance(attrs, (list, dict)):
        return set().union(*map(named, attrs.values() if isinstance(attrs, dict) else attrs))
    return set()


spec = []
for _, item in items:
    inputs = {name: name for name in {"q", "k", "v"} | named({k: list(v.values()) for k, v in item["attrs"].items()
                                                             if isinstance(v, dict)})}
    spec.append({"op": "attend", "inputs": inputs, "attrs": item["attrs"],
                 "outputs": {r: r for r in ("out", "weights", "fallbacks", "nonpositive")}})
    spec.append({"op": "visible", "inputs": {"q": "q", "k": "k"} | {x: x for x in inputs if x not in "qkv"},
                 "attrs": {"filter": item["attrs"].get("filter", "full")}, "outputs": {"out": "seen"}}
                if "filter" in item["attrs"] else {"op": "visible", "inputs": {"q": "q", "k": "k"}, "outputs": {"out": "seen"}})
(work / "spec.json").write_text(json.dumps(spec))
done = run("eval", "spec.json", "--in", "in.safetensors", "--out", "out.safetensors")
check(done.returncode == 0, done.stderr)
out = read(work / "out.safetensors")
for number, (group, item) in enumerate(items):
    where = item["title"]
    got = {r: out[f"{2 * number}/{r}"][2] for r in ("out", "weights", "fallbacks", "nonpositive")}
    seen = out[f"{2 * number + 1}/seen"][2]
    shown = item["map"]["heads"]
    check(item["fallbacks"] == got["fallbacks"][0] * shown // heads, f"{where}: fallbacks")
    check(item["nonpositive"] == got["nonpositive"][0] * shown // heads, f"{where}: sums that are not positive")
    for h in range(shown):
        y = got["out"][h * n:(h + 1) * n]
        check(all(abs(a - b) <= 2e-6 * max(1e-3, abs(b)) for a, b in zip(item["out"][h], y)), f"{where}: answers")
        for i in range(n):
            at = (h * n + i) * n
            row, peak = got["weights"][at:at + n], item["map"]["row_max"][h][i]
            level = [LEVEL[letter] / 63 for letter in item["map"]["weights"][h][i * n:(i + 1) * n]]
            sign = item["negative"][h] or "0" * n * n
            drawn = [peak * x * x * (-1 if sign[i * n + j] == "1" else 1) for j, x in enumerate(level)]
            # Half a level, and four figures of the peak.
            slack = [peak * (math.sqrt(min(1, abs(w) / peak)) / 63 + 1e-3) if peak else 0 for w in row]
            check(all(abs(a - b) <= s for a, b, s in zip(drawn, row, slack)), f"{where}: head {h}, row {i}")
            hidden = (item["hidden"][h] or "0" * n * n)[i * n:(i + 1) * n]
            check(all(w == 0 for w, x in zip(row, hidden) if x == "1"), f"{where}: a hidden key has weight, row {i}")
            if group["id"] == "filter":
                check(all((x == "1") != s for x, s in zip(hidden, seen[at:at + n])), f"{where}: what is hidden, row {i}")
            if item["entropy"][h] is not None:
                entropy = -sum(w * math.log(w) for w in row if w > 0)
                check(abs(item["entropy"][h][i] - entropy) < 1e-6 * max(1, entropy), f"{where}: entropy of row {i}")
            else:
                check(any(w < 0 for w in got["weights"]), f"{where}: has no entropy, but no negative weight either")

# Some by hand.
q, k, d = tensors["q"][2], tensors["k"][2], data["input"]["width"]
dot = [[sum(q[i * d + c] * k[j * d + c] for c in range(d)) for j in range(n)] for i in range(n)]
by_hand = {
    "Dot product": lambda i, j: math.exp(dot[i][j] / math.sqrt(d)),
    "Causal": lambda i, j: math.exp(dot[i][j] / math.sqrt(d)) if j <= i else 0,
    "Polynomial of degree 2": lambda i, j: dot[i][j] ** 2,
    "Nadaraya–Watson, Gaussian": lambda i, j: math.exp(-sum((q[i * d + c] - k[j * d + c]) ** 2 for c in range(d)) / 4.5),
    "Linear biases": lambda i, j: math.exp(dot[i][j] / math.sqrt(d) - abs(i - j) / 4),
}
for number, (_, item) in enumerate(items):
    if (weight := by_hand.pop(item["title"], None)) is None:
        continue
    for i in range(n):
        row = [weight(i, j) for j in range(n)]
        total = sum(row)
        check(all(abs(a - b / total) < 1e-12 for a, b in zip(out[f"{2 * number}/weights"][2][i * n:(i + 1) * n], row)),
              f"{item['title']} by hand, row {i}")
check(not by_hand, f"not met: {list(by_hand)}")

sys.exit(1 if faults else print(f"{len(items)} pictures are what eval says") or 0)
