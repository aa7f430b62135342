// RUN: tp-opt %s --tp-form-scatters | FileCheck %s
// RUN: tp-opt %s --tp-form-scatters=target=cuda | FileCheck %s
// RUN: not tp-opt %s --tp-form-scatters=target=gpu 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: tp-form-scatters: expected the target 'cpu' or 'cuda', got 'gpu'

// Places with an offset, in a type of their own, and a mask.
// CHECK-LABEL: @masked
// CHECK: %[[PLACE:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} outs(%{{.*}} : tensor<1x6xi64>)
// CHECK: tensor.extract
// CHECK: arith.subi
// CHECK: arith.extsi %{{.*}} : i32 to i64
// CHECK: tp.compute %{{.*}} into %{{.*}} scatter [0] at %[[PLACE]] : tensor<100xf32> into memref<100xf32> at tensor<1x6xi64>
func.func @masked(%ids: memref<6xi32>, %wanted: memref<6xi1>) -> memref<100xf32> {
  %0 = tp.alloc : memref<100xf32>
  tp.kernel reads(%ids, %wanted : memref<6xi32>, memref<6xi1>) writes(%0 : memref<100xf32>) {
  ^bb0(%arg0: memref<6xi32>, %arg1: memref<6xi1>, %arg2: memref<100xf32>):
    %1 = bufferization.to_tensor %arg0 : memref<6xi32> to tensor<6xi32>
    %2 = bufferization.to_tensor %arg1 : memref<6xi1> to tensor<6xi1>
    %one = arith.constant 1.0 : f32
    %none = arith.constant -0.0 : f32
    %five = arith.constant 5 : index
    %zeros = arith.constant dense<0.0> : tensor<100xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%1, %2 : tensor<6xi32>, tensor<6xi1>) outs(%zeros : tensor<100xf32>) {
    ^bb1(%id: i32, %want: i1, %sum: f32):
      %5 = linalg.index 0 : index
      %6 = arith.addi %5, %five : index
      %7 = arith.index_cast %6 : index to i32
      %8 = arith.cmpi eq, %id, %7 : i32
      %9 = arith.andi %want, %8 : i1
      %10 = arith.select %9, %one, %none : f32
      %11 = arith.addf %10, %sum : f32
      linalg.yield %11 : f32
    } -> tensor<100xf32>
    %4 = tp.compute %3 into %arg2 : tensor<100xf32> into memref<100xf32>
  }
  return %0 : memref<100xf32>
}

// Two coordinates, written; the second one depends on a dimension of the result.
// CHECK-LABEL: @written
// CHECK: tp.compute %{{.*}} scatter [0, 1] at %{{.*}}, %{{.*}} : tensor<9x9x4xf32> into memref<9x9x4xf32> at tensor<1x1x1x6xi64>, tensor<1x1x4x6xi64>
func.func @written(%x: memref<9x9x4xf32>, %new: memref<6x4xf32>, %a: memref<6xi64>, %b: memref<6x4xi64>) -> memref<9x9x4xf32> {
  %0 = tp.alloc : memref<9x9x4xf32>
  tp.kernel reads(%x, %new, %a, %b : memref<9x9x4xf32>, memref<6x4xf32>, memref<6xi64>, memref<6x4xi64>) writes(%0 : memref<9x9x4xf32>) {
  ^bb0(%arg0: memref<9x9x4xf32>, %arg1: memref<6x4xf32>, %arg2: memref<6xi64>, %arg3: memref<6x4xi64>, %arg4: memref<9x9x4xf32>):
    %1 = bufferization.to_tensor %arg0 : memref<9x9x4xf32> to tensor<9x9x4xf32>
    %2 = bufferization.to_tensor %arg1 : memref<6x4xf32> to tensor<6x4xf32>
    %3 = bufferization.to_tensor %arg2 : memref<6xi64> to tensor<6xi64>
    %4 = bufferization.to_tensor %arg3 : memref<6x4xi64> to tensor<6x4xi64>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%2, %3, %4 : tensor<6x4xf32>, tensor<6xi64>, tensor<6x4xi64>) outs(%1 : tensor<9x9x4xf32>) {
    ^bb1(%update: f32, %p: i64, %q: i64, %old: f32):
      %7 = linalg.index 0 : index
      %8 = arith.index_cast %7 : index to i64
      %9 = arith.cmpi eq, %8, %p : i64
      %10 = linalg.index 1 : index
      %11 = arith.index_cast %10 : index to i64
      %12 = arith.cmpi ne, %11, %q : i64
      %13 = arith.select %12, %old, %update : f32
      %14 = arith.select %9, %13, %old : f32
      linalg.yield %14 : f32
    } -> tensor<9x9x4xf32>
    %6 = tp.compute %5 into %arg4 : tensor<9x9x4xf32> into memref<9x9x4xf32>
  }
  return %0 : memref<9x9x4xf32>
}

