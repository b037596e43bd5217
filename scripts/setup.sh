#!/usr/bin/env bash
# Installs what demo.sh and test.sh need and is missing: Debian packages, pyslang and coloquinte in .venv.
# Does nothing, quickly, when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo >/dev/null || { echo "setup: Rust is missing; install it from https://rustup.rs" >&2; exit 2; }

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); } # need COMMAND PACKAGE
need verilator verilator
need yosys yosys
need iverilog iverilog
need g++ g++
need make make
need ccache ccache
need xz xz-utils
need z3 z3
need sta opensta
need tclsh tcl
[ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! .venv/bin/python -c 'import pyslang' 2>/dev/null; then
  echo "setup: installing pyslang in .venv"
  python3 -m venv .venv || /usr/bin/python3 -m venv .venv
  .venv/bin/pip install -q --disable-pip-version-check "pyslang>=9,<12"
fi

if ! .venv/bin/python -c 'import coloquinte' 2>/dev/null; then
  echo "setup: installing coloquinte in .venv"
  .venv/bin/pip install -q --disable-pip-version-check "coloquinte==0.4.1"
fi
