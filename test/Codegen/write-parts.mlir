// RUN: tp-opt %s --split-input-file --tp-write-parts | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-write-parts -o %t.once
// RUN: tp-opt %t.once --split-input-file --tp-write-parts | diff %t.once -
// RUN: tp-opt %t.once --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=BYTES
// RUN: tp-opt %s --split-input-file --tp-write-parts=target=cuda | FileCheck %s --check-prefix=CUDA
// CUDA-NOT: sizes

// A slice at a place that is known at run time. A slice never leaves its tensor.

// CHECK-LABEL: @slice
// CHECK: tp.kernel reads({{.*}} writes(
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %c0 : index
// CHECK: %[[START:.*]] = arith.minsi %[[LOW]], %c6 : index
// CHECK: tp.compute %{{.*}} into %{{.*}} from %[[START]] sizes [2] along [1] :
// BYTES: "updates":"c","in_place":true,"written_bytes":32
func.func @slice(%x: memref<4x2xf32>, %at: memref<i64>, %c: memref<4x8xf32> {tp.name = "c"}) -> (memref<4x8xf32> {tp.name = "n", tp.updates = "c"}) {
  %0 = tp.alloc in %c of memref<4x8xf32> : memref<4x8xf32>
  tp.kernel reads(%x, %at, %c : memref<4x2xf32>, memref<i64>, memref<4x8xf32>) writes(%0 : memref<4x8xf32>) {
  ^bb0(%a: memref<4x2xf32>, %b: memref<i64>, %d: memref<4x8xf32>, %e: memref<4x8xf32>):
    %1 = bufferization.to_tensor %a : memref<4x2xf32> to tensor<4x2xf32>
    %2 = bufferization.to_tensor %b : memref<i64> to tensor<i64>
    %3 = bufferization.to_tensor %d : memref<4x8xf32> to tensor<4x8xf32>
    %4 = tensor.extract %2[] : tensor<i64>
    %5 = arith.index_cast %4 : i64 to index
    %6 = tensor.insert_slice %1 into %3[0, %5] [4, 2] [1, 1] : tensor<4x2xf32> into tensor<4x8xf32>
    %7 = tp.compute %6 into %e : tensor<4x8xf32> into memref<4x8xf32>
  }
  return %0 : memref<4x8xf32>
}

// -----

