//===- Passes.td - passes of Codegen/CUDA ------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CUDA_PASSES_TD
#define TP_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def CUDACompile : Pass<"tp-cuda-compile", "::mlir::ModuleOp"> {
  let summary = "Compile a per-rank module to GPU kernels";
  let description = [{
    Plans a module with one public function on local static shapes as the CPU
    back end does, and emits a GPU kernel for every fused kernel of the plan;
    GEMMs and collectives have none (docs/cuda-kernels.md). `show` selects the
    output: `kernels` and `lowered` replace the module by its kernels before and
    after their lowering to the llvm dialect, `launches` prints a line per kernel,
    `ptx` the assembly for `chip`, `manifest` the manifest of an artifact. `host`
    writes the kernels, compiled for this machine, as a shared object that runs
    without a GPU; with `accesses` these kernels report every access to memory.

    ```mlir
    // tp-opt --tp-cuda-compile=show=launches
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %0 = tensor.empty() : tensor<6xf32>
      %y = linalg.exp ins(%x : tensor<6xf32>) outs(%0 : tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    ```
    prints
    ```text
    {"block":[128,1,1],"buffers":[{"bytes":24,"index":0,"offset":0,"space":"argument"},{"bytes":24,"index":0,"offset":0,"space":"result"} ],"bytes":48,"flops":6,"function":"tp_kernel_0","grid":[2,1,1],"scratch_bytes":0,"shared_bytes":0}
    ```
  }];
  let options = [
    Option<"show", "show", "std::string", "",
           "'kernels', 'lowered', 'launches', 'ptx' or 'manifest'">,
    Option<"chip", "chip", "std::string", "\"sm_90\"",
           "The GPU: 'sm_80', 'sm_90' or 'sm_100'">,
    Option<"host", "host", "std::string", "",
           "Where to write the kernels for this machine">,
    Option<"accesses", "accesses", "bool", "false",
           "Kernels for this machine report what they access">,
  ];
}

