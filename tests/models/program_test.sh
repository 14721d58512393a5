#!/usr/bin/env bash
# program_test.sh MERCER: what the program prints, where, and how it exits.
set -uo pipefail
mercer=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
faults=0

fault() {
    echo "FAILED: ${1:0:300}"
    cut -c 1-300 out err | sed 's/^/    /'
    faults=$((faults + 1))
}

# expect STATUS ARGUMENT…: runs with stdout in out and stderr in err
expect() {
    local status=$1 code=0
    shift
    "$mercer" "$@" >out 2>err || code=$?
    if [[ $code != "$status" ]]; then fault "mercer $*: exit status $code instead of $status"; fi
}
holds() { grep -qF -- "$2" "$1" || fault "$1 does not hold: $2"; }
empty() { if [[ -s $1 ]]; then fault "$1 is not empty"; fi; }

expect 0 --version; holds out "mercer "; empty err
expect 0 --help; holds out "demo"; holds out "info"; empty err
expect 0 demo --help; holds out "--epochs"
expect 0 demo smoothers --help; holds out "--inputs"
expect 0 info; holds out "instruction set"; holds out "threads"; holds out "version"; empty err

for wrong in "" "nonsense" "demo --epochs 0" "demo --epochs x" "demo --series moon" "demo --seed -1" \
    "demo --unknown" "demo --epochs 3 smoothers" "demo smoothers --epochs 3" "info extra"; do
    # shellcheck disable=SC2086
    expect 2 $wrong
    empty out
done

expect 2 train; holds err "'train' is no command (there are demo, info, ops, eval)"
expect 2 --quiet train; holds err "'train' is no command"
expect 2 --quiet demo; holds err "--quiet"
expect 2 dem; holds err "did you mean 'demo'?"
expect 2; holds err "(there are demo, info, ops, eval)"
for seed in 18446744073709551616 1e3 0x10 +1 " 1" ""; do
    expect 2 demo --seed "$seed"; empty out
    holds err "--seed: must be a whole number from 0 to 18446744073709551615"
done
for option in --data --trace --out; do expect 2 demo "$option" ""; empty out; holds err "$option: must be the name"; done
expect 2 demo smoothers --inputs ""; empty out; holds err "--inputs: must be the name"
for command in demo "demo smoothers" info ops eval; do
    # shellcheck disable=SC2086
    expect 0 $command --help; holds out "MERCER_GEMM="; holds out "Exit status: 0 ok"
done
MERCER_ISA=bogus expect 3 info; holds err "MERCER_ISA='bogus'"

expect 0 demo --series airline --epochs 3 --out report.html --quiet; empty err
holds out "Airline passengers (thousands): RMSE on 15 test months of 144"
for model in "Linear trend" "Harmonic regression" "Nadaraya–Watson" "Dot-product Transformer" \
    "RBF Transformer"; do
    holds out "$model"
done
if [[ $(tail -n 1 out) != report.html || ! -s report.html ]]; then
    fault "the last line does not name a report"
fi
holds report.html "mercer demo --series airline --epochs 3 --out report.html --quiet"

cp out first
expect 0 demo --series airline --epochs 3 --out report.html --quiet
cmp -s out first || fault "the same seed gave other numbers"
MERCER_THREADS=1 expect 0 demo --series airline --epochs 3 --out report.html --quiet
cmp -s out first || fault "another number of threads gave other numbers"
expect 0 demo --series airline --epochs 3 --out report.html --quiet --seed 1
if cmp -s out first; then fault "another seed gave the same numbers"; fi

expect 0 demo --series airline --epochs 2 --out report.html --quiet --trace trace.json; empty err
python3 - trace.json <<'CHECK' >out 2>err || fault "the trace is not what it should be"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["name"] for e in events if e["ph"] == "X"}
missing = {"matmul", "attend backward", "adam", "epoch", "Airline passengers"} - names
assert not missing, missing
CHECK
expect 5 demo --trace absent/trace.json; empty out; holds err "--trace"
MERCER_CHECK_FINITE=nan expect 0 demo --series airline --epochs 2 --out report.html --quiet; empty err
MERCER_CHECK_FINITE=banana expect 3 demo --series airline --epochs 2 --out report.html --quiet
holds err "MERCER_CHECK_FINITE"

