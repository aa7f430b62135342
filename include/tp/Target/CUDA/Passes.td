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

def FormAttention : Pass<"tp-form-attention", "::mlir::func::FuncOp"> {
  let summary = "Find attention and rewrite it into steps";
  let description = [{
    Finds softmax(scale * q k^T + bias) v by what elements are computed from,
    however a program reshapes, transposes, broadcasts, casts and fuses, and
    where nothing else uses the scores. Each becomes, for some queries at a
    time, a product, a masked softmax and a product, over the keys that these
    queries can see. A mask that is known at compile time is evaluated and
    becomes bounds on the key's number less the query's; any other becomes a
    tensor that is added. Operands of f16 and bf16 are multiplied as they are
    and added up in f32.

    The attribute `tp.attention` says which attention an op is a step of, from
    which query and key on, and what the whole computes: tp-cuda-compile writes
    such steps as one command (docs/artifact.md). `score-bytes` bounds what the
    scores of one step take; there are at most 64 steps of queries.

    ```mlir
    func.func @main(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
      %zero = arith.constant 0.0 : f32
      %lowest = arith.constant 0xFF800000 : f32
      %e0 = tensor.empty() : tensor<4x6xf32>
      %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %s = linalg.matmul indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
        ins(%q, %k : tensor<4x8xf32>, tensor<6x8xf32>) outs(%f0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %e1 = tensor.empty() : tensor<4xf32>
      %f1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
      %m = linalg.reduce { arith.maximumf } ins(%s : tensor<4x6xf32>) outs(%f1 : tensor<4xf32>) dimensions = [1]
      %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%e0 : tensor<4x6xf32>) dimensions = [1]
      %d = linalg.sub ins(%s, %mb : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %e = linalg.exp ins(%d : tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
      %l = linalg.reduce { arith.addf } ins(%e : tensor<4x6xf32>) outs(%f2 : tensor<4xf32>) dimensions = [1]
      %lb = linalg.broadcast ins(%l : tensor<4xf32>) outs(%e0 : tensor<4x6xf32>) dimensions = [1]
      %p = linalg.div ins(%e, %lb : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %e2 = tensor.empty() : tensor<4x8xf32>
      %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8xf32>) -> tensor<4x8xf32>
      %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f3 : tensor<4x8xf32>) -> tensor<4x8xf32>
      return %o : tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"scoreBytes", "score-bytes", "int64_t", "67108864",
           "The most bytes of scores that one step makes">,
  ];
  let statistics = [
    Statistic<"numFormed", "num-formed", "Attentions found">,
  ];
}

#endif // TP_TARGET_CUDA_PASSES_TD
