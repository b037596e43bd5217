#!/usr/bin/env bash
# Builds CACTI 7 in .cacti, from the sources in the wheel hwcomponents-cacti on PyPI (MIT; CACTI: HP's permissive licence).
# Only needed for memories of shapes that the embedded table (synth/lib/cacti.csv) does not have. Then: export CACTI=$PWD/.cacti/cacti
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -x .cacti/cacti ] && .cacti/cacti 2>&1 | grep -qi usage; then
  echo "setup-cacti: .cacti/cacti is there"
  exit 0
fi
command -v g++ >/dev/null || { echo "setup-cacti: g++ is missing; install it with: apt-get install g++ make" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip=.venv/bin/pip
[ -x "$pip" ] || { python3 -m venv .venv || /usr/bin/python3 -m venv .venv; }
"$pip" download -q --disable-pip-version-check --no-deps --python-version 3.12 --only-binary=:all: -d "$work" hwcomponents-cacti==1.0.40
python3 -m zipfile -e "$work"/hwcomponents_cacti-*.whl "$work"
rm -f "$work/hwcomponents_cacti/cacti/cacti"
make -s -C "$work/hwcomponents_cacti/cacti" opt -j2 >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; echo "setup-cacti: make failed" >&2; exit 2; }
rm -rf .cacti
mv "$work/hwcomponents_cacti/cacti" .cacti
echo "setup-cacti: built .cacti/cacti; use it with: export CACTI=$PWD/.cacti/cacti"
