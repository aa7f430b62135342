#!/usr/bin/env bash
# Builds the runtime, tp-run and their tests with sanitizers and runs the tests.
# No LLVM library is needed, and nothing but the libraries for matrix products
# is left uninstrumented.
#
#   scripts/sanitize-runtime.sh [address] [thread]     default: both
#
# address: with undefined behaviour; thread: data races between ranks that are
# threads. Builds go to build-sanitize-*; each step ends after 20 minutes.
set -euo pipefail
. "$(dirname "$0")/command-line.sh"
command_line 2 -- "$@"
cd "$(dirname "$0")/.."
steps=("$@")
if [ $# -eq 0 ]; then
  steps=(address thread)
fi

# Crashes that tests cause are the tool's to report. Leaks are looked for where
# the process may be traced.
common=handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0
export ASAN_OPTIONS="$common:detect_leaks=0:detect_stack_use_after_return=1"
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS="$common:halt_on_error=1:second_deadlock_stack=1"

# A sanitizer's shadow is larger than any limit of the address space.
skipped=HostTest.AddressSpaceLimit:CApiMemoryTest.*
failed=0
for step in "${steps[@]}"; do
  case "$step" in
    address) flags="-fsanitize=address,undefined -fno-sanitize-recover=all" ;;
    thread) flags="-fsanitize=thread" ;;
    *) refuse "unknown step '$step', expected address or thread" ;;
  esac
  build="build-sanitize-runtime-$step"
  # Assertions of the C++ library are on as well.
  cmake -S runtime -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS="-O1 -g1 $flags" \
    -DCMAKE_CXX_FLAGS="-O1 -g1 -D_GLIBCXX_ASSERTIONS $flags" > /dev/null
  ninja -C "$build" tp-run tp-runtime-tests
  if timeout 1200 "$build/bin/tp-runtime-tests" --gtest_brief=1 \
      --gtest_filter="-$skipped"; then
    echo "sanitize-runtime $step: passed"
  else
    echo "sanitize-runtime $step: FAILED"
    failed=1
  fi
done
exit $failed
