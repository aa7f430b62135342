#!/bin/sh
# Asks a real cuDNN for plans of the attentions that tp would give it, without a
# device: for every form and chip a line says what the library answered.
#
#   scripts/check-cudnn.sh [folder of libcudnn.so.9 ...] [artifact.tp ...]
#
# With artifacts it asks for their attentions, else for those of a list.
# The folders hold libcudnn.so.9 and what it needs (libnvrtc, libcublasLt), as
# the wheels nvidia-cudnn-cu13, nvidia-cuda-nvrtc and nvidia-cublas have them.
# Without any the loader's own places are searched. No code runs on a device: a
# small libcuda.so.1, made here, says that it has loaded what was compiled.
set -eu
. "$(dirname "$0")/command-line.sh"
command_line 1000 -- "$@"
program=$(dirname "$0")/../build/bin/tp-cudnn-plans
[ -x "$program" ] || { echo "build $program first: ninja -C build tp-cudnn-plans" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/driver.c" <<'C'
int cuLibraryLoadData(void **made) { *made = made; return 0; }
int cuLibraryGetKernel(void **made) { *made = made; return 0; }
int cuKernelGetFunction(void **made) { *made = made; return 0; }
int cuModuleLoadData(void **made) { *made = made; return 0; }
int cuModuleGetFunction(void **made) { *made = made; return 0; }
/* CUDA_ERROR_STUB_LIBRARY, as NVIDIA's own answers. */
#define OTHER(NAME) int NAME(void) { return 34; }
OTHER(cuGetErrorName) OTHER(cuGetErrorString) OTHER(cuCtxGetCurrent)
OTHER(cuCtxGetLimit) OTHER(cuCtxPopCurrent) OTHER(cuCtxPushCurrent)
OTHER(cuStreamGetCtx) OTHER(cuDriverGetVersion) OTHER(cuLinkCreate)
OTHER(cuLinkAddData) OTHER(cuLinkComplete) OTHER(cuLinkDestroy)
OTHER(cuLaunchKernel) OTHER(cuLaunchCooperativeKernel) OTHER(cuLaunchKernelEx)
OTHER(cuDeviceGetCount) OTHER(cuDeviceGet) OTHER(cuLibraryLoadFromFile)
OTHER(cuLibraryUnload) OTHER(cuKernelSetAttribute) OTHER(cuKernelGetAttribute)
OTHER(cuOccupancyMaxPotentialClusterSize) OTHER(cuModuleUnload)
OTHER(cuTensorMapEncodeIm2col) OTHER(cuTensorMapEncodeTiled)
C
"${CC:-cc}" -shared -fPIC -o "$folder/libcuda.so.1" "$folder/driver.c"
places=$folder
count=$#
for place in "$@"; do
  if [ -d "$place" ]; then
    places=$places:$(cd "$place" && pwd)
  else
    set -- "$@" "$(realpath "$place")"
  fi
done
shift "$count"
LD_LIBRARY_PATH=$places${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$program" "$@"