echo month,value >own.csv
for year in 2001 2002 2003; do
    for month in 01 02 03 04 05 06 07 08 09 10 11 12; do
        echo "$year-$month,$((year + 10#$month))" >>own.csv
    done
done
expect 0 demo --data own.csv --epochs 2 --out own.html --quiet
holds out "own (units): RMSE on 3 test months of 36"
expect 2 demo --data own.csv --series co2
python3 -c "
print('month,value')
for i in range(4000): print('%d-%02d,%r' % (1600 + i // 12, i % 12 + 1, i * 0.1 + i % 12))" >long.csv
python3 - "$mercer" <<'CHECK' >out 2>err || fault "many months take memory in their square"
import resource, subprocess, sys
subprocess.run([sys.argv[1], *"demo --data long.csv --epochs 1 --out long.html --quiet".split()], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
assert peak < 700, f"{peak} MB"
CHECK
sed '5s/,.*/,oops/' own.csv >bad.csv
expect 3 demo --data bad.csv; empty out
holds err "bad.csv, line 5, column 2 (value): found “oops”, expected a number"
head -n 5 own.csv >short.csv
expect 3 demo --data short.csv; holds err "cannot be split"
expect 5 demo --data absent.csv; holds err "absent.csv"
expect 5 demo --out absent/report.html; empty out; holds err "absent/report.html"

# Finite data, finite words: no infinite ratios, no quotients of roundings, no number cut short.
months() {  # NAME EXPRESSION of i, the month: 4 years of it
    python3 -c "
import sys
print('month,value')
for i in range(48): print('%d-%02d,%r' % (2001 + i // 12, i % 12 + 1, $2))" >"$1.csv"
}
months zero "0.0"; months constant "0.1"; months line "2.0 * i"; months large "(i * i % 7 + i) * 1e98"
months mostly "1e100 if i in (7, 20, 33) else 0.0"; months small "(i * i % 7 + i + 1) * 1e-100"; months lakh "1e15 + i * 1e12"
for name in zero constant line large mostly small lakh; do
    expect 0 demo --data "$name.csv" --epochs 30 --out "$name.html" --quiet; empty err
    python3 - "$name.html" <<'CHECK' >>out 2>err || fault "$name.csv: nonsense in the report or the table"
import json, re, sys
data = json.loads(re.search('id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
text = open("out").read() + " ".join(data["verdict"])
assert not re.search(r"\b(inf|nan)\b", text), text
assert all(len(word.replace("-", "")) < 15 for word in re.findall(r"[-+0-9.e]+", text)), text
assert "null" not in json.dumps([[m["test_rmse"], m["prediction"], m.get("loss", 0)] for s in data["series"] for m in s["models"]])
CHECK
done
expect 0 demo --data zero.csv --epochs 1 --out zero.html --quiet
grep -qE "Linear trend +0.000 +$" out || fault "a ratio of zeros"
expect 0 demo --data constant.csv --epochs 500 --out constant.html --quiet
if grep -qE "[0-9]{6}|e\+" out; then fault "rounding is taken for a scale"; fi
months huge "1e300"; expect 3 demo --data huge.csv; empty out; holds err "huge.csv, line 2, column 2 (value): found “1e+300”"
months tiny "1e-299"; expect 3 demo --data tiny.csv; empty out; holds err "tiny.csv, line 2"
# A season cannot be fitted to one month of the year, nor to two.
python3 -c "
print('month,value')
for i in range(40): print('%d-01,%d' % (2001 + i, i * i % 7))" >january.csv
expect 3 demo --data january.csv; empty out; holds err "january.csv"; holds err "of 1 month(s) of the year"
sed '2~2s/-01,/-07,/' january.csv >two.csv
expect 3 demo --data two.csv; empty out; holds err "two.csv"; holds err "of 2 month(s) of the year"

# Leading zeros are no octal, and all 64 bits of a seed count.
for seed in 010 10 18446744073709551615 18446744073709551614; do
    expect 0 demo --data own.csv --epochs 1 --out own.html --quiet --seed "$seed"; cp out "seed.$seed"
done
cmp -s seed.010 seed.10 || fault "a leading zero changes the seed"
if cmp -s seed.18446744073709551615 seed.18446744073709551614; then fault "large seeds are cut"; fi

# No file is given twice, by whatever path; nothing is touched.
cp own.csv twice.csv
ln -s twice.csv alias.csv
ln -s . here
same() { expect 2 "$@"; empty out; holds err "are the same file"; cmp -s own.csv twice.csv || fault "$* touched its input"; }
same demo --data twice.csv --out ./twice.csv
same demo --data alias.csv --out twice.csv
same demo --data twice.csv --trace here/twice.csv
same demo --data own.csv --trace new --out here/new
same demo smoothers --inputs new --out "$PWD/new"
same eval twice.csv --in absent --out twice.csv
if [[ -e new ]]; then fault "a file is there after a refusal"; fi
expect 5 demo --data /proc/self/mem; empty out; holds err "/proc/self/mem"
expect 5 eval /proc/self/mem --in absent --out new; holds err "/proc/self/mem"

# What a file or a command line holds moves no cursor; the command in the report can be typed again.
printf 'month,\033[31mred\n2001-01,1\n' >colour.csv
expect 3 demo --data colour.csv; holds err '“\x1b[31mred”'
expect 2 $'a\033[31mb'; holds err 'a\x1b[31mb'
for broken in demo "demo --data" "eval --in b --out c"; do
    # shellcheck disable=SC2086
    "$mercer" $broken $'no\nsuch\nfile' >out 2>err && fault "$broken: accepted"
    holds err 'no\x0asuch\x0afile'
done
if grep -q $'\033' err; then fault "an escape sequence reached the terminal"; fi
odd=$'it\'s {a,b} !x\033.html'
expect 0 demo --data own.csv --epochs 1 --quiet --out "$odd"
python3 - "$odd" <<'CHECK' >out 2>err || fault "the command in the report is not the one that was typed"
import json, re, subprocess, sys
data = json.loads(re.search('id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
words = subprocess.check_output(["bash", "-c", "printf '%s\\0' " + data["command"]], text=True).split("\0")[:-1]
assert words == ["mercer", "demo", "--data", "own.csv", "--epochs", "1", "--quiet", "--out", sys.argv[1]], data["command"]
CHECK

# Output files are written whole, where they may be; links and modes stay, devices and pipes are refused before the work.
# (No test writes to /dev/null: a program that replaced it would break the machine.)
made=(demo --data own.csv --epochs 1 --quiet)
mkfifo pipe
echo precious >kept
ln -s kept link
ln -s loop loop
chmod 640 kept
for option in --out --trace; do
    for file in pipe loop absent/file . "$(printf 'n%.0s' {1..300})" "$(printf 'n%.0s' {1..4200})"; do
        expect 5 "${made[@]}" "$option" "$file"; empty out; holds err "[demo $option]"
    done
    expect 0 "${made[@]}" "$option" link
    if [[ ! -L link || ! -p pipe || $(stat -c %a kept) != 640 ]]; then fault "$option changed a link, a pipe or a mode"; fi
    if grep -q precious kept; then fault "$option did not write through the link"; fi
    echo precious >kept
    expect 0 "${made[@]}" "$option" "$(printf 'n%.0s' {1..255})"
done
if ((UID)); then
    chmod 440 kept
    expect 5 "${made[@]}" --out kept; holds kept precious; holds err "kept"
fi
# What does not fit leaves what was there; the report is written before the trace.
(ulimit -f 1; expect 5 "${made[@]}" --out kept; holds kept precious; holds err "kept"; exit "$faults") || faults=$?
(ulimit -f 600; expect 5 demo --data own.csv --epochs 100 --quiet --out first.html --trace kept; holds kept precious
    holds err "kept"; holds out "own (units)"; exit "$faults") || faults=$?
if [[ ! -s first.html ]]; then fault "a failing trace cost the report"; fi
if compgen -G ".*.tmp" >/dev/null; then fault "a temporary file is left behind"; fi

if [[ -w /dev/full ]]; then
    for command in info --help --version "demo --help"; do
        # shellcheck disable=SC2086
        "$mercer" $command >/dev/full 2>err
        if [[ $? != 5 ]]; then fault "$command: a full disk on stdout was not noticed"; fi
    done
fi

if ((faults)); then exit 1; fi
echo "the program behaves"