// Two caches that one kernel updates, where an index of the whole cache equals a
// position; a rank has the indices from its own on. The mask is computed again. What
// else the kernel computes reads the new cache.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
// CHECK-LABEL: @caches
// CHECK: %[[K:.*]] = tp.alloc in %arg2
// CHECK: %[[V:.*]] = tp.alloc in %arg3
// CHECK: tp.kernel reads(%{{.*}} : {{.*}}) writes(%[[K]] : memref<8x3xf32>) {
// CHECK: %[[AT:.*]] = arith.subi
// CHECK: %[[START:.*]] = arith.index_cast %[[AT]] : i64 to index
// CHECK: tp.compute %{{.*}} into %{{.*}} from %[[START]] sizes [1] along [0] :
// CHECK: tp.kernel reads(%{{.*}} : {{.*}}) writes(%[[V]] : memref<8x3xf32>) {
// CHECK: tp.compute %{{.*}} into %{{.*}} from %{{.*}} sizes [1] along [0] :
// CHECK: tp.kernel reads(%[[K]] : memref<8x3xf32>) writes(%{{.*}} : memref<8xf32>) {
// CHECK-NOT: tp.scratch
// BYTES: "updates":"k","in_place":true,"written_bytes":12
// BYTES: "updates":"v","in_place":true,"written_bytes":12
func.func @caches(%x: memref<3xf32>, %at: memref<1xi64>, %k: memref<8x3xf32> {tp.name = "k"}, %v: memref<8x3xf32> {tp.name = "v"}) -> (memref<8x3xf32> {tp.name = "nk", tp.updates = "k"}, memref<8x3xf32> {tp.name = "nv", tp.updates = "v"}, memref<8xf32>) {
  %0 = tp.alloc in %k of memref<8x3xf32> : memref<8x3xf32>
  %1 = tp.alloc in %v of memref<8x3xf32> : memref<8x3xf32>
  %2 = tp.alloc : memref<8xf32>
  tp.kernel reads(%x, %at, %k, %v : memref<3xf32>, memref<1xi64>, memref<8x3xf32>, memref<8x3xf32>) writes(%0, %1, %2 : memref<8x3xf32>, memref<8x3xf32>, memref<8xf32>) {
  ^bb0(%a: memref<3xf32>, %b: memref<1xi64>, %c: memref<8x3xf32>, %d: memref<8x3xf32>, %e: memref<8x3xf32>, %f: memref<8x3xf32>, %g: memref<8xf32>):
    %3 = bufferization.to_tensor %a : memref<3xf32> to tensor<3xf32>
    %4 = bufferization.to_tensor %b : memref<1xi64> to tensor<1xi64>
    %5 = bufferization.to_tensor %c : memref<8x3xf32> to tensor<8x3xf32>
    %6 = bufferization.to_tensor %d : memref<8x3xf32> to tensor<8x3xf32>
    %c8 = arith.constant 8 : index
    %7 = tp.axis_index over <#mesh, ["tp"]> : index
    %8 = arith.muli %7, %c8 : index
    %9 = tensor.empty() : tensor<8xi64>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%9 : tensor<8xi64>) {
    ^bb0(%o: i64):
      %i = linalg.index 0 : index
      %j = arith.addi %i, %8 : index
      %l = arith.index_cast %j : index to i64
      linalg.yield %l : i64
    } -> tensor<8xi64>
    %11 = tensor.empty() : tensor<8xi1>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%10, %4 : tensor<8xi64>, tensor<1xi64>) outs(%11 : tensor<8xi1>) {
    ^bb0(%i: i64, %j: i64, %o: i1):
      %l = arith.cmpi eq, %i, %j : i64
      linalg.yield %l : i1
    } -> tensor<8xi1>
    %13 = tp.scratch : memref<8xi1>
    %14 = tp.compute %12 rows [0] into %13 : tensor<8xi1> into memref<8xi1>
    %15 = tensor.empty() : tensor<8x3xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14, %3, %5 : tensor<8xi1>, tensor<3xf32>, tensor<8x3xf32>) outs(%15 : tensor<8x3xf32>) {
    ^bb0(%h: i1, %n: f32, %old: f32, %o: f32):
      %l = arith.select %h, %n, %old : f32
      linalg.yield %l : f32
    } -> tensor<8x3xf32>
    %17 = tp.compute %16 rows [0] into %e : tensor<8x3xf32> into memref<8x3xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%14, %3, %6 : tensor<8xi1>, tensor<3xf32>, tensor<8x3xf32>) outs(%15 : tensor<8x3xf32>) {
    ^bb0(%h: i1, %n: f32, %old: f32, %o: f32):
      %l = arith.select %h, %n, %old : f32
      linalg.yield %l : f32
    } -> tensor<8x3xf32>
    %19 = tp.compute %18 rows [0] into %f : tensor<8x3xf32> into memref<8x3xf32>
    %zero = arith.constant 0.0 : f32
    %20 = tensor.empty() : tensor<8xf32>
    %21 = linalg.fill ins(%zero : f32) outs(%20 : tensor<8xf32>) -> tensor<8xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%17 : tensor<8x3xf32>) outs(%21 : tensor<8xf32>) {
    ^bb0(%n: f32, %o: f32):
      %l = arith.addf %n, %o : f32
      linalg.yield %l : f32
    } -> tensor<8xf32>
    %23 = tp.compute %22 rows [0] into %g : tensor<8xf32> into memref<8xf32>
  }
  return %0, %1, %2 : memref<8x3xf32>, memref<8x3xf32>, memref<8xf32>
}
}

// -----

