// Slices at computed places cut their whole dimensions as finely as others do;
// the dimension that the place is in stays whole.
//
// DEFINE: %{lower} = mlir-opt --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries=1},func.func(convert-linalg-to-loops),expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,convert-math-to-llvm,convert-math-to-libm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)'
// DEFINE: %{run} = mlir-runner -e main -entry-point-result=void -shared-libs=%llvm_lib/libmlir_c_runner_utils.so,%llvm_lib/libmlir_runner_utils.so
// RUN: tp-opt %s --tp-normalize --tp-verify-normal-form -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tp-opt %t.mlir --tp-normalize | diff %t.mlir -
// RUN: %{lower} %s | %{run} > %t.before
// RUN: %{lower} %t.mlir | %{run} > %t.after
// RUN: FileCheck %s --check-prefix=NUMBERS < %t.before
// RUN: diff %t.before %t.after

// NUMBERS-COUNT-32: {{^[0-9.]+$}}

// A stack of weights of which a layer takes its own, and whose columns are
// heads.
// CHECK-LABEL: func.func @layer
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]{{\]}} output_shape [6, 4, 2, 3]
// CHECK: tensor.extract_slice %[[VIEW]][%{{.*}}, 0, 0, 0] [1, 4, 2, 3] [1, 1, 1, 1] : tensor<6x4x2x3xf32> to tensor<4x2x3xf32>
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @layer(%stack: tensor<6x4x6xf32>, %x: tensor<5x4xf32>, %at: index) -> tensor<5x2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %one = tensor.extract_slice %stack[%at, 0, 0] [1, 4, 6] [1, 1, 1] : tensor<6x4x6xf32> to tensor<1x4x6xf32>
  %w = tensor.collapse_shape %one [[0, 1], [2]] : tensor<1x4x6xf32> into tensor<4x6xf32>
  %e = tensor.empty() : tensor<5x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
  %m = linalg.matmul ins(%x, %w : tensor<5x4xf32>, tensor<4x6xf32>) outs(%f : tensor<5x6xf32>) -> tensor<5x6xf32>
  %h = tensor.expand_shape %m [[0], [1, 2]] output_shape [5, 2, 3] : tensor<5x6xf32> into tensor<5x2x3xf32>
  return %h : tensor<5x2x3xf32>
}

// Four of eight rows are taken and written back at another place: elsewhere the
// rows are two times four, here they are not. The columns are heads.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: tensor.extract_slice %{{.*}}[%{{.*}}, 0, 0] [4, 2, 2] [1, 1, 1] : tensor<8x2x2xf32> to tensor<4x2x2xf32>
// CHECK-DAG: tensor.insert_slice %{{.*}} into %{{.*}}[%{{.*}}, 0, 0] [4, 2, 2] [1, 1, 1] : tensor<4x2x2xf32> into tensor<8x2x2xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x4x2x2xf32>)
// CHECK: return
func.func @rows(%rows: tensor<8x4xf32>, %from: index, %to: index) -> tensor<2x4x2x2xf32> {
  %taken = tensor.extract_slice %rows[%from, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %e0 = tensor.empty() : tensor<4x4xf32>
  %twice = linalg.add ins(%taken, %taken : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %written = tensor.insert_slice %twice into %rows[%to, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<8x4xf32>
  %groups = tensor.expand_shape %written [[0, 1], [2, 3]] output_shape [2, 4, 2, 2] : tensor<8x4xf32> into tensor<2x4x2x2xf32>
  %e1 = tensor.empty() : tensor<2x4x2x2xf32>
  %sum = linalg.add ins(%groups, %groups : tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32>) outs(%e1 : tensor<2x4x2x2xf32>) -> tensor<2x4x2x2xf32>
  return %sum : tensor<2x4x2x2xf32>
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %e0 = tensor.empty() : tensor<8x4xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.muli %i, %c4 : index
    %l = arith.addi %s, %j : index
    %n = arith.index_cast %l : index to i64
    %f = arith.sitofp %n : i64 to f32
    linalg.yield %f : f32
  } -> tensor<8x4xf32>
  %moved = func.call @rows(%rows, %c1, %c3) : (tensor<8x4xf32>, index, index) -> tensor<2x4x2x2xf32>
  %flat = tensor.collapse_shape %moved [[0, 1, 2, 3]] : tensor<2x4x2x2xf32> into tensor<32xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    %v = tensor.extract %flat[%i] : tensor<32xf32>
    vector.print %v : f32
  }
  return
}
