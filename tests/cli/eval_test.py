#!/usr/bin/env python3
"""eval_test.py MERCER: `mercer ops` and `mercer eval` from outside, with files made here byte by byte."""
import json
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from tensors import read, write

mercer = str(Path(sys.argv[1]).resolve())
work = Path(tempfile.mkdtemp())
faults = 0


def check(holds, what):
    global faults
    if not holds:
        faults += 1
        print("FAILED:", what)


def run(spec, status=0, says="", source="in.safetensors"):
    (work / "spec.json").write_text(spec if isinstance(spec, str) else json.dumps(spec))
    out = work / "out.safetensors"
    out.unlink(missing_ok=True)
    done = subprocess.run([mercer, "eval", "spec.json", "--in", source, "--out", "out.safetensors"], cwd=work,
                          capture_output=True, text=True)
    what = "%s\n    exit %d, expected %d: %s" % (spec, done.returncode, status, done.stderr.strip())
    check(done.returncode == status, what)
    check(says in done.stderr, "the message lacks %r: %s" % (says, what))
    check(done.stdout == "", "stdout is empty")
    return read(out) if out.exists() else {}


# The list.
ops = json.loads(subprocess.run([mercer, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
check(len(ops) >= 40, "there are %d operations" % len(ops))
check(len({o["name"] for o in ops}) == len(ops), "names are unique")
for o in ops:
    check(set(o) == {"name", "arguments", "attributes", "results", "formula", "differentiable", "parity", "backends",
                     "source"}, o["name"])
    check(o["formula"] and o["source"].startswith(("engine/", "attention/")) and o["results"], o["name"])
by_name = {o["name"]: o for o in ops}
check(by_name["softmax"]["attributes"] == [{"name": "axis", "type": "int", "default": -1}], "softmax's axis")
parts = {a["name"]: {c["name"]: c for c in a["choices"]} for a in by_name["attend"]["attributes"] if "choices" in a}
for kind in ("kernel", "filter", "position", "normaliser"):
    check(len(parts[kind]) >= 6, "attend lists its choices of %s" % kind)
    for c in parts[kind].values():
        check(c["formula"] and c["source"] and c["title"], "%s says its formula and source" % c["name"])
check(parts["kernel"]["polynomial"]["attributes"][0] == {"name": "degree", "type": "int", "default": 2, "range": "[1,inf)"},
      "a kernel's attribute with its default and range")
check(parts["kernel"]["additive"]["arguments"] == [{"name": "w", "list": False, "optional": False, "differentiable": True}],
      "a kernel's argument")
table = subprocess.run([mercer, "ops"], capture_output=True, text=True, check=True).stdout
check(len(table.splitlines()) == len(ops), "the table has a line each")

# Values and gradients.
write(work / "in.safetensors", {
    "x": ("F32", [2, 3], [1, 2, 3, -1, 0, 4]), "y": ("F32", [3, 2], [1, 0, 0, 1, 2, 2]),
    "u": ("F32", [2, 3], [1, 0, 0, 0, 1, 0]), "one": ("F64", [1], [0.5]), "ids": ("I64", [2, 1], [2, 0]), "none": ("F32", [0, 3], []),
    "spd": ("F64", [2, 2], [4, 1, 1, 3]), "w": ("F64", [2], [1, 1])})
write(work / "parts.safetensors", {
    "three": ("F64", [3], [1, 2, 3]), "c/0": ("F64", [1], [5]), "c/1": ("F64", [2], [6, 7])})
# What cannot be written is its own entry's fault.
out = run([{"op": "sum", "inputs": {"x": "x"}, "attrs": {"axes": [0, 1]}, "outputs": {"out": "s"}},
           {"op": "broadcast_to", "inputs": {"x": "one"}, "attrs": {"shape": [1 << 60]}, "outputs": {"out": "b"}}], 1, "entry 1: ")
check(list(out) == ["0/s"], "the entry before is kept")
run({"op": "broadcast_to", "inputs": {"x": "one"}, "attrs": {"shape": [1 << 62]}, "outputs": {"out": "b"}}, 3, "[broadcast_to] too many bytes")
run({"op": "with_memory", "inputs": {"memory": "x", "x": "x"}, "outputs": {"out": "y"}, "cotangents": {"out": "y"}, "gradients": {"memory": "d"}}, 3,
    "gradients.memory: the operation is not differentiable in it")
run({"op": "unslice", "inputs": {"x": "w"}, "attrs": {"shape": [6], "axis": 0, "begin": 99, "step": 1},
     "outputs": {"out": "y"}}, 3, "[unslice] (2) at 99 by 1 does not fit axis 0 of (6)")
# Parts have cotangents each, by one name for all or by a list.
for cotangents in ("c", ["c/0", "c/1"]):
    out = run({"op": "split", "inputs": {"x": "three"}, "attrs": {"sizes": [1, 2], "axis": 0}, "outputs": {"parts": "p"},
               "cotangents": {"parts": cotangents}, "gradients": {"x": "dx"}}, source="parts.safetensors")
    check(out["p/1"][2] == [2, 3] and out["dx"][2] == [5, 6, 7], "split's gradient is its parts' cotangents")
run({"op": "split", "inputs": {"x": "three"}, "attrs": {"sizes": [1, 2], "axis": 0}, "cotangents": {"parts": ["c/0"]},
     "gradients": {"x": "dx"}}, 3, "cotangents.parts: must have 2 names", source="parts.safetensors")
# In the dtype of the result, which may not be the entry's.
out = run({"op": "cast", "inputs": {"x": "w"}, "attrs": {"dtype": "f64"}, "cotangents": {"out": "w"},
           "gradients": {"x": "dx"}, "dtype": "f32"})
check(out["dx"] == ("F32", [2], [1, 1]), "cast's gradient comes back in its operand's dtype")
out = run({"op": "softmax", "inputs": {"x": "x"}, "outputs": {"out": "p"}, "cotangents": {"out": "u"},
           "gradients": {"x": "dx"}, "dtype": "f64"})
rows = [[1, 2, 3], [-1, 0, 4]]
p = [[math.exp(v) / sum(map(math.exp, r)) for v in r] for r in rows]
check(out["p"][:2] == ("F64", [2, 3]), "dtype f64 computes in float64")
check(all(abs(a - b) < 1e-15 for a, b in zip(out["p"][2], sum(p, []))), "softmax's values")
g = [[1, 0, 0], [0, 1, 0]]
want = [p[i][j] * (g[i][j] - sum(a * b for a, b in zip(p[i], g[i]))) for i in range(2) for j in range(3)]
check(all(abs(a - b) < 1e-15 for a, b in zip(out["dx"][2], want)), "softmax's gradient")

out = run([{"op": "matmul", "inputs": {"a": "x", "b": "y"}, "outputs": {"out": "c"}},
           {"op": "sum", "inputs": {"x": "x"}, "attrs": {"axes": [0, 1]}, "outputs": {"out": "s"}, "gradients": {"x": "d"}},
           {"op": "stack", "inputs": {"xs": ["x", "u"]}, "outputs": {"out": "both"}, "attrs": {"axis": 0}},
           {"op": "gather", "inputs": {"x": "x", "index": "ids"}, "attrs": {"axis": 1}, "outputs": {"out": "picked"}}])
check(out["0/c"] == ("F32", [2, 2], [7, 8, 7, 8]), "matmul")
check(out["1/s"][2] == [9.0] and out["1/d"][2] == [1.0] * 6, "a scalar result needs no cotangent")
check(out["2/both"][1] == [2, 2, 3], "a list of inputs")
check(out["3/picked"][2] == [3.0, -1.0], "integer inputs")
out = run({"op": "eigh", "inputs": {"a": "spd"}, "outputs": {"values": "l", "vectors": "v"},
           "cotangents": {"values": "w"}, "gradients": {"a": "da"}})
check(abs(out["l"][2][0] - (7 - math.sqrt(5)) / 2) < 1e-15 * 8, "several results")
check(all(abs(a - b) < 1e-14 for a, b in zip(out["da"][2], [1, 0, 0, 1])), "the trace's gradient is the identity")

# A bad entry does not spoil the others.
out = run([{"op": "exp", "inputs": {"x": "one"}, "outputs": {"out": "e"}}, {"op": "nonsense"},
           {"op": "exp", "inputs": {"x": "absent"}, "outputs": {"out": "e"}}], 1, "entry 1: [call] no operation is called 'nonsense'")
check(list(out) == ["0/e"] and abs(out["0/e"][2][0] - math.exp(0.5)) < 1e-15, "the good entry ran")
# A name that no file takes is its entry's fault; a list without parts has none to write.
good = {"op": "exp", "inputs": {"x": "one"}, "outputs": {"out": "e"}}
out = run([good, {**good, "outputs": {"out": "b\u0001"}}], 1, "entry 1: [eval] outputs.out: ")
check(set(out) == {"0/e"}, "the good entry is written")
check(math.isnan(run({"op": "pad", "inputs": {"x": "one"}, "attrs": {"before": [1], "after": [0], "value": "nan"}, "outputs": {"out": "p"}})["p"][2][0]), "a fill of NaN")
check(run({"op": "split", "inputs": {"x": "none"}, "attrs": {"sizes": []}, "outputs": {"parts": "p"}}) == {}, "no parts")
# What does not fit 64 bits is not −1, and a faulty attribute is named.
for op, attrs, says in [("reshape", {"shape": [2**64 - 1]}, "attrs.shape: does not fit 64 bits"), ("sum", {"axes": [2**63]}, "attrs.axes: does not fit 64 bits"),
                        ("pad", {"before": [1], "after": [1], "mode": "mirror"}, "[pad] attribute 'mode' must be "), ("flip", {"axis": 2**40}, "[flip] attribute 'axis' does not hold"),
                        ("pad", {"before": [1], "after": [1], "mode": "edge|reflect"}, "[pad] attribute 'mode' must be "),
                        ("dropout", {"p": 0.5, "key": [0]}, "[dropout] attribute 'key' must be [seed, stream]")]:
    run({"op": op, "inputs": {"x": "x"}, "attrs": attrs, "outputs": {"out": "o"}}, 3, says)

# What is wrong is named.
exp = {"op": "exp", "inputs": {"x": "x"}, "outputs": {"out": "e"}}
for change, says in [
        ({"op": "exq"}, "did you mean 'exp'?"), ({"op": 3}, "op: must name"), ({"inputs": {"x": "absent"}}, "inputs.x: the input file has no tensor 'absent'"),
        ({"inputs": {"z": "x"}}, "argument 'z' is unknown"), ({"inputs": {}}, "argument 'x' is missing"), ({"inputs": ["x"]}, "inputs: must be an object"),
        ({"inputs": {"x": 3}}, "inputs.x: must be a string"), ({"inputs": {"x": ["x", "x"]}}, "argument 'x' is one tensor"), ({"attrs": {"axis": 1}}, "attribute 'axis' is unknown"),
        ({"outputs": {"y": "e"}}, "outputs.y"), ({"outputs": {"out": 1}}, "outputs.out: must be a string"), ({"dtype": "f16"}, "dtype: must be"),
        ({"gradients": {"x": "d"}}, "cotangents: are needed"), ({"cotangents": {"out": "x"}}, "cotangents: are given"),
        ({"gradients": {"x": "d"}, "cotangents": {"out": "y"}}, "cotangents.out: is f32(3,2), the result f32(2,3)"),
        ({"gradients": {"q": "d"}, "cotangents": {"out": "u"}}, "gradients.q: there is no such input"),
        ({"gradients": {"x": "e"}, "cotangents": {"out": "u"}}, "the name 'e' is used twice"), ({"colour": "red"}, "colour: is no field")]:
    run({**exp, **change}, 3, says)
run({"op": "matmul", "inputs": {"a": "x", "b": "x"}, "outputs": {"out": "c"}}, 3, "[matmul] inner dimensions differ: lhs (2,3) vs rhs (2,3)")
run({"op": "softmax", "inputs": {"x": "x"}, "attrs": {"axis": 7}, "outputs": {"out": "c"}}, 3, "softmax")
run({"op": "softmax", "inputs": {"x": "x"}, "attrs": {"axis": {}}, "outputs": {"out": "c"}}, 3, "attrs.axis")
run({"op": "reshape", "inputs": {"x": "x"}, "attrs": {"shape": [1, 2.5]}, "outputs": {"out": "c"}}, 3, "attrs.shape: must be a list of integers")
for op, attrs, says in [("sum", {"axes": [0], "keep_axes": [[1]]}, "attrs.keep_axes: must be bool"), ("dropout", {"p": [0.5]}, "attrs.p: must be float"),
                        ("softmax", {"axis": [0.5]}, "attrs.axis: must be int"), ("pad", {"before": [1], "after": [1], "mode": [None]}, "attrs.mode: must be constant|"),
                        ("dropout", {"p": 0.5, "key": [0.5, 1]}, "attrs.key: must be a list of integers")]:
    run({"op": op, "inputs": {"x": "x"}, "attrs": attrs, "outputs": {"out": "o"}}, 3, says)
run({"op": "masked_fill", "inputs": {"x": "ids", "mask": "ids"}, "attrs": {"value": 2**53 + 1}, "outputs": {"out": "c"}}, 3, "attribute 'value' does not hold 9007199254740993 exactly")
run({"op": "pad", "inputs": {"x": "ids"}, "attrs": {"before": [0, 1], "after": [0, 1], "value": 2.0**63}, "outputs": {"out": "c"}}, 3, "is no i64")
run({"op": "cholesky", "inputs": {"a": "y"}, "outputs": {"out": "c"}}, 3, "square")
run({"op": "inverse", "inputs": {"a": "zero"}, "outputs": {"out": "c"}}, 3, "no tensor 'zero'")
write(work / "smoother.safetensors", {
    "q": ("F64", [3, 2], [1, 2, 3, 4, 5, 6]), "k": ("F64", [3, 2], [1, 0, 0, 1, 2, 2]), "n": ("I64", [1], [2]),
    "v": ("F64", [3, 1], [1, 2, 3]), "h": ("F64", [2], [1, 2]),
    "m": ("BOOL", [1, 2, 3, 3], [True] * 18)})
attend = {"op": "attend", "inputs": {"q": "q", "k": "k", "v": "v"}, "outputs": {"out": "o"}}
for attrs, says in [
        ({"kernel": "rbff"}, "attrs.kernel: [kernel] 'rbff' is unknown; did you mean 'rbf'? (there are dot_product,"),
        ({"kernel": 3}, "attrs.kernel: must be a name"), ({"kernel": {"rbf": 3}}, "attrs.kernel.rbf: must be an object"),
        ({"kernel": {"rbf": {}, "linear": {}}}, "attrs.kernel: must be a name"), ({"kernal": "rbf"}, "[attend] attribute 'kernal' is unknown; did you mean 'kernel'?"),
        ({"kernel": {"polynomial": {"degree": 0}}}, "attrs.kernel: [polynomial] attribute 'degree' = 0 is outside [1,inf)"),
        ({"kernel": {"polynomial": {"degree": 1.5}}}, "attribute 'degree' must be int"), ({"kernel": {"rbf": {"scale": 1}}}, "attribute 'scale' is unknown"),
        ({"kernel": "nadaraya_watson"}, "attrs.kernel: [nadaraya_watson] argument 'bandwidth' is missing"),
        ({"kernel": {"nadaraya_watson": {"bandwidth": "x"}}}, "attrs.kernel.nadaraya_watson.bandwidth: there is no input 'x'"),
        ({"kernel": {"nadaraya_watson": {"bandwidth": {}}}}, "attrs.kernel.nadaraya_watson.bandwidth: must be the name"),
        ({"kernel": {"nadaraya_watson": {"bandwidth": -1}}}, "[nadaraya_watson] the bandwidth must be one positive number"),
        ({"kernel": {"nadaraya_watson": {"bandwidth": 1, "profile": "round"}}}, "[nadaraya_watson] attribute 'profile' must be "),
        ({"kernel": {"additive": {"w": [1, 2, 3]}}}, "[additive] the weights (3) should be (2)"),
        ({"filter": {"and": []}}, "attrs.filter.and: must be a list of filters"), ({"filter": {"and": ["causal", "windw"]}}, "attrs.filter.and[1]: [filter] 'windw' is unknown"),
        ({"filter": {"or": [{"by_head": [{"window": {}}]}]}}, "attrs.filter.or[0].by_head[0]: [window] attribute 'w' (int) is missing"),
        ({"filter": {"window": {"w": -3}}}, "attrs.filter: [window] attribute 'w' = -3 is outside [1,inf)"), ({"filter": {"strided_local": {"l": -2}}}, "attrs.filter: [strided_local] attribute 'l' = -2 is outside [1,inf)"),
        ({"filter": {"fixed_local": {"l": -5}}}, "attrs.filter: [fixed_local] attribute 'l' = -5 is outside"), ({"filter": {"same_length": {"memory": 1, "length": 0}}}, "[same_length] attribute 'length' = 0 is outside"),
        ({"filter": {"window": {"w": [0.5]}}}, "attrs.filter.window.w: must be int"), ({"filter": {"padding": {"lengths": [[1, 2], [3]]}}}, "attrs.filter.padding.lengths: has rows of unequal lengths"),
        ({"filter": {"padding": {"lengths": [4.7]}}}, "attrs.filter.padding.lengths: must hold whole numbers"),
        ({"position": {"symmetric": {"encoding": [[1], [2], [3]], "offset": 2**63 - 1}}}, "[symmetric] the offset 9223372036854775807 is beyond 2^53"),
        ({"filter": {"padding": {"lengths": [[[1]]]}}}, "attrs.filter.padding.lengths: has more than two axes"),
        ({"filter": {"graph": {"row_offsets": [0, 1], "columns": []}}}, "attrs.filter: [graph]"), ({"filter": {"mask": {"seen": [1, 0]}}}, "attrs.filter: [mask]"),
        ({"filter": {"mask": {"seen": [[True, False]]}}}, "[mask] the mask (1,2) is not for"), ({"filter": {"mask": {"seen": [[True] * 9] * 9}}}, "[mask] the mask (9,9) is not for"),
        ({"filter": {"blocks": {"rows": 1, "columns": 1, "seen": [1]}}}, "attrs.filter: [blocks]"),
        ({"normaliser": "division"}, "[attend] the kernel dot_product gives log weights"), ({"kernel": "linear", "normaliser": "softmax"}, "the kernel linear gives weights"),
        ({"normaliser": "entmax"}, "attrs.normaliser: [entmax] argument 'alpha' is missing"), ({"colour": 1}, "attribute 'colour' is unknown"),
        ({"position": "rotari"}, "attrs.position: [position] 'rotari' is unknown; did you mean 'rotary'?"), ({"position": {"rotary": {"base": -1}}}, "outside (0,inf)"),
        ({"position": {"rotary": {"offset": 1.5}}}, "attribute 'offset' must be int|none"), ({"position": {"lookup": {}}}, "attrs.position: [lookup] argument 'table' is missing"),
        ({"position": {"alibi": {"slopes": [1, 2], "heads": 2}}}, "[alibi] slopes (2) and heads 2; give one of them"),
        ({"position": {"rotary": {"width": 3}}}, "[rotate_pairs]"), ({"position": {"absolute": {"queries": [1], "keys": [1]}}}, "[add_positions]"),
        ({"dropout": 1}, "attribute 'dropout' = 1 is outside [0,1)"), ({"dropout": "much"}, "attribute 'dropout' must be float"), ({"dropout": 0.5, "key": [1]}, "attribute 'key' must be [seed, stream]")]:
    run({**attend, "attrs": attrs}, 3, says, "smoother.safetensors")
out = run({**attend, "attrs": {"kernel": {"polynomial": {"degree": 2**31 - 1, "scale": 0, "offset": 1}}}}, source="smoother.safetensors")
check(out["o"][2] == [2.0] * 3, "a power of any degree takes a moment")
# Nesting that would exhaust the stack is refused; as much as anyone writes is not.
def nested(depth):
    return '{"op": "visible", "inputs": {"q": "q", "k": "k"}, "attrs": {"filter": %s"causal"%s}, "outputs": {"out": "o"}}' % (
        '{"and": [' * depth, "]}" * depth)
run(nested(10000), 3, "filters nest more than 64 deep", "smoother.safetensors")
run(nested(65), 3, "attrs.filter.and[0]", "smoother.safetensors")
check(run(nested(64), source="smoother.safetensors")["o"][1][-2:] == [3, 3], "64 joins")
run('{"op": "attend", "inputs": {"q": "q", "k": "k", "v": "v"}, "outputs": {"out": "o"}, "attrs": {"kernel": {"nadaraya_watson": {"bandwidth": %s}}}}'
    % ("[" * 200000 + "1" + "]" * 200000), 3, "attrs.kernel.nadaraya_watson.bandwidth: has more than two axes", "smoother.safetensors")
for change, says in [
        ({"inputs": {"q": "q", "k": "k"}}, "[attend] argument 'v' is missing"), ({"inputs": {"q": "q", "k": "k", "v": "v", "h": "h"}}, "inputs.h: no part of attrs uses it"),
        ({"inputs": {"q": "q", "k": "k", "v": "v", "m": "m"}, "attrs": {"filter": {"mask": {"seen": "m"}}}}, "the mask (1,2,3,3) is not for scores (1,1,3,3)"),
        ({"inputs": {"q": "q", "k": "v", "v": "v"}}, "[attend] queries (3,2) and keys (3,1)"), ({"inputs": {"q": "q", "k": "k", "v": "n"}}, "[attend]"),
        ({"inputs": {"q": ["q", "q"], "k": "k", "v": "v"}}, "'q' is one tensor"), ({"outputs": {"lsd": "l"}}, "it has out, weights, fallbacks, nonpositive, lse, entropy"),
        ({"gradients": {"q": "dq"}}, "cotangents: are needed"),
        ({"inputs": {"q": "q", "k": "k", "v": "v", "n": "n"}, "gradients": {"n": "dn"}}, "gradients.n: is i64, which has no gradient"),
        ({"op": "log_weights", "inputs": {"q": "q", "k": "k"}, "attrs": {"kernel": "linear"}}, "[log_weights] the kernel linear gives weights"),
        ({"op": "visible", "inputs": {"q": "q", "k": "k"}, "attrs": {"kernel": "rbf"}}, "[visible] attribute 'kernel' is unknown")]:
    run({**attend, **change}, 3, says, "smoother.safetensors")
for bad in ["", "{", "[1,", "nul", '{"op": "exp" "x"}', "[" * 100000]:
    run(bad, 3, "no JSON")
run("3", 3, "must be an object")
run({**exp, "outputs": {}}, 3, "outputs: must name results")
run({"op": "exp", "inputs": {"x": "x"}}, 3, "outputs: must name results")
# Whatever finds a fault, the operation that was asked for is named.
run({"op": "graph_attention", "inputs": {"h": "q", "attention_source": "k", "attention_target": "k", "offsets": "q", "sources": "n"}, "outputs": {"out": "o"}},
    3, "[graph_attention] offsets must be i64", "smoother.safetensors")
# Control bytes of a name are shown, and end no message.
run('{"op": "a\\u0000b\\u001b[31m"}', 3, "is called 'a\\x00b\\x1b[31m'")
run('{"op": "exp", "inputs": {"x": "x"}, "outputs": {"out": "e"}, "c\\u0000d\\u009b": 1}', 3, "c\\x00d\\xc2\\x9b: is no field")
run('[{"op": "exp", "\\u001b[2J": 1}, %s]' % json.dumps(exp), 1, "entry 0: [eval] \\x1b[2J: is no field")
# Keys are two unsigned words of 64 bits.
def drop(key, status=0, says=""):
    return run({"op": "dropout", "inputs": {"x": "x"}, "attrs": {"p": 0.5, "key": key}, "outputs": {"out": "o"}}, status, says).get("o")
check(drop([2**63, 0]) and drop([2**64 - 1, 2**64 - 1]) and drop([0, 0]), "all keys")
for key in ([-1, 0], [0, -(2**63)], [0.5, 0], [2**64, 0], 3, [1, 2, 3]):
    drop(key, 3, "key")
attend_key = {**attend, "attrs": {"dropout": 0.5, "key": [2**64 - 1, 7]}}
check(run(attend_key, source="smoother.safetensors")["o"][1] == [3, 1], "attend's key")
run({**attend_key, "attrs": {"dropout": 0.5, "key": [-1, 7]}}, 3, "attrs.key: must be integers from 0", "smoother.safetensors")
# Where every entry fails, what an earlier run wrote stays. IN and OUT may be one file.
(work / "spec.json").write_text(json.dumps([{"op": "nonsense"}, {"op": "nonsense"}]))
(work / "earlier.safetensors").write_bytes((work / "in.safetensors").read_bytes())
eval_again = [mercer, "eval", "spec.json", "--in", "earlier.safetensors", "--out", "earlier.safetensors"]
check(subprocess.run(eval_again, capture_output=True, cwd=work).returncode == 1
      and (work / "earlier.safetensors").read_bytes() == (work / "in.safetensors").read_bytes(), "nothing succeeded, nothing is written")
(work / "spec.json").write_text(json.dumps(exp))
check(subprocess.run(eval_again, capture_output=True, cwd=work).returncode == 0 and list(read(work / "earlier.safetensors")) == ["e"], "in place")
run(exp, 5, "absent.safetensors", source="absent.safetensors")
(work / "bad.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
run(exp, 3, "bad.safetensors", source="bad.safetensors")
for words in [["eval"], ["eval", "spec.json"], ["eval", "spec.json", "--in", "x"], ["ops", "extra"]]:
    check(subprocess.run([mercer, *words], capture_output=True, cwd=work).returncode == 2, words)

# Keys that stand twice, in whatever depth; others in the list still run.
twice = '{"op": "neg", "inputs": {"x": "x", "x": "y"}, "outputs": {"out": "o"}}'
once = '{"op": "neg", "inputs": {"x": "x"}, "outputs": {"out": "o"}}'
write(work / "in.safetensors", {"x": ("F32", [2], [1, 2]), "y": ("F32", [2], [3, 4])})
run(twice, 3, "x: stands twice in one object")
out = run("[1, %s, [{}], %s]" % (twice, once), 1, "entry 1: [eval] x: stands twice in one object")
check(list(out) == ["3/o"], "the others ran: %s" % list(out))

# bf16 is read, moved and written as it is; to compute, it is cast.
write(work / "in.safetensors", {"x": ("BF16", [2], [0x3f80, 0xc000]), "g": ("F32", [2], [0.5, 0.25])})
run({"op": "neg", "inputs": {"x": "x"}, "outputs": {"out": "o"}}, 3, "got bf16; use cast")
out = run({"op": "neg", "inputs": {"x": "x"}, "outputs": {"out": "o"}, "dtype": "f32"})
check(out["o"] == ("F32", [2], [-1.0, 2.0]), "computed in f32: %s" % (out["o"],))
out = run({"op": "cast", "inputs": {"x": "g"}, "attrs": {"dtype": "bf16"}, "outputs": {"out": "o"},
           "cotangents": {"out": "g"}, "gradients": {"x": "dx"}})
check(out["dx"] == ("F32", [2], [0.5, 0.25]) and out["o"] == ("BF16", [2], [0x3f00, 0x3e80]), "a cast to bf16: %s" % out)

sys.exit(1 if faults else print("ops and eval behave") or 0)
