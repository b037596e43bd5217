#!/usr/bin/env bash
# Installs what is missing, then the main job for 64 SMs: generate, lint, co-simulate against the models, count cells, write a page.
# Usage: scripts/demo.sh [OUTPUT_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-out/demo}

./scripts/setup.sh
echo "== build l1forge"
cargo build --release -p l1forge-cli
forge=target/release/l1forge
step() { echo; echo "== $1"; }

step "1/5 generate the 64-SM C2P-Cache"
"$forge" gen --sms 64 --out "$out"

step "2/5 lint with Verilator, Icarus, Yosys and slang (a minute or two)"
"$forge" lint --sms 64 --json >"$out/lint.json"
python3 - "$out/lint.json" <<'P'
import json, sys
for r in json.load(open(sys.argv[1])):
    print(f"  {r['tool']}: {'silent' if r['ok'] else 'NOT SILENT'} ({r['version']})")
P

step "3/5 co-simulate: all 64 SMs contend, RTL and model in lockstep (building the simulator takes some minutes the first time)"
"$forge" cosim --sms 64 --workload contend --json >"$out/cosim.json"
python3 - "$out/cosim.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
print(f"  {r['cycles']} cycles, {r['transactions']} misses, {r['mismatches']} mismatches, balanced: {r['balanced']}")
P

step "4/5 map to standard cells: area, memories, LUTs; place the engine pool (some minutes)"
"$forge" synth --sms 64 --fpga --out "$out" >"$out/synth.txt"
sed -n '/^cost/,$p' "$out/synth.txt"
"$forge" place --sms 64 --block engine_pool --out "$out"

step "5/5 report page"
"$forge" report "$out"

echo
echo "demo.sh: done in $((SECONDS / 60)) min $((SECONDS % 60)) s."
echo "  Verilog        $out/rtl, file list $out/filelist.f, manifest $out/manifest.json"
echo "  lint report    $out/lint.json"
echo "  lockstep       $out/cosim.json"
echo "  area           $out/synth.txt, $out/area.md, $out/area.svg, $out/synth.json"
echo "  placement      $out/placement.svg, scripts for OpenROAD in $out/openroad"
echo "  page           $out/report.html"
