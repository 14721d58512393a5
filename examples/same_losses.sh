#!/usr/bin/env bash
# same_losses.sh PROGRAM PROGRAM: both print "step N: … loss X"; the numbers agree to 10 digits.
set -euo pipefail
losses() { "$1" | sed -nE 's/^step +([0-9]+):.* loss ([0-9.]{12}).*/\1 \2/p'; }
a=$(losses "$1") b=$(losses "$2")
if [[ -z $a || $a != "$b" ]]; then
    printf 'losses differ:\n%s\n--\n%s\n' "$a" "$b"
    exit 1
fi
echo "$(wc -l <<<"$a") losses agree"