def CUDAReductionTypes : Pass<"tp-cuda-reduction-types", "::mlir::ModuleOp"> {
  let summary = "Reduce over ranks in types that NCCL has";
  let description = [{
    Maxima and minima of floats become those of integers that order in the same
    way, NaN included; sums of f8 become sums of f32, and numbers of i16 become
    i32. What the collective gives is turned back (docs/cuda.md).

    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<4xi16>) -> tensor<4xi16> {
        %y = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xi16> -> tensor<4xi16>
        return %y : tensor<4xi16>
      }
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<4xi16>) -> tensor<4xi16> {
        %0 = tensor.empty() : tensor<4xi32>
        %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi16>) outs(%0 : tensor<4xi32>) {
        ^bb0(%in: i16, %out: i32):
          %5 = arith.extsi %in : i16 to i32
          linalg.yield %5 : i32
        } -> tensor<4xi32>
        %2 = tp.all_reduce sum %1 over <#mesh, ["tp"]> : tensor<4xi32> -> tensor<4xi32>
        %3 = tensor.empty() : tensor<4xi16>
        %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%2 : tensor<4xi32>) outs(%3 : tensor<4xi16>) {
        ^bb0(%in: i32, %out: i16):
          %5 = arith.trunci %in : i32 to i16
          linalg.yield %5 : i16
        } -> tensor<4xi16>
        return %4 : tensor<4xi16>
      }
    }
    ```
  }];
}

def FormAttention : Pass<"tp-form-attention", "::mlir::func::FuncOp"> {
  let summary = "Find attention and rewrite it into steps";
  let description = [{
    Finds softmax(scale * q k^T + bias) v whose scores have no other use. The pass
    compares the scalar expressions of elements, so reshapes, transposes,
    broadcasts, casts and fusions of the program do not matter. An attention
    becomes steps, one for each query block: a contraction, a masked softmax and a
    contraction, over the keys that these queries attend to. A mask that is known
    at compile time becomes bounds on the key's index minus the query's; any other
    mask becomes a tensor that is added. Operands of f16 and bf16 are multiplied
    as they are, and the products are added in f32.

    The attribute `tp.attention` on an op names its attention, its first query and
    key, and what the whole attention computes. tp-cuda-compile writes the steps
    of one attention as one command (docs/artifact.md). `score-bytes` limits the
    bytes of the scores of one step; there are at most 64 query blocks.

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
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    #map3 = affine_map<(d0, d1) -> (d0, d1)>
    #map4 = affine_map<(d0, d1) -> (d0)>
    #map5 = affine_map<(d0, d1, d2) -> (d2, d1)>
    module {
      func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<6x8xf32>, %arg2: tensor<6x8xf32>) -> tensor<4x8xf32> {
        %0 = tensor.empty() : tensor<4x6xf32>
        %cst = arith.constant 0.000000e+00 : f32
        %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
        %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<6x8xf32>) outs(%1 : tensor<4x6xf32>) attrs =  {tp.attention = {batch = 0 : i64, id = 0 : i64, key = 0 : i64, keys = 6 : i64, queries = 4 : i64, query = 0 : i64, role = "scores", scale = 1.000000e+00 : f64}} {
        ^bb0(%in: f32, %in_3: f32, %out: f32):
          %16 = arith.mulf %in, %in_3 : f32
          %17 = arith.addf %out, %16 : f32
          linalg.yield %17 : f32
        } -> tensor<4x6xf32>
        %cst_0 = arith.constant 0xFF800000 : f32
        %3 = tensor.empty() : tensor<4xf32>
        %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<4xf32>) -> tensor<4xf32>
        %5 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<4x6xf32>) outs(%4 : tensor<4xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "largest"}} {
        ^bb0(%in: f32, %out: f32):
          %16 = arith.maximumf %in, %out : f32
          linalg.yield %16 : f32
        } -> tensor<4xf32>
        %6 = tensor.empty() : tensor<4x6xf32>
        %7 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%2, %5 : tensor<4x6xf32>, tensor<4xf32>) outs(%6 : tensor<4x6xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "exponential"}} {
        ^bb0(%in: f32, %in_3: f32, %out: f32):
          %16 = arith.subf %in, %in_3 : f32
          %17 = math.exp %16 : f32
          linalg.yield %17 : f32
        } -> tensor<4x6xf32>
        %cst_1 = arith.constant 0.000000e+00 : f32
        %8 = tensor.empty() : tensor<4xf32>
        %9 = linalg.fill ins(%cst_1 : f32) outs(%8 : tensor<4xf32>) -> tensor<4xf32>
        %10 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%7 : tensor<4x6xf32>) outs(%9 : tensor<4xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "sum"}} {
        ^bb0(%in: f32, %out: f32):
          %16 = arith.addf %in, %out : f32
          linalg.yield %16 : f32
        } -> tensor<4xf32>
        %11 = tensor.empty() : tensor<4x6xf32>
        %12 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%7, %10 : tensor<4x6xf32>, tensor<4xf32>) outs(%11 : tensor<4x6xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "weights"}} {
        ^bb0(%in: f32, %in_3: f32, %out: f32):
          %16 = arith.divf %in, %in_3 : f32
          linalg.yield %16 : f32
        } -> tensor<4x6xf32>
        %13 = tensor.empty() : tensor<4x8xf32>
        %cst_2 = arith.constant 0.000000e+00 : f32
        %14 = linalg.fill ins(%cst_2 : f32) outs(%13 : tensor<4x8xf32>) -> tensor<4x8xf32>
        %15 = linalg.generic {indexing_maps = [#map, #map5, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%12, %arg2 : tensor<4x6xf32>, tensor<6x8xf32>) outs(%14 : tensor<4x8xf32>) attrs =  {tp.attention = {batch = 0 : i64, id = 0 : i64, key = 0 : i64, query = 0 : i64, role = "output"}} {
        ^bb0(%in: f32, %in_3: f32, %out: f32):
          %16 = arith.mulf %in, %in_3 : f32
          %17 = arith.addf %out, %16 : f32
          linalg.yield %17 : f32
        } -> tensor<4x8xf32>
        return %15 : tensor<4x8xf32>
      }
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

#endif // TP_CODEGEN_CUDA_PASSES_TD
