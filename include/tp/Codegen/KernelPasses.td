//===- KernelPasses.td - passes on the kernels of programs -*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They decide what the compute loops of kernels visit, and which share a
// kernel. Passes.td includes them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_KERNELPASSES_TD
#define TP_CODEGEN_KERNELPASSES_TD

include "mlir/Pass/PassBase.td"

def FormScatters : Pass<"tp-form-scatters", "::mlir::ModuleOp"> {
  let summary = "Visit only the elements that updates are for";
  let description = [{
    Programs write a scatter, such as the gradient of an embedding, as a reduction
    over all updates: where an element's index equals the place of an update, the
    update is added to it, and else nothing is. That says everything that layouts
    depend on, but each element asks each update. Where the reduction shows which
    element an update is for, the compute loop says so (`scatter`), and the kernel
    runs over the updates alone: for n updates of w numbers to m rows, n w and m w
    steps instead of n m w.

    It is shown by a comparison of integers for equality in what the body computes,
    of which one side has the index of a parallel loop, plus a number that does not
    depend on it, and which leaves all accumulators as they are where it does not
    hold. Several loops may have such comparisons: places with several coordinates.
    Places may be computed, shifted and masked in any way; one that is no index of
    the loop changes nothing. Sums, products, minima, maxima, bitwise operations and
    writes are scatters alike, and each element still takes its updates in their
    order.

    Loops of fewer than 8 iterations together stay as they are, and compute loops
    whose kernel has others already, or where another op checks something.

    ```mlir
    func.func @main(%g: memref<6x8xf32>, %ids: memref<6xi64>) -> memref<100x8xf32> {
      %0 = tp.alloc : memref<100x8xf32>
      tp.kernel reads(%g, %ids : memref<6x8xf32>, memref<6xi64>) writes(%0 : memref<100x8xf32>) {
      ^bb0(%arg0: memref<6x8xf32>, %arg1: memref<6xi64>, %arg2: memref<100x8xf32>):
        %1 = bufferization.to_tensor %arg0 : memref<6x8xf32> to tensor<6x8xf32>
        %2 = bufferization.to_tensor %arg1 : memref<6xi64> to tensor<6xi64>
        %none = arith.constant -0.0 : f32
        %zeros = arith.constant dense<0.0> : tensor<100x8xf32>
        %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%1, %2 : tensor<6x8xf32>, tensor<6xi64>) outs(%zeros : tensor<100x8xf32>) {
        ^bb1(%update: f32, %id: i64, %sum: f32):
          %5 = linalg.index 0 : index
          %6 = arith.index_cast %5 : index to i64
          %7 = arith.cmpi eq, %6, %id : i64
          %8 = arith.select %7, %update, %none : f32
          %9 = arith.addf %sum, %8 : f32
          linalg.yield %9 : f32
        } -> tensor<100x8xf32>
        %4 = tp.compute %3 rows [0] into %arg2 : tensor<100x8xf32> into memref<100x8xf32>
      }
      return %0 : memref<100x8xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d2, d1)>
    #map1 = affine_map<(d0, d1, d2) -> (d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    #map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
    module {
      func.func @main(%arg0: memref<6x8xf32>, %arg1: memref<6xi64>) -> memref<100x8xf32> {
        %0 = tp.alloc : memref<100x8xf32>
        tp.kernel reads(%arg0, %arg1 : memref<6x8xf32>, memref<6xi64>) writes(%0 : memref<100x8xf32>) {
        ^bb0(%arg2: memref<6x8xf32>, %arg3: memref<6xi64>, %arg4: memref<100x8xf32>):
          %1 = bufferization.to_tensor %arg2 : memref<6x8xf32> to tensor<6x8xf32>
          %2 = bufferization.to_tensor %arg3 : memref<6xi64> to tensor<6xi64>
          %cst = arith.constant -0.000000e+00 : f32
          %cst_0 = arith.constant dense<0.000000e+00> : tensor<100x8xf32>
          %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1, %2 : tensor<6x8xf32>, tensor<6xi64>) outs(%cst_0 : tensor<100x8xf32>) {
          ^bb0(%in: f32, %in_1: i64, %out: f32):
            %7 = linalg.index 0 : index
            %8 = arith.index_cast %7 : index to i64
            %9 = arith.cmpi eq, %8, %in_1 : i64
            %10 = arith.select %9, %in, %cst : f32
            %11 = arith.addf %out, %10 : f32
            linalg.yield %11 : f32
          } -> tensor<100x8xf32>
          %4 = tensor.empty() : tensor<1x1x6xi64>
          %5 = linalg.generic {indexing_maps = [#map3], iterator_types = ["parallel", "parallel", "parallel"]} outs(%4 : tensor<1x1x6xi64>) {
          ^bb0(%out: i64):
            %7 = linalg.index 2 : index
            %extracted = tensor.extract %2[%7] : tensor<6xi64>
            linalg.yield %extracted : i64
          } -> tensor<1x1x6xi64>
          %6 = tp.compute %3 into %arg4 scatter [0] at %5 : tensor<100x8xf32> into memref<100x8xf32> at tensor<1x1x6xi64>
        }
        return %0 : memref<100x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

def FormKernels : Pass<"tp-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Make one kernel of several, and order all commands";
  let description = [{
    A kernel of one compute loop joins the kernel of one of its producers, if
    everything that it reads of that kernel was written in the same row and no
    other command has to run between them. Two reductions that read the same rows
    of a value share a kernel too. What only one kernel uses then needs no memory:
    it is held in registers, or in a `tp.scratch` of the row. A kernel of several
    compute loops, or of a part of a value, stays as it is.

    The order of the commands respects what each reads and writes. Of the commands
    that may run next, the one comes first that is needed first: by its last compute
    loop, or by a command that waits for it. So a kernel of the forward pass that
    something of the backward pass has joined stays in the forward pass, and what
    does not wait for it, such as gathers of later layers, stays behind it. What no
    command reads, such as an update, runs right behind what it reads; on devices not
    behind a message, which other commands hide. Steps of an attention stay in the
    attention.

    `target` is `cpu` or `cuda`. Allocations have no offsets: that is an error.

    ```mlir
    func.func @main(%x: memref<4x8xf32>) -> memref<4xf32> {
      %0 = tp.alloc : memref<4x8xf32>
      tp.kernel reads(%x : memref<4x8xf32>) writes(%0 : memref<4x8xf32>) {
      ^bb0(%arg0: memref<4x8xf32>, %arg1: memref<4x8xf32>):
        %2 = bufferization.to_tensor %arg0 : memref<4x8xf32> to tensor<4x8xf32>
        %3 = tensor.empty() : tensor<4x8xf32>
        %4 = linalg.exp ins(%2 : tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) -> tensor<4x8xf32>
        %5 = tp.compute %4 into %arg1 : tensor<4x8xf32> into memref<4x8xf32>
      }
      %1 = tp.alloc : memref<4xf32>
      tp.kernel reads(%0 : memref<4x8xf32>) writes(%1 : memref<4xf32>) {
      ^bb0(%arg0: memref<4x8xf32>, %arg1: memref<4xf32>):
        %2 = bufferization.to_tensor %arg0 : memref<4x8xf32> to tensor<4x8xf32>
        %zero = arith.constant 0.0 : f32
        %3 = tensor.empty() : tensor<4xf32>
        %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<4xf32>) -> tensor<4xf32>
        %5 = linalg.reduce { arith.addf } ins(%2 : tensor<4x8xf32>) outs(%4 : tensor<4xf32>) dimensions = [1]
        %6 = tp.compute %5 rows [0] into %arg1 : tensor<4xf32> into memref<4xf32>
      }
      return %1 : memref<4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<4x8xf32>) -> memref<4xf32> {
        %0 = tp.alloc : memref<4xf32>
        tp.kernel reads(%arg0 : memref<4x8xf32>) writes(%0 : memref<4xf32>) {
        ^bb0(%arg1: memref<4x8xf32>, %arg2: memref<4xf32>):
          %1 = bufferization.to_tensor %arg1 : memref<4x8xf32> to tensor<4x8xf32>
          %2 = tensor.empty() : tensor<4x8xf32>
          %3 = linalg.exp ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) -> tensor<4x8xf32>
          %4 = tp.compute %3 rows [0] : tensor<4x8xf32>
          %cst = arith.constant 0.000000e+00 : f32
          %5 = tensor.empty() : tensor<4xf32>
          %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<4xf32>) -> tensor<4xf32>
          %reduced = linalg.reduce { arith.addf } ins(%4 : tensor<4x8xf32>) outs(%6 : tensor<4xf32>) dimensions = [1] 
          %7 = tp.compute %reduced rows [0] into %arg2 : tensor<4xf32> into memref<4xf32>
        }
        return %0 : memref<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

#endif // TP_CODEGEN_KERNELPASSES_TD
