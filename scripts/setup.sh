#!/usr/bin/env bash
# Installs what tp needs on Debian 12 and builds it into build/.
#   scripts/setup.sh              install what is missing, configure, build
#   scripts/setup.sh --no-build   install only
#   scripts/setup.sh --configure  install and configure: `ninja -C build tp-compile` may follow
#   scripts/setup.sh --frontends  also PyTorch, JAX and transformers, to export models
set -euo pipefail
. "$(dirname "$0")/command-line.sh"
command_line 0 --no-build --configure --frontends -- "$@"
cd "$(dirname "$0")/.."

packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22
  libclang-rt-22-dev cmake ninja-build ccache python3 python3-pip
  libgtest-dev libopenblas-pthread-dev libdnnl-dev nlohmann-json3-dev libjemalloc-dev
  pkg-config python3-dev python3-venv
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
    grep -q 'install ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  echo "installing: ${missing[*]}"
  sudo=""
  if [ "$(id -u)" -ne 0 ]; then sudo="sudo"; fi
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" > /dev/null
fi
[ "${1:-}" = "--no-build" ] && exit 0

# Installs Python packages into the environment; a download that breaks off is tried again.
pip_install() {
  for pause in 10 30 0; do
    build/venv/bin/pip install --quiet --disable-pip-version-check "$@" && return 0
    sleep "$pause"
  done
  return 1
}

# The Python package: an environment with what it is built with and needs to run.
package=()
if [ -x build/venv/bin/python ] || python3 -m venv build/venv; then
  if pip_install nanobind numpy; then
    package=(-DTP_PYTHON=ON "-DPython_EXECUTABLE=$PWD/build/venv/bin/python")
  else
    echo "no nanobind: the Python package is left out"
  fi
  if [ "${1:-}" = "--frontends" ]; then
    pip_install -r python/frontends.txt || echo "no PyTorch: what exports models is left out"
  fi
fi
cmake --preset release -DCMAKE_PREFIX_PATH=/usr/lib/llvm-22 "${package[@]}" > build.log 2>&1 ||
  { cat build.log; exit 1; }
rm -f build.log
[ "${1:-}" = "--configure" ] && exit 0
cmake --build --preset release

# ptxas makes machine code of the GPU kernels; without it artifacts hold PTX.
scripts/cuda-tools.sh || echo "no ptxas: tests of GPU machine code are left out"
# 6 MB of headers, which the declarations of runtime/cuda are held against.
scripts/check-cuda-headers.py --fetch || echo "no CUDA headers: their test is left out"
