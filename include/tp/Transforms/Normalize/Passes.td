//===- Passes.td - passes of Transforms/Normalize -----------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_NORMALIZE_PASSES_TD
#define TP_TRANSFORMS_NORMALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Normalize : Pass<"tp-normalize", "::mlir::ModuleOp"> {
  let summary = "Makes every dimension atomic: batch, sequence, head, ...";
  let description = [{
    Splits every dimension as finely as some reshape of the program does,
    wherever the dimension occurs. So contractions and elementwise ops work on
    atomic dimensions, and reshapes between them disappear; dimensions of size 1
    disappear too. Reshapes stay at function arguments (views of weights), at
    results, and where two reshapes cut a dimension at places that do not nest.
    Pins move to the finer shape, `shard<d>` to the major factor of view
    dimension d.

    Named linalg ops become generics (`linalg.fill` stays). `linalg.softmax`,
    `linalg.pack` and `linalg.unpack` become the ops they stand for. Sums of f16
    and bf16 are computed in f32 and rounded once, as frameworks do. Inits and
    splat constants get one user each. Dead results and dead code are removed.

    ```mlir
    func.func @main(%x: tensor<2x3x4xf32>, %w: tensor<4x10xf32>) -> tensor<2x3x5x2xf32> {
      %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
      %zero = arith.constant 0.0 : f32
      %init = tensor.empty() : tensor<6x10xf32>
      %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
      %y = linalg.matmul ins(%rows, %w : tensor<6x4xf32>, tensor<4x10xf32>) outs(%fill : tensor<6x10xf32>) -> tensor<6x10xf32>
      %heads = tensor.expand_shape %y [[0, 1], [2, 3]] output_shape [2, 3, 5, 2] : tensor<6x10xf32> into tensor<2x3x5x2xf32>
      return %heads : tensor<2x3x5x2xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
    #map1 = affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>
    #map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
    module {
      func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<4x10xf32>) -> tensor<2x3x5x2xf32> {
        %expanded = tensor.expand_shape %arg1 [[0], [1, 2]] output_shape [4, 5, 2] : tensor<4x10xf32> into tensor<4x5x2xf32>
        %cst = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() : tensor<2x3x5x2xf32>
        %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x3x5x2xf32>) -> tensor<2x3x5x2xf32>
        %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %expanded : tensor<2x3x4xf32>, tensor<4x5x2xf32>) outs(%1 : tensor<2x3x5x2xf32>) {
        ^bb0(%in: f32, %in_0: f32, %out: f32):
          %3 = arith.mulf %in, %in_0 : f32
          %4 = arith.addf %out, %3 : f32
          linalg.yield %4 : f32
        } -> tensor<2x3x5x2xf32>
        return %2 : tensor<2x3x5x2xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
}

def VerifyNormalForm : Pass<"tp-verify-normal-form", "::mlir::ModuleOp"> {
  let summary = "Checks the result of tp-normalize";
  let description = [{
    Fails at an op that works on a dimension that some reshape around it splits
    further.

    ```mlir
    func.func @main(%x: tensor<3x5x7xf32>, %init: tensor<15x7xf32>) -> tensor<15x7xf32> {
      %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
      %y = linalg.exp ins(%rows : tensor<15x7xf32>) outs(%init : tensor<15x7xf32>) -> tensor<15x7xf32>
      return %y : tensor<15x7xf32>
    }
    ```
    is refused:
    ```text
    error: works on 'tensor<15x7xf32>' where 'tensor<3x5x7xf32>' is possible
    ```
  }];
}

#endif // TP_TRANSFORMS_NORMALIZE_PASSES_TD
