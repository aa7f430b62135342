//===- Passes.td - passes of Target/CUDA -------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_CUDA_PASSES_TD
#define TP_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def CUDACompile : Pass<"tp-cuda-compile", "::mlir::ModuleOp"> {
  let summary = "Make GPU kernels of a per-rank module";
  let description = [{
    Plans a module with one public function on local static shapes as the CPU
    back end does, and makes a GPU kernel of every group of ops that is no GEMM
    and no collective (docs/cuda-kernels.md). `show` says what to print:
    `kernels` and `lowered` replace the module by its kernels before and after
    their lowering to the llvm dialect, `launches` prints a line per kernel,
    `ptx` the assembly for `chip`, `manifest` what an artifact says of the program. `host` writes the kernels, compiled for this
    machine, as a shared object, to be run without a GPU.
  }];
  let options = [
    Option<"show", "show", "std::string", "",
           "'kernels', 'lowered', 'launches', 'ptx' or 'manifest'">,
    Option<"chip", "chip", "std::string", "\"sm_90\"",
           "The GPU: 'sm_80', 'sm_90' or 'sm_100'">,
    Option<"host", "host", "std::string", "",
           "Where to write the kernels for this machine">,
  ];
}

#endif // TP_TARGET_CUDA_PASSES_TD
