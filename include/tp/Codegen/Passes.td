//===- Passes.td - passes of Codegen -----------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_PASSES_TD
#define TP_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeGemms : Pass<"tp-merge-gemms", "::mlir::ModuleOp"> {
  let summary = "Merge products that read one matrix with weights of their own";
  let description = [{
    Products that read the same A, each with a parameter as B, become one product
    with all these parameters: q, k and v of an attention, gate and up of a
    feed-forward block. What they made are slices of its result. The function is
    that of one rank, after tp-partition, so a parameter may be sharded in any
    way, and the parts may differ in size and layout.

    The parameters are not copied. They stay arguments of their names, types and
    layouts, and lie in one memory, one behind the other. The function gets an
    argument for that memory, behind all others: its `tp.joined` are the numbers of
    the parameters. `tp.permutation` of a parameter is the order of its dimensions
    there, where that is not theirs: those of the columns of the result come first.

    A product is left alone if its parameter is read elsewhere too or updated by a
    result, if a collective or the caller reads its result, if its iterations are
    masked, or if a GEMM of the target adds to its sums or applies a function to
    them. Products far apart are left alone too: one that the program computes
    behind two contractions, one of the other, of what the first made.

    `target` is `cpu` or `cuda`.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
        %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> tensor<4x6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4x6xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
      %g = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
      %u = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
      %y = linalg.mul ins(%g, %u : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    module {
      func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<6x8xf32> {tp.kind = "parameter", tp.name = "gate"}, %arg2: tensor<6x8xf32> {tp.kind = "parameter", tp.name = "up"}, %arg3: tensor<12x8xf32> {tp.joined = array<i64: 1, 2>}) -> tensor<4x6xf32> {
        %cst = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() : tensor<4x6xf32>
        %1 = tensor.empty() : tensor<4x12xf32>
        %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<4x12xf32>) -> tensor<4x12xf32>
        %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg3 : tensor<4x8xf32>, tensor<12x8xf32>) outs(%2 : tensor<4x12xf32>) {
        ^bb0(%in: f32, %in_1: f32, %out: f32):
          %5 = arith.mulf %in, %in_1 : f32
          %6 = arith.addf %out, %5 : f32
          linalg.yield %6 : f32
        } -> tensor<4x12xf32>
        %extracted_slice = tensor.extract_slice %3[0, 0] [4, 6] [1, 1] : tensor<4x12xf32> to tensor<4x6xf32>
        %extracted_slice_0 = tensor.extract_slice %3[0, 6] [4, 6] [1, 1] : tensor<4x12xf32> to tensor<4x6xf32>
        %4 = linalg.mul ins(%extracted_slice, %extracted_slice_0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
        return %4 : tensor<4x6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FormProgram : Pass<"tp-form-program", "::mlir::ModuleOp"> {
  let summary = "Turn a rank's function on tensors into commands on memory";
  let description = [{
    Decides which values are stored and in what element order, which contractions
    are GEMMs and what their epilogues are, which ops form one kernel, and the
    order of all commands. The function then takes and returns memrefs, and its
    body is allocations and commands (tp/IR/ProgramOps.td). Ops that a kernel
    evaluates are copied into it. Nothing has an offset yet.

    `target` is `cpu` or `cuda`. An attention becomes a `tp.attention`; for `cuda`
    the commands that compute it without a library are inside.

    ```mlir
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %0 = tensor.empty() : tensor<6xf32>
      %y = linalg.exp ins(%x : tensor<6xf32>) outs(%0 : tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<6xf32>) -> memref<6xf32> {
        %0 = tp.alloc : memref<6xf32>
        tp.kernel reads(%arg0 : memref<6xf32>) writes(%0 : memref<6xf32>) {
        ^bb0(%arg1: memref<6xf32>, %arg2: memref<6xf32>):
          %1 = bufferization.to_tensor %arg1 : memref<6xf32> to tensor<6xf32>
          %2 = tensor.empty() : tensor<6xf32>
          %3 = linalg.exp ins(%1 : tensor<6xf32>) outs(%2 : tensor<6xf32>) -> tensor<6xf32>
          %4 = tp.compute %3 into %arg2 : tensor<6xf32> into memref<6xf32>
        }
        return %0 : memref<6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
    Option<"scoreBytes", "score-bytes", "int64_t", "67108864",
           "Limit of the bytes of scores in one attention step; 0 leaves "
           "attention to GEMMs and kernels">,
  ];
}

def PlanMemory : Pass<"tp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every allocation and constant of a program an offset";
  let description = [{
    Allocations that no command needs at the same time share memory. A value may
    also take over the memory of an operand that its command reads last, if every
    element is read before the one in its place is written. Offsets are multiples
    of 64 bytes for the CPU and of 256 for `target=cuda`. Results and arguments
    have memory of their own.

    Offsets that a program has already are kept if all allocations have one; an
    error tells which two overlap while both are needed.

    ```mlir
    func.func @main(%x: memref<4x4xf32>) -> memref<4x4xf32> {
      %0 = tp.alloc : memref<4x4xf32>
      tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      %1 = tp.alloc : memref<4x4xf32>
      tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
      ^bb0(%arg0: memref<4x4xf32>, %arg1: memref<4x4xf32>):
        %3 = bufferization.to_tensor %arg0 : memref<4x4xf32> to tensor<4x4xf32>
        %4 = tensor.empty() : tensor<4x4xf32>
        %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
        %6 = tp.compute %5 into %arg1 : tensor<4x4xf32> into memref<4x4xf32>
      }
      %2 = tp.alloc : memref<4x4xf32>
      tp.gemm %1, %x into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      return %2 : memref<4x4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<4x4xf32>) -> memref<4x4xf32> {
        %0 = tp.alloc at 0 : memref<4x4xf32>
        tp.gemm %arg0, %arg0 into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        %1 = tp.alloc at 0 : memref<4x4xf32>
        tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
        ^bb0(%arg1: memref<4x4xf32>, %arg2: memref<4x4xf32>):
          %3 = bufferization.to_tensor %arg1 : memref<4x4xf32> to tensor<4x4xf32>
          %4 = tensor.empty() : tensor<4x4xf32>
          %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
          %6 = tp.compute %5 into %arg2 : tensor<4x4xf32> into memref<4x4xf32>
        }
        %2 = tp.alloc : memref<4x4xf32>
        tp.gemm %1, %arg0 into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        return %2 : memref<4x4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

#endif // TP_CODEGEN_PASSES_TD