// A maximum with -1 changes elements that no update is for, and 8 bits have no
// place for every index.
// CHECK-LABEL: @changes_others
// CHECK-NOT: scatter
// CHECK: return
func.func @changes_others(%ids: memref<6xi64>, %few: memref<6xi8>) -> (memref<100xi64>, memref<300xi64>) {
  %0 = tp.alloc : memref<100xi64>
  tp.kernel reads(%ids : memref<6xi64>) writes(%0 : memref<100xi64>) {
  ^bb0(%arg0: memref<6xi64>, %arg1: memref<100xi64>):
    %1 = bufferization.to_tensor %arg0 : memref<6xi64> to tensor<6xi64>
    %none = arith.constant -1 : i64
    %least = arith.constant dense<-9> : tensor<100xi64>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<6xi64>) outs(%least : tensor<100xi64>) {
    ^bb1(%id: i64, %largest: i64):
      %4 = linalg.index 0 : index
      %5 = arith.index_cast %4 : index to i64
      %6 = arith.cmpi eq, %5, %id : i64
      %7 = arith.select %6, %id, %none : i64
      %8 = arith.maxsi %largest, %7 : i64
      linalg.yield %8 : i64
    } -> tensor<100xi64>
    %3 = tp.compute %2 into %arg1 : tensor<100xi64> into memref<100xi64>
  }
  %10 = tp.alloc : memref<300xi64>
  tp.kernel reads(%few : memref<6xi8>) writes(%10 : memref<300xi64>) {
  ^bb0(%arg0: memref<6xi8>, %arg1: memref<300xi64>):
    %1 = bufferization.to_tensor %arg0 : memref<6xi8> to tensor<6xi8>
    %none = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %zeros = arith.constant dense<0> : tensor<300xi64>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<6xi8>) outs(%zeros : tensor<300xi64>) {
    ^bb1(%id: i8, %sum: i64):
      %4 = linalg.index 0 : index
      %5 = arith.index_cast %4 : index to i8
      %6 = arith.cmpi eq, %5, %id : i8
      %7 = arith.select %6, %one, %none : i64
      %8 = arith.addi %sum, %7 : i64
      linalg.yield %8 : i64
    } -> tensor<300xi64>
    %3 = tp.compute %2 into %arg1 : tensor<300xi64> into memref<300xi64>
  }
  return %0, %10 : memref<100xi64>, memref<300xi64>
}

// What a body checks about the updates is checked; what it checks about the
// elements has to be checked for all of them.
// CHECK-LABEL: @checks
// CHECK: scatter [0]
// CHECK-NOT: scatter
// CHECK: return
func.func @checks(%ids: memref<6xi64>) -> (memref<100xi64>, memref<100xi64>) {
  %0 = tp.alloc : memref<100xi64>
  tp.kernel reads(%ids : memref<6xi64>) writes(%0 : memref<100xi64>) {
  ^bb0(%arg0: memref<6xi64>, %arg1: memref<100xi64>):
    %1 = bufferization.to_tensor %arg0 : memref<6xi64> to tensor<6xi64>
    %hundred = arith.constant 100 : i64
    %zeros = arith.constant dense<0> : tensor<100xi64>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<6xi64>) outs(%zeros : tensor<100xi64>) {
    ^bb1(%id: i64, %old: i64):
      %4 = arith.cmpi ult, %id, %hundred : i64
      cf.assert %4, "outside"
      %5 = linalg.index 0 : index
      %6 = arith.index_cast %5 : index to i64
      %7 = arith.cmpi eq, %6, %id : i64
      %8 = arith.select %7, %id, %old : i64
      linalg.yield %8 : i64
    } -> tensor<100xi64>
    %3 = tp.compute %2 into %arg1 : tensor<100xi64> into memref<100xi64>
  }
  %10 = tp.alloc : memref<100xi64>
  tp.kernel reads(%ids : memref<6xi64>) writes(%10 : memref<100xi64>) {
  ^bb0(%arg0: memref<6xi64>, %arg1: memref<100xi64>):
    %1 = bufferization.to_tensor %arg0 : memref<6xi64> to tensor<6xi64>
    %fifty = arith.constant 50 : i64
    %zeros = arith.constant dense<0> : tensor<100xi64>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<6xi64>) outs(%zeros : tensor<100xi64>) {
    ^bb1(%id: i64, %old: i64):
      %5 = linalg.index 0 : index
      %6 = arith.index_cast %5 : index to i64
      %4 = arith.cmpi ult, %6, %fifty : i64
      cf.assert %4, "beyond 50"
      %7 = arith.cmpi eq, %6, %id : i64
      %8 = arith.select %7, %id, %old : i64
      linalg.yield %8 : i64
    } -> tensor<100xi64>
    %3 = tp.compute %2 into %arg1 : tensor<100xi64> into memref<100xi64>
  }
  return %0, %10 : memref<100xi64>, memref<100xi64>
}