// All of it: where a comparison may hold at more than one index, where the other
// elements are new too, and where the kernel reads both the old and the new value.

// CHECK-LABEL: @whole
// CHECK-COUNT-4: tp.compute
// CHECK-NOT: sizes
// BYTES-NOT: written_bytes
func.func @whole(%at: memref<i64>, %a: memref<8xf32> {tp.name = "a"}, %b: memref<8xf32> {tp.name = "b"}) -> (memref<8xf32> {tp.name = "na", tp.updates = "a"}, memref<8xf32> {tp.name = "nb", tp.updates = "b"}, memref<8xf32>, memref<8xf32>) {
  %0 = tp.alloc in %a of memref<8xf32> : memref<8xf32>
  %1 = tp.alloc in %b of memref<8xf32> : memref<8xf32>
  %2 = tp.alloc : memref<8xf32>
  %kept = tp.alloc : memref<8xf32>
  tp.kernel reads(%at, %a, %b : memref<i64>, memref<8xf32>, memref<8xf32>) writes(%0, %1, %2, %kept : memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>) {
  ^bb0(%p: memref<i64>, %c: memref<8xf32>, %d: memref<8xf32>, %e: memref<8xf32>, %f: memref<8xf32>, %g: memref<8xf32>, %k: memref<8xf32>):
    %3 = bufferization.to_tensor %p : memref<i64> to tensor<i64>
    %4 = bufferization.to_tensor %c : memref<8xf32> to tensor<8xf32>
    %5 = bufferization.to_tensor %d : memref<8xf32> to tensor<8xf32>
    %6 = tensor.empty() : tensor<8xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3, %4 : tensor<i64>, tensor<8xf32>) outs(%6 : tensor<8xf32>) {
    ^bb0(%q: i64, %old: f32, %o: f32):
      %zero = arith.constant 0.0 : f32
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      %h = arith.cmpi sle, %j, %q : i64
      %l = arith.select %h, %zero, %old : f32
      linalg.yield %l : f32
    } -> tensor<8xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3, %5 : tensor<i64>, tensor<8xf32>) outs(%6 : tensor<8xf32>) {
    ^bb0(%q: i64, %old: f32, %o: f32):
      %zero = arith.constant 0.0 : f32
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      %h = arith.cmpi eq, %j, %q : i64
      %l = arith.select %h, %zero, %old : f32
      linalg.yield %l : f32
    } -> tensor<8xf32>
    %9 = tp.compute %7 into %e : tensor<8xf32> into memref<8xf32>
    %10 = linalg.add ins(%5, %5 : tensor<8xf32>, tensor<8xf32>) outs(%6 : tensor<8xf32>) -> tensor<8xf32>
    %14 = tp.compute %10 into %k : tensor<8xf32> into memref<8xf32>
    %11 = tp.compute %8 into %f : tensor<8xf32> into memref<8xf32>
    %12 = linalg.add ins(%11, %14 : tensor<8xf32>, tensor<8xf32>) outs(%6 : tensor<8xf32>) -> tensor<8xf32>
    %13 = tp.compute %12 into %g : tensor<8xf32> into memref<8xf32>
  }
  return %0, %1, %2, %kept : memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// -----

// All of it: a loop of its own reads the state at other elements than it writes, which
// together with the write would read what is new.

