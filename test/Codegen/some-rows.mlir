// RUN: tp-opt %s --tp-plan-memory --tp-cpu-compile=output=%t.tp
// RUN: tp-run %t.tp --ranks=1 "--input=x=3x2xf32=[1 2 nan nan 5 6]" "--input=w=2x2xf32=[1 0 0 1]" "--input=chosen=3xi1=[true false true]" | FileCheck %s --check-prefix=NUMBERS
// RUN: tp-opt %s --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s
// RUN: tp-opt %s --tp-cpu-compile=show=kernels | FileCheck %s --check-prefix=LOOPS
// RUN: not tp-opt %s --tp-plan-memory=target=cuda 2>&1 | FileCheck %s --check-prefix=CUDA

// A program by hand: a product of the chosen rows, a kernel of them, and one
// that puts a number in the place of the others.

// NUMBERS: y: f32[3, 2], {{.*}}: [10, 20, -1, -1, 50, 60]

// CHECK: "command":"gemm"{{.*}}"rows":{"buffer":{"space":"argument","index":2},"strides":[1]}

// The condition is asked once for a row.
// LOOPS-LABEL: llvm.func internal @tp_kernel_0_body
// LOOPS:         scf.for
// LOOPS:           llvm.load {{.*}} -> i8
// LOOPS:           scf.if
// LOOPS:             scf.for
// LOOPS:               arith.mulf

// CUDA: error: 'tp.gemm' op a product of some rows is not handled by the CUDA target

func.func @main(%x: memref<3x2xf32> {tp.name = "x"}, %w: memref<2x2xf32> {tp.name = "w"}, %chosen: memref<3xi1> {tp.name = "chosen"}) -> (memref<3x2xf32> {tp.name = "y"}) {
  %0 = tp.alloc : memref<3x2xf32>
  tp.gemm %x, %w into %0 rows %chosen : memref<3x2xf32>, memref<2x2xf32>, memref<3x2xf32> rows memref<3xi1>
  %1 = tp.alloc : memref<3x2xf32>
  tp.kernel reads(%0, %chosen : memref<3x2xf32>, memref<3xi1>) writes(%1 : memref<3x2xf32>) {
  ^bb0(%arg0: memref<3x2xf32>, %arg1: memref<3xi1>, %arg2: memref<3x2xf32>):
    %2 = bufferization.to_tensor %arg0 : memref<3x2xf32> to tensor<3x2xf32>
    %3 = bufferization.to_tensor %arg1 : memref<3xi1> to tensor<3xi1>
    %4 = tensor.expand_shape %3 [[0, 1]] output_shape [3, 1] : tensor<3xi1> into tensor<3x1xi1>
    %ten = arith.constant 10.0 : f32
    %e = tensor.empty() : tensor<3x2xf32>
    %tens = linalg.fill ins(%ten : f32) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
    %5 = linalg.mul ins(%2, %tens : tensor<3x2xf32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
    %6 = tp.compute %5 into %arg2 where %4 : tensor<3x2xf32> into memref<3x2xf32> where tensor<3x1xi1>
  }
  %y = tp.alloc : memref<3x2xf32>
  tp.kernel reads(%1, %chosen : memref<3x2xf32>, memref<3xi1>) writes(%y : memref<3x2xf32>) {
  ^bb0(%arg0: memref<3x2xf32>, %arg1: memref<3xi1>, %arg2: memref<3x2xf32>):
    %2 = bufferization.to_tensor %arg0 : memref<3x2xf32> to tensor<3x2xf32>
    %3 = bufferization.to_tensor %arg1 : memref<3xi1> to tensor<3xi1>
    %e = tensor.empty() : tensor<3x2xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%3, %2 : tensor<3xi1>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) {
    ^bb0(%c: i1, %in: f32, %out: f32):
      %none = arith.constant -1.0 : f32
      %r = arith.select %c, %in, %none : f32
      linalg.yield %r : f32
    } -> tensor<3x2xf32>
    %5 = tp.compute %4 into %arg2 : tensor<3x2xf32> into memref<3x2xf32>
  }
  return %y : memref<3x2xf32>
}
