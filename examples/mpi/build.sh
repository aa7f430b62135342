#!/usr/bin/env bash
# Makes a rank's program a shared library that calls MPI, with upstream's passes.
#   examples/mpi/build.sh LOCAL-PROGRAM.mlir PROGRAM.so
# LOCAL-PROGRAM.mlir is what tp-partition leaves. MPICC names another tool than mpicc, LLVM the
# folder of LLVM.
set -euo pipefail
. "$(dirname "$0")/../../scripts/command-line.sh"
command_line 2 -- "$@"
[ $# -eq 2 ] || refuse "expected a program and a library, got $# words"
llvm=${LLVM:-$("$(command -v llvm-config-22 || command -v llvm-config)" --prefix)}
name=${2%.so}
implementation=MPICH
case $("${MPICC:-mpicc}" -show) in *mpich*) ;; *) implementation=OpenMPI ;; esac

passes=(
  --tp-lower-to-mpi=implementation=$implementation
  # Tensors become buffers. `main` gets a pointer to each result.
  "--one-shot-bufferize=bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"
  "--buffer-results-to-out-params=modify-public-functions hoist-static-allocs"
  --convert-linalg-to-loops
  # Before buffers are freed: that pass refuses ops whose effects it does not know, as those of mpi.
  --convert-to-llvm=filter-dialects=mpi
  --buffer-deallocation-pipeline
  --expand-strided-metadata --lower-affine
  --math-expand-ops=ops=fpowi --arith-expand=include-bf16
  --convert-scf-to-cf
  --convert-func-to-llvm=use-bare-ptr-memref-call-conv
  --convert-to-llvm --reconcile-unrealized-casts
)
tp-opt "$1" "${passes[@]}" -o "$name.llvm.mlir"
"$llvm/bin/mlir-translate" --mlir-to-llvmir "$name.llvm.mlir" -o "$name.ll"
"$llvm/bin/clang" -O2 -fPIC -Wno-override-module -c "$name.ll" -o "$name.o"
# Upstream's names of Open MPI's reductions are not those of its library.
redefine=()
if [ $implementation = OpenMPI ]; then
  for kind in sum prod max min; do redefine+=("--redefine-sym=ompi_mpi_$kind=ompi_mpi_op_$kind"); done
fi
"$llvm/bin/llvm-objcopy" "${redefine[@]}" "$name.o"
# The copy of a strided buffer is a function of the runner's library.
OMPI_CC="$llvm/bin/clang" MPICH_CC="$llvm/bin/clang" "${MPICC:-mpicc}" -shared "$name.o" -o "$2" \
  "$llvm/lib/libmlir_c_runner_utils.so" -Wl,-rpath,"$llvm/lib" -lm
