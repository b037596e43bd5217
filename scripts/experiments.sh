#!/bin/sh
# Makes the pages, tables and plots of docs/results/experiments anew (half an hour on two cores).
# scripts/experiments.sh [NAME…]: only these pages. Results of single runs are kept in out/experiments and found again.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p l1forge-cli
to=docs/results/experiments

page() { # page, study, arguments
    page=$1 study=$2
    shift 2
    echo "== $page: l1forge experiment $study $*" >&2
    target/release/l1forge experiment "$study" "$@" --out "out/experiments/$page" >/dev/null
    for ending in csv svg; do
        test ! -e "out/experiments/$page/$study.$ending" || cp "out/experiments/$page/$study.$ending" "$to/$page.$ending"
    done
    awk -v page="$page" -v command="l1forge experiment $study $*" '
        /^`l1forge experiment/ { print "`" command "`"; print ""; print "![" page "](" page ".svg)"; next }
        { print }' "out/experiments/$page/$study.md" >"$to/$page.md"
}

while read -r page study arguments; do
    case " $* " in "  " | *" $page "*) page "$page" "$study" $arguments </dev/null ;; esac
done <<LIST
schemes schemes --scale 1
scope scope --scale 0.3
sms sms --scale 0.3
copies copies --scale 0.3
lookup-ports lookup-ports --scale 1
tuned tuned --scale 1
tuned-large tuned --scale 2
schemes-large schemes --scale 2
queries queries --scale 1
engines engines --scale 0.3
engine-latency engine-latency --scale 0.3
lookup-latency lookup-latency --scale 0.3
return-latency return-latency --scale 0.3
update-bandwidth update-bandwidth --scale 0.3
refresh-period refresh-period --scale 0.3
fills fills --scale 0.3
probes probes --scale 0.5
m m --scale 0.3
k k --scale 0.3
prefetchers prefetchers --scale 1
prt-entries prt-entries --scale 0.3
idle-registers idle-registers --scale 0.3
peb-entries peb-entries --scale 0.3
awt-window awt-window --scale 0.3
sgu-threshold sgu-threshold --scale 0.3
held-out-schemes schemes --scale 0.6 --seed 7
held-out-prefetchers prefetchers --scale 0.4 --seed 7
LIST
