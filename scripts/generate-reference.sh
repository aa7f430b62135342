#!/usr/bin/env bash
# Writes docs/reference/ from the .td files.
#   scripts/generate-reference.sh            write
#   scripts/generate-reference.sh --check    fail if what is there is stale
set -euo pipefail
. "$(dirname "$0")/command-line.sh"
command_line 0 --check -- "$@"
cd "$(dirname "$0")/.."
config=$(command -v llvm-config-22 || command -v llvm-config)
tblgen=${MLIR_TBLGEN:-$("$config" --bindir)/mlir-tblgen}
include=$("$config" --includedir)
target=docs/reference
out=$target
[ "${1:-}" = "--check" ] && out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT
mkdir -p "$out"

"$tblgen" -gen-dialect-doc -dialect=tp -I include -I "$include" \
  include/tp/IR/TPOps.td > "$out/dialect.md"
"$tblgen" -gen-op-doc -dialect=tp -I include -I "$include" \
  include/tp/IR/ProgramOps.td > "$out/program.md"
"$tblgen" -gen-op-doc -dialect=tp -I include -I "$include" \
  include/tp/IR/Queues/QueueOps.td > "$out/queues.md"
"$tblgen" -gen-op-doc -dialect=tp -I include -I "$include" \
  include/tp/IR/Custom/CustomOps.td > "$out/custom.md"
"$tblgen" -gen-dialect-doc -dialect=tm_tensor -I include -I "$include" \
  include/tp/IR/TMTensorOps.td > "$out/tm_tensor.md"
"$tblgen" -gen-op-interface-docs -I include -I "$include" \
  include/tp/Interfaces/ShardingRuleInterface.td > "$out/interfaces.md"
: > "$out/passes.md"
for source in $(find include/tp -name Passes.td | LC_ALL=C sort); do
  "$tblgen" -gen-pass-doc -I include -I "$include" "$source" >> "$out/passes.md"
done

if [ "${1:-}" = "--check" ]; then
  diff -r "$out" "$target" > /dev/null || {
    echo "docs/reference is stale; run scripts/generate-reference.sh" >&2
    diff -r "$out" "$target" | head -20 >&2
    exit 1
  }
fi
