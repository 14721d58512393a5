# Reads the log of `ctest -V` (twice: `awk -v ctest_status=… -f summary.awk log log`) and prints what failed, what was skipped and why,
# and as the last line `N passed, M failed, K skipped`. Exit status 1 if anything failed or nothing ran.
#
# A doctest program counts its test cases; any other test counts one. A test case that lacks something prints a line
# `[skipped] reason` and returns: it is skipped, not passed. One that did less than all prints `[reduced] what`: it
# counts as passed, and the line is repeated. A program that dies counts at least one failure.

function number(text) { sub(/^[ ]*/, "", text); return text + 0 }

# The first reading: results.
NR == FNR && match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) {
    head = substr($0, RSTART, RLENGTH); sub(/.*#/, "", head); id = number(head)
    rest = substr($0, RLENGTH + 1)
    name[id] = rest; sub(/ \.*(\*\*\*|  ).*/, "", name[id])
    if (rest ~ /\*\*\*(Skipped|Not Run \(Disabled\))/) result[id] = "skipped"
    else if (rest ~ / +Passed +[0-9.]+ sec/) result[id] = "passed"
    else result[id] = "failed"
    order[++tests] = id
}
NR == FNR { next }

# The second: what each test said.
match($0, /^[0-9]+: /) {
    id = number($0); line = substr($0, RLENGTH + 1)
    sub(/^[^ ]+: MESSAGE: /, "", line)  # as doctest says it
    if (line ~ /^\[doctest\] test cases:/) {
        split(line, column, "|")
        doctest[id] = 1
        cases_passed[id] += number(column[2])
        cases_failed[id] += number(column[3])
    } else if (line ~ /^\[skipped\]/) {
        skips[id]++
        reasons[++reason_count] = name[id] ": " substr(line, 11)
    } else if (line ~ /^\[reduced\]/) {
        less[++less_count] = name[id] ": " substr(line, 11)
    }
    if (line ~ /^(Test command|Working Directory|Test timeout computed to be): /) next
    if (result[id] == "failed") said[id, ++said_count[id]] = line
}

END {
    for (i = 1; i <= tests; ++i) {
        id = order[i]
        if (result[id] == "skipped") {
            skipped += 1
            if (!skips[id]) reasons[++reason_count] = name[id] ": gave no reason"
            continue
        }
        p = cases_passed[id] - skips[id]
        if (!doctest[id]) p = (result[id] == "passed")
        if (p < 0) p = 0
        f = cases_failed[id] + 0
        if (result[id] == "failed" && f == 0) f = 1
        passed += p; failed += f; skipped += skips[id]
        if (f) {
            printf "\n==== %s failed; it said:\n", name[id]
            first = said_count[id] > 200 ? said_count[id] - 199 : 1
            if (first > 1) printf "(%d lines before these)\n", first - 1
            for (k = first; k <= said_count[id]; ++k) print said[id, k]
        }
    }
    if (reason_count) print "\nSkipped:"
    for (i = 1; i <= reason_count; ++i) print "  " reasons[i]
    if (less_count) print "\nReduced:"
    for (i = 1; i <= less_count; ++i) print "  " less[i]
    if (!tests) print "\nNo test ran."
    else if (ctest_status && !failed) print "\nctest itself failed: status " ctest_status
    if (!failed && (!tests || ctest_status)) failed = 1
    printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
}
