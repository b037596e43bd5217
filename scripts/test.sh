#!/usr/bin/env bash
# Installs what is missing, then runs all tests. --full adds the heavy ones (all SM counts, the long runs).
set -euo pipefail
cd "$(dirname "$0")/.."

for arg in "$@"; do
  case "$arg" in
    --full) export L1FORGE_FULL=1 ;;
    *) echo "usage: scripts/test.sh [--full]" >&2; exit 2 ;;
  esac
done

# The same random tests for every change, new ones with --full: a failure is the change's doing, or is looked for on purpose.
[ -n "${L1FORGE_FULL:-}" ] || export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"

./scripts/setup.sh
start=$SECONDS
cargo test --workspace --no-fail-fast
if [ -n "${L1FORGE_FULL:-}" ]; then
  echo "== heavy tests"
  cargo test --workspace --no-fail-fast -- --ignored full_
fi
echo
echo "test.sh: all tests passed in $((SECONDS - start)) s${L1FORGE_FULL:+ (with --full)}."
echo "Verilator builds are cached in ${L1FORGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/l1forge}."
