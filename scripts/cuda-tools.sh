#!/usr/bin/env bash
# Fetches NVIDIA's assembler ptxas, 37 MB, into build/cuda-tools.
#   scripts/cuda-tools.sh [BUILD]
set -euo pipefail
. "$(dirname "$0")/command-line.sh"
command_line 1 -- "$@"
cd "$(dirname "$0")/.."
folder="${1:-build}/cuda-tools"
[ -x "$folder/nvidia/cu13/bin/ptxas" ] && exit 0
python3 -m pip install --quiet --no-deps --disable-pip-version-check \
  --root-user-action=ignore --target "$folder" nvidia-cuda-nvcc==13.0.88