// Each element has a sum of its own that is checked.
// CHECK-LABEL: @checks_sums
// CHECK-NOT: scatter
// CHECK: return
func.func @checks_sums(%ids: memref<6xi64>) -> memref<100xi64> {
  %0 = tp.alloc : memref<100xi64>
  tp.kernel reads(%ids : memref<6xi64>) writes(%0 : memref<100xi64>) {
  ^bb0(%arg0: memref<6xi64>, %arg1: memref<100xi64>):
    %1 = bufferization.to_tensor %arg0 : memref<6xi64> to tensor<6xi64>
    %hundred = arith.constant 100 : i64
    %zeros = arith.constant dense<0> : tensor<100xi64>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<6xi64>) outs(%zeros : tensor<100xi64>) {
    ^bb1(%id: i64, %old: i64):
      %4 = arith.cmpi ult, %old, %hundred : i64
      cf.assert %4, "beyond 100"
      %5 = linalg.index 0 : index
      %6 = arith.index_cast %5 : index to i64
      %7 = arith.cmpi eq, %6, %id : i64
      %8 = arith.select %7, %id, %old : i64
      linalg.yield %8 : i64
    } -> tensor<100xi64>
    %3 = tp.compute %2 into %arg1 : tensor<100xi64> into memref<100xi64>
  }
  return %0 : memref<100xi64>
}

// Where no update is for an element, its two numbers change places.
// CHECK-LABEL: @swapped
// CHECK-NOT: scatter
// CHECK: return
func.func @swapped(%ids: memref<6xi64>) -> (memref<100xi64>, memref<100xi64>) {
  %0 = tp.alloc : memref<100xi64>
  %1 = tp.alloc : memref<100xi64>
  tp.kernel reads(%ids : memref<6xi64>) writes(%0, %1 : memref<100xi64>, memref<100xi64>) {
  ^bb0(%arg0: memref<6xi64>, %arg1: memref<100xi64>, %arg2: memref<100xi64>):
    %2 = bufferization.to_tensor %arg0 : memref<6xi64> to tensor<6xi64>
    %zeros = arith.constant dense<0> : tensor<100xi64>
    %ones = arith.constant dense<1> : tensor<100xi64>
    %3:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%2 : tensor<6xi64>) outs(%zeros, %ones : tensor<100xi64>, tensor<100xi64>) {
    ^bb1(%id: i64, %a: i64, %b: i64):
      %5 = linalg.index 0 : index
      %6 = arith.index_cast %5 : index to i64
      %7 = arith.cmpi eq, %6, %id : i64
      %8 = arith.select %7, %id, %b : i64
      %9 = arith.select %7, %id, %a : i64
      linalg.yield %8, %9 : i64, i64
    } -> (tensor<100xi64>, tensor<100xi64>)
    %4:2 = tp.compute %3#0, %3#1 into %arg1, %arg2 : tensor<100xi64>, tensor<100xi64> into memref<100xi64>, memref<100xi64>
  }
  return %0, %1 : memref<100xi64>, memref<100xi64>
}