// CHECK-LABEL: @elsewhere
// CHECK-COUNT-2: tp.compute
// CHECK-NOT: sizes
func.func @elsewhere(%at: memref<i64>, %s: memref<2x4xf32> {tp.name = "s"}) -> (memref<2x4xf32> {tp.name = "n", tp.updates = "s"}) {
  %0 = tp.alloc in %s of memref<2x4xf32> : memref<2x4xf32>
  tp.kernel reads(%at, %s : memref<i64>, memref<2x4xf32>) writes(%0 : memref<2x4xf32>) {
  ^bb0(%p: memref<i64>, %a: memref<2x4xf32>, %b: memref<2x4xf32>):
    %1 = bufferization.to_tensor %p : memref<i64> to tensor<i64>
    %2 = bufferization.to_tensor %a : memref<2x4xf32> to tensor<2x4xf32>
    %3 = tensor.empty() : tensor<2x4xf32>
    %4 = linalg.add ins(%2, %2 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%3 : tensor<2x4xf32>) -> tensor<2x4xf32>
    %5 = tp.scratch : memref<2x4xf32>
    %6 = tp.compute %4 into %5 : tensor<2x4xf32> into memref<2x4xf32>
    %7 = tensor.extract_slice %6[0, 1] [2, 3] [1, 1] : tensor<2x4xf32> to tensor<2x3xf32>
    %8 = tensor.extract_slice %6[0, 0] [2, 1] [1, 1] : tensor<2x4xf32> to tensor<2x1xf32>
    %9 = tensor.concat dim(1) %7, %8 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %9, %2 : tensor<i64>, tensor<2x4xf32>, tensor<2x4xf32>) outs(%3 : tensor<2x4xf32>) {
    ^bb0(%q: i64, %new: f32, %old: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      %h = arith.cmpi eq, %j, %q : i64
      %l = arith.select %h, %new, %old : f32
      linalg.yield %l : f32
    } -> tensor<2x4xf32>
    %11 = tp.compute %10 into %b : tensor<2x4xf32> into memref<2x4xf32>
  }
  return %0 : memref<2x4xf32>
}

// -----

// What is not chosen, or not overwritten by a slice, is another value than the state: all
// of it is written.

// CHECK-LABEL: @another
// CHECK-NOT: sizes
func.func @another(%x: memref<8xf32>, %at: memref<i64>, %c: memref<8xf32> {tp.name = "c"}) -> (memref<8xf32> {tp.name = "n", tp.updates = "c"}) {
  %0 = tp.alloc in %c of memref<8xf32> : memref<8xf32>
  tp.kernel reads(%x, %at, %c : memref<8xf32>, memref<i64>, memref<8xf32>) writes(%0 : memref<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<i64>, %d: memref<8xf32>, %e: memref<8xf32>):
    %1 = bufferization.to_tensor %a : memref<8xf32> to tensor<8xf32>
    %2 = bufferization.to_tensor %b : memref<i64> to tensor<i64>
    %3 = bufferization.to_tensor %d : memref<8xf32> to tensor<8xf32>
    %4 = tensor.extract %2[] : tensor<i64>
    %5 = tensor.empty() : tensor<8xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3, %1 : tensor<8xf32>, tensor<8xf32>) outs(%5 : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      %k = arith.cmpi eq, %j, %4 : i64
      %l = arith.select %k, %p, %q : f32
      linalg.yield %l : f32
    } -> tensor<8xf32>
    %7 = tp.compute %6 into %e : tensor<8xf32> into memref<8xf32>
  }
  return %0 : memref<8xf32>
}

// -----

// CHECK-LABEL: @into
// CHECK-NOT: sizes
func.func @into(%x: memref<8xf32>, %c: memref<8xf32> {tp.name = "c"}) -> (memref<8xf32> {tp.name = "n", tp.updates = "c"}) {
  %0 = tp.alloc in %c of memref<8xf32> : memref<8xf32>
  tp.kernel reads(%x, %c : memref<8xf32>, memref<8xf32>) writes(%0 : memref<8xf32>) {
  ^bb0(%a: memref<8xf32>, %d: memref<8xf32>, %e: memref<8xf32>):
    %1 = bufferization.to_tensor %a : memref<8xf32> to tensor<8xf32>
    %3 = bufferization.to_tensor %d : memref<8xf32> to tensor<8xf32>
    %4 = tensor.extract_slice %3[2] [3] [1] : tensor<8xf32> to tensor<3xf32>
    %6 = tensor.insert_slice %4 into %1[2] [3] [1] : tensor<3xf32> into tensor<8xf32>
    %7 = tp.compute %6 into %e : tensor<8xf32> into memref<8xf32>
  }
  return %0 : memref<8xf32>
}
