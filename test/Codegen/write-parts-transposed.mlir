// RUN: tp-opt %s --tp-write-parts | FileCheck %s

// The other elements are those of the transposed state: all change.
// CHECK-LABEL: @transposed
// CHECK: tp.compute %{{.*}} into %arg{{[0-9]+}} : tensor<4x4xf32>
func.func @transposed(%x: memref<4xf32>, %at: memref<index>, %c: memref<4x4xf32> {tp.name = "c"}) -> (memref<4x4xf32> {tp.name = "n", tp.updates = "c"}) {
  %0 = tp.alloc in %c of memref<4x4xf32> : memref<4x4xf32>
  tp.kernel reads(%x, %at, %c : memref<4xf32>, memref<index>, memref<4x4xf32>) writes(%0 : memref<4x4xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<index>, %d: memref<4x4xf32>, %e: memref<4x4xf32>):
    %1 = bufferization.to_tensor %a : memref<4xf32> to tensor<4xf32>
    %2 = bufferization.to_tensor %b : memref<index> to tensor<index>
    %3 = bufferization.to_tensor %d : memref<4x4xf32> to tensor<4x4xf32>
    %4 = tensor.empty() : tensor<4x4xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        ins(%1, %2, %3 : tensor<4xf32>, tensor<index>, tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) {
    ^bb1(%new: f32, %place: index, %old: f32, %o: f32):
      %7 = linalg.index 0 : index
      %8 = arith.cmpi eq, %7, %place : index
      %9 = arith.select %8, %new, %old : f32
      linalg.yield %9 : f32
    } -> tensor<4x4xf32>
    %6 = tp.compute %5 into %e : tensor<4x4xf32> into memref<4x4xf32>
  }
  return %0 : memref<4x4xf32>
}
