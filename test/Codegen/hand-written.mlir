// RUN: tp-opt %s --tp-plan-memory --tp-cpu-compile=output=%t.tp
// RUN: tp-run %t.tp --ranks=2 "--input=x=2x3xf32=[1 2 3 4 5 6]" "--input=w=3x2xf32=[1 2 3 4 5 6]" | FileCheck %s --check-prefix=NUMBERS
// RUN: tp-opt %s --tp-cpu-compile=show=manifest -o /dev/null > %t.once
// RUN: FileCheck %s < %t.once
// RUN: tp-opt %s --tp-plan-memory --tp-cpu-compile=show=manifest -o /dev/null | cmp - %t.once
// RUN: tp-opt %s --tp-plan-memory | sed '0,/tp.alloc at 0/s//tp.alloc at 64/' > %t.edited.mlir
// RUN: tp-opt %t.edited.mlir --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=EDITED

// A program by hand: two products into parts of one buffer, the second with a k
// of its own on every rank; a collective; a kernel that writes a part of the
// result, and one that reads it and writes the rest. Rank 1 multiplies one
// column of x in the second product.

// NUMBERS: y: f32[5, 2], min 24, max 290, mean 102.4: [45, 57, 99, 129, 24, 31, 54, 73, ...]

// CHECK: "arena_bytes":64,
// CHECK: "k":{"axes":["tp"],"sizes":[3,1]},{{.*}}"c":{"buffer":{"space":"arena","offset":16},

// A hand edit changes the artifact.
// EDITED: "arena_bytes":128,
// EDITED: "k":{"axes":["tp"],"sizes":[3,1]},{{.*}}"c":{"buffer":{"space":"arena","offset":80},

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: memref<2x3xf32> {tp.name = "x"}, %w: memref<3x2xf32> {tp.name = "w"}) -> (memref<5x2xf32> {tp.name = "y"}) {
    %0 = tp.alloc : memref<4x2xf32>
    %top = memref.reinterpret_cast %0 to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<4x2xf32> to memref<2x2xf32, strided<[2, 1]>>
    %bottom = memref.reinterpret_cast %0 to offset: [4], sizes: [2, 2], strides: [2, 1] : memref<4x2xf32> to memref<2x2xf32, strided<[2, 1], offset: 4>>
    tp.gemm %x, %w into %top : memref<2x3xf32>, memref<3x2xf32>, memref<2x2xf32, strided<[2, 1]>>
    tp.gemm %x, %w into %bottom {k_of_rank = array<i64: 3, 1>} : memref<2x3xf32>, memref<3x2xf32>, memref<2x2xf32, strided<[2, 1], offset: 4>>
    %1 = tp.alloc : memref<4x2xf32>
    tp.communicate %0 into %1 : memref<4x2xf32>, memref<4x2xf32> {
    ^bb0(%a: tensor<4x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x2xf32> -> tensor<4x2xf32>
    }
    %y = tp.alloc : memref<5x2xf32>
    %rows = memref.reinterpret_cast %y to offset: [0], sizes: [4, 2], strides: [2, 1] : memref<5x2xf32> to memref<4x2xf32, strided<[2, 1]>>
    %last = memref.reinterpret_cast %y to offset: [8], sizes: [2], strides: [1] : memref<5x2xf32> to memref<2xf32, strided<[1], offset: 8>>
    tp.kernel reads(%1 : memref<4x2xf32>) writes(%rows : memref<4x2xf32, strided<[2, 1]>>) {
    ^bb0(%arg0: memref<4x2xf32>, %arg1: memref<4x2xf32, strided<[2, 1]>>):
      %2 = bufferization.to_tensor %arg0 : memref<4x2xf32> to tensor<4x2xf32>
      %one = arith.constant 1.0 : f32
      %e = tensor.empty() : tensor<4x2xf32>
      %ones = linalg.fill ins(%one : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
      %3 = linalg.add ins(%2, %ones : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
      %4 = tp.compute %3 into %arg1 : tensor<4x2xf32> into memref<4x2xf32, strided<[2, 1]>>
    }
    tp.kernel reads(%rows : memref<4x2xf32, strided<[2, 1]>>) writes(%last : memref<2xf32, strided<[1], offset: 8>>) {
    ^bb0(%arg0: memref<4x2xf32, strided<[2, 1]>>, %arg1: memref<2xf32, strided<[1], offset: 8>>):
      %2 = bufferization.to_tensor %arg0 : memref<4x2xf32, strided<[2, 1]>> to tensor<4x2xf32>
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
      %3 = linalg.reduce { arith.addf } ins(%2 : tensor<4x2xf32>) outs(%init : tensor<2xf32>) dimensions = [0]
      %4 = tp.compute %3 rows [1] into %arg1 : tensor<2xf32> into memref<2xf32, strided<[1], offset: 8>>
    }
    return %y : memref<5x2xf32>
  }
}
