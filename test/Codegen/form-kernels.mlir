// RUN: tp-opt %s --split-input-file --tp-form-kernels | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-form-kernels --tp-update-in-place --tp-schedule --tp-plan-memory --tp-cpu-compile=show=manifest -o /dev/null
// RUN: not tp-opt %s --split-input-file --tp-form-kernels=target=gpu 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: tp-form-kernels: expected the target 'cpu' or 'cuda', got 'gpu'

// A product, and three kernels on its rows: the maximum, what is subtracted from
// each element, and its sum. As one kernel they keep the values of a row in it.

// CHECK-LABEL: func.func @rows(%arg0: memref<4x6xf32>, %arg1: memref<6x8xf32>) -> memref<4xf32>
// CHECK:       %[[P:.*]] = tp.alloc : memref<4x8xf32>
// CHECK-NEXT:  tp.gemm %arg0, %arg1 into %[[P]] : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
// CHECK-NEXT:  %[[R:.*]] = tp.alloc : memref<4xf32>
// CHECK-NEXT:  tp.kernel reads(%[[P]] : memref<4x8xf32>) writes(%[[R]] : memref<4xf32>) {
// CHECK-NEXT:  ^bb0(%[[A:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<4xf32>):
// CHECK-NEXT:    bufferization.to_tensor %[[A]]
// CHECK:         %[[S:.*]] = tp.scratch : memref<4xf32>
// CHECK-NEXT:    %[[M:.*]] = tp.compute %{{.*}} rows [0] into %[[S]] : tensor<4xf32> into memref<4xf32>
// CHECK:         linalg.broadcast ins(%[[M]] : tensor<4xf32>)
// CHECK:         %[[D:.*]] = tp.compute %{{.*}} rows [0] : tensor<4x8xf32>
// CHECK:         linalg.reduce { arith.addf } ins(%[[D]] : tensor<4x8xf32>)
// CHECK:         tp.compute %{{.*}} rows [0] into %[[B]] : tensor<4xf32> into memref<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  return %[[R]] : memref<4xf32>
func.func @rows(%x: memref<4x6xf32>, %w: memref<6x8xf32>) -> memref<4xf32> {
  %p = tp.alloc : memref<4x8xf32>
  tp.gemm %x, %w into %p : memref<4x6xf32>, memref<6x8xf32>, memref<4x8xf32>
  %m = tp.alloc : memref<4xf32>
  tp.kernel reads(%p : memref<4x8xf32>) writes(%m : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.maximumf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  %d = tp.alloc : memref<4x8xf32>
  tp.kernel reads(%p, %m : memref<4x8xf32>, memref<4xf32>) writes(%d : memref<4x8xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>, %c: memref<4x8xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %1 = bufferization.to_tensor %b : memref<4xf32> to tensor<4xf32>
    %e = tensor.empty() : tensor<4x8xf32>
    %2 = linalg.broadcast ins(%1 : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
    %3 = linalg.sub ins(%0, %2 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = tp.compute %3 into %c : tensor<4x8xf32> into memref<4x8xf32>
  }
  %r = tp.alloc : memref<4xf32>
  tp.kernel reads(%d : memref<4x8xf32>) writes(%r : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  return %r : memref<4xf32>
}

// -----

// The second kernel reads the state, and the last one joins it. What writes the
// state stays behind both. A value that is returned is in memory, though one
// kernel alone uses it.

// CHECK-LABEL: func.func @state
// CHECK:       %[[Y:.*]] = tp.alloc : memref<6xf32>
// CHECK-NEXT:  %[[Z:.*]] = tp.alloc : memref<6xf32>
// CHECK-NEXT:  tp.kernel reads(%arg0 : memref<6xf32>) writes(%[[Y]], %[[Z]] : memref<6xf32>, memref<6xf32>) {
// CHECK:       %[[P:.*]] = tp.alloc in %arg0
// CHECK-NEXT:  tp.kernel reads(%arg1 : memref<6xf32>) writes(%[[P]] : memref<6xf32>) {
// CHECK-NOT:   tp.kernel
// CHECK:       return %[[P]], %[[Y]], %[[Z]]
func.func @state(%p: memref<6xf32> {tp.name = "p"}, %g: memref<6xf32>) -> (memref<6xf32> {tp.updates = "p"}, memref<6xf32>, memref<6xf32>) {
  %y = tp.alloc : memref<6xf32>
  tp.kernel reads(%p : memref<6xf32>) writes(%y : memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.exp ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
  }
  %n = tp.alloc in %p of memref<6xf32> : memref<6xf32>
  tp.kernel reads(%g : memref<6xf32>) writes(%n : memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.tanh ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
  }
  %z = tp.alloc : memref<6xf32>
  tp.kernel reads(%y : memref<6xf32>) writes(%z : memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.abs ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
  }
  return %n, %y, %z : memref<6xf32>, memref<6xf32>, memref<6xf32>
}

// -----

// The same with memory that is written twice.

// CHECK-LABEL: func.func @again
// CHECK:       tp.gemm %arg0, %arg1 into %[[T:.*]] : 
// CHECK:       tp.kernel reads(%[[T]] : memref<2x2xf32>) writes(%[[Z:.*]] : memref<2x2xf32>) {
// CHECK:         linalg.exp
// CHECK:         linalg.abs
// CHECK:       tp.gemm %arg1, %arg1 into %[[T]] : 
// CHECK:       tp.gemm %[[T]], %[[Z]] into %[[R:.*]] : 
// CHECK-NEXT:  return %[[R]]
func.func @again(%x: memref<2x2xf32>, %w: memref<2x2xf32>) -> memref<2x2xf32> {
  %t = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %w into %t : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %y = tp.alloc : memref<2x2xf32>
  tp.kernel reads(%t : memref<2x2xf32>) writes(%y : memref<2x2xf32>) {
  ^bb0(%a: memref<2x2xf32>, %b: memref<2x2xf32>):
    %0 = bufferization.to_tensor %a : memref<2x2xf32> to tensor<2x2xf32>
    %e = tensor.empty() : tensor<2x2xf32>
    %1 = linalg.exp ins(%0 : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = tp.compute %1 into %b : tensor<2x2xf32> into memref<2x2xf32>
  }
  tp.gemm %w, %w into %t : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %z = tp.alloc : memref<2x2xf32>
  tp.kernel reads(%y : memref<2x2xf32>) writes(%z : memref<2x2xf32>) {
  ^bb0(%a: memref<2x2xf32>, %b: memref<2x2xf32>):
    %0 = bufferization.to_tensor %a : memref<2x2xf32> to tensor<2x2xf32>
    %e = tensor.empty() : tensor<2x2xf32>
    %1 = linalg.abs ins(%0 : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = tp.compute %1 into %b : tensor<2x2xf32> into memref<2x2xf32>
  }
  %r = tp.alloc : memref<2x2xf32>
  tp.gemm %t, %z into %r : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %r : memref<2x2xf32>
}

// -----

// Both kernels reduce the same rows, but the second one reads a view of what the
// first one writes: in one kernel it would read memory of the same launch.

// CHECK-LABEL: func.func @view
// CHECK-COUNT-2: tp.kernel
// CHECK-NOT:   tp.kernel
func.func @view(%x: memref<4x8xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %s = tp.alloc : memref<4xf32>
  tp.kernel reads(%x : memref<4x8xf32>) writes(%s : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    %2 = tp.compute %1 rows [0] into %b : tensor<4xf32> into memref<4xf32>
  }
  %v = memref.reinterpret_cast %s to offset: [0], sizes: [4], strides: [1] : memref<4xf32> to memref<4xf32, strided<[1]>>
  %m = tp.alloc : memref<4xf32>
  tp.kernel reads(%x, %v : memref<4x8xf32>, memref<4xf32, strided<[1]>>) writes(%m : memref<4xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4xf32, strided<[1]>>, %c: memref<4xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %1 = bufferization.to_tensor %b : memref<4xf32, strided<[1]>> to tensor<4xf32>
    %2 = linalg.reduce { arith.maximumf } ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4xf32>) dimensions = [1]
    %3 = tp.compute %2 rows [0] into %c : tensor<4xf32> into memref<4xf32>
  }
  return %s, %m : memref<4xf32>, memref<4xf32>
}

// -----

// The second kernel writes what the first one reads.

// CHECK-LABEL: func.func @over
// CHECK:       tp.gemm %{{.*}}, %arg1 into %[[T:.*]] : memref<4x1xf32, strided<[8, 1]>>
// CHECK:       tp.kernel reads(%arg0, %[[T]] : {{.*}}) writes(%{{.*}} : memref<4x1xf32>)
// CHECK:       tp.kernel reads(%arg0 : {{.*}}) writes(%[[T]] : memref<4x1xf32>)
func.func @over(%x: memref<4x8xf32>, %w: memref<1x1xf32>) -> (memref<4x1xf32>, memref<1x1xf32>, memref<4x1xf32>) {
  %u = tp.alloc : memref<1x1xf32>
  tp.gemm %w, %w into %u : memref<1x1xf32>, memref<1x1xf32>, memref<1x1xf32>
  %t = tp.alloc : memref<4x1xf32>
  %s = memref.reinterpret_cast %x to offset: [0], sizes: [4, 1], strides: [8, 1] : memref<4x8xf32> to memref<4x1xf32, strided<[8, 1]>>
  tp.gemm %s, %w into %t : memref<4x1xf32, strided<[8, 1]>>, memref<1x1xf32>, memref<4x1xf32>
  %y = tp.alloc : memref<4x1xf32>
  tp.kernel reads(%x, %t : memref<4x8xf32>, memref<4x1xf32>) writes(%y : memref<4x1xf32>) {
  ^bb0(%a: memref<4x8xf32>, %b: memref<4x1xf32>, %c: memref<4x1xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %1 = bufferization.to_tensor %b : memref<4x1xf32> to tensor<4x1xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]}
        ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4x1xf32>) {
    ^bb1(%i: f32, %o: f32):
      %4 = arith.addf %i, %o : f32
      linalg.yield %4 : f32
    } -> tensor<4x1xf32>
    %3 = tp.compute %2 rows [0] into %c : tensor<4x1xf32> into memref<4x1xf32>
  }
  tp.kernel reads(%x : memref<4x8xf32>) writes(%t : memref<4x1xf32>) {
  ^bb0(%a: memref<4x8xf32>, %c: memref<4x1xf32>):
    %0 = bufferization.to_tensor %a : memref<4x8xf32> to tensor<4x8xf32>
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x1xf32>
    %1 = linalg.fill ins(%z : f32) outs(%e : tensor<4x1xf32>) -> tensor<4x1xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]}
        ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4x1xf32>) {
    ^bb1(%i: f32, %o: f32):
      %4 = arith.mulf %i, %i : f32
      %5 = arith.addf %4, %o : f32
      linalg.yield %5 : f32
    } -> tensor<4x1xf32>
    %3 = tp.compute %2 rows [0] into %c : tensor<4x1xf32> into memref<4x1xf32>
  }
  return %y, %u, %t : memref<4x1xf32>, memref<1x1xf32>, memref<4x1xf32>
}

// -----

// A kernel of several compute loops, and one of a part of a state, stay as they
// are; what reads the former is a kernel of its own.

// CHECK-LABEL: func.func @stays
// CHECK:       tp.kernel
// CHECK-COUNT-2: tp.compute
// CHECK:       tp.kernel
// CHECK:         linalg.tanh
// CHECK:       tp.kernel
// CHECK:         tp.compute %{{.*}} from %{{.*}} sizes [1] along [0]
// CHECK-NOT:   tp.kernel
func.func @stays(%x: memref<6xf32>, %at: memref<index>, %s: memref<6xf32> {tp.name = "s"}) -> (memref<6xf32>, memref<6xf32>, memref<6xf32>, memref<6xf32> {tp.updates = "s"}) {
  %y = tp.alloc : memref<6xf32>
  %z = tp.alloc : memref<6xf32>
  tp.kernel reads(%x : memref<6xf32>) writes(%y, %z : memref<6xf32>, memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>, %c: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.exp ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
    %3 = linalg.abs ins(%2 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %4 = tp.compute %3 into %c : tensor<6xf32> into memref<6xf32>
  }
  %w = tp.alloc : memref<6xf32>
  tp.kernel reads(%z : memref<6xf32>) writes(%w : memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.tanh ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
  }
  %n = tp.alloc in %s of memref<6xf32> : memref<6xf32>
  tp.kernel reads(%w, %at : memref<6xf32>, memref<index>) writes(%n : memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %i: memref<index>, %b: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %1 = bufferization.to_tensor %i : memref<index> to tensor<index>
    %2 = tensor.extract %1[] : tensor<index>
    %e = tensor.empty() : tensor<6xf32>
    %3 = linalg.floor ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %4 = tp.compute %3 into %b from %2 sizes [1] along [0] : tensor<6xf32> into memref<6xf32>
  }
  return %y, %z, %w, %n : memref<6xf32>, memref<6xf32>, memref<6xf32>, memref<6xf32>
}

// -----

// Two checks of the same number, which users know apart by their places.

// CHECK-LABEL: func.func @checks
// CHECK:         tp.kernel
// CHECK-COUNT-2: cf.assert
// CHECK-NOT:     tp.kernel
// CHECK:         return
func.func @checks(%x: memref<6xi64>) -> (memref<6xi64>, memref<6xi64>) {
  %y = tp.alloc : memref<6xi64>
  tp.kernel reads(%x : memref<6xi64>) writes(%y : memref<6xi64>) {
  ^bb0(%a: memref<6xi64>, %b: memref<6xi64>):
    %0 = bufferization.to_tensor %a : memref<6xi64> to tensor<6xi64>
    %e = tensor.empty() : tensor<6xi64>
    %1 = linalg.map ins(%0 : tensor<6xi64>) outs(%e : tensor<6xi64>) (%v: i64, %o: i64) {
      %c = arith.constant 9 : i64
      %ok = arith.cmpi slt, %v, %c : i64
      cf.assert %ok, "too large"
      linalg.yield %v : i64
    }
    %2 = tp.compute %1 into %b : tensor<6xi64> into memref<6xi64>
  }
  %z = tp.alloc : memref<6xi64>
  tp.kernel reads(%x, %y : memref<6xi64>, memref<6xi64>) writes(%z : memref<6xi64>) {
  ^bb0(%a: memref<6xi64>, %d: memref<6xi64>, %b: memref<6xi64>):
    %0 = bufferization.to_tensor %a : memref<6xi64> to tensor<6xi64>
    %e = tensor.empty() : tensor<6xi64>
    %1 = linalg.map ins(%0 : tensor<6xi64>) outs(%e : tensor<6xi64>) (%v: i64, %o: i64) {
      %c = arith.constant 9 : i64
      %ok = arith.cmpi slt, %v, %c : i64
      cf.assert %ok, "too large"
      linalg.yield %v : i64
    }
    %2 = bufferization.to_tensor %d : memref<6xi64> to tensor<6xi64>
    %3 = linalg.add ins(%1, %2 : tensor<6xi64>, tensor<6xi64>) outs(%e : tensor<6xi64>) -> tensor<6xi64>
    %4 = tp.compute %3 into %b : tensor<6xi64> into memref<6xi64>
  }
  return %y, %z : memref<6xi64>, memref<6xi64>
}

// -----

// A kernel of two loops stays as it is, and so does what reads its result.

// CHECK-LABEL: func.func @two
// CHECK:       tp.kernel reads(%arg0 : memref<6xf32>) writes(%[[Y:.*]], %[[Z:.*]] : memref<6xf32>, memref<6xf32>) {
// CHECK:       tp.kernel reads(%[[Y]] : memref<6xf32>) writes(%[[R:.*]] : memref<6xf32>) {
// CHECK:       return %[[Z]], %[[R]]
func.func @two(%x: memref<6xf32>) -> (memref<6xf32>, memref<6xf32>) {
  %y = tp.alloc : memref<6xf32>
  %z = tp.alloc : memref<6xf32>
  tp.kernel reads(%x : memref<6xf32>) writes(%y, %z : memref<6xf32>, memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>, %c: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.exp ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
    %3 = linalg.abs ins(%2 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %4 = tp.compute %3 into %c : tensor<6xf32> into memref<6xf32>
  }
  %r = tp.alloc : memref<6xf32>
  tp.kernel reads(%y : memref<6xf32>) writes(%r : memref<6xf32>) {
  ^bb0(%a: memref<6xf32>, %b: memref<6xf32>):
    %0 = bufferization.to_tensor %a : memref<6xf32> to tensor<6xf32>
    %e = tensor.empty() : tensor<6xf32>
    %1 = linalg.tanh ins(%0 : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %2 = tp.compute %1 into %b : tensor<6xf32> into memref<6xf32>
  }
  return %z, %r : memref<6xf32>, memref<6xf32>
}

// -----

// The second kernel joins the first, which the first product needs. What waits for
// neither, and stood between the two, does not come first: its memory would be taken
// earlier.

// CHECK-LABEL: func.func @needed_first(
// CHECK:       tp.kernel reads(%arg0 : memref<4x4xf32>) writes(%[[A:.*]], %[[B:.*]] : memref<4x4xf32>, memref<4x4xf32>) {
// CHECK:       tp.gemm %[[A]], %[[A]] into
// CHECK:       tp.gemm %arg1, %arg1 into
// CHECK:       return
func.func @needed_first(%x: memref<4x4xf32>, %y: memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) {
  %a = tp.alloc : memref<4x4xf32>
  tp.kernel reads(%x : memref<4x4xf32>) writes(%a : memref<4x4xf32>) {
  ^bb0(%in: memref<4x4xf32>, %out: memref<4x4xf32>):
    %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
    %e = tensor.empty() : tensor<4x4xf32>
    %1 = linalg.exp ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = tp.compute %1 into %out : tensor<4x4xf32> into memref<4x4xf32>
  }
  %p = tp.alloc : memref<4x4xf32>
  tp.gemm %a, %a into %p : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %q = tp.alloc : memref<4x4xf32>
  tp.gemm %y, %y into %q : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %b = tp.alloc : memref<4x4xf32>
  tp.kernel reads(%a : memref<4x4xf32>) writes(%b : memref<4x4xf32>) {
  ^bb0(%in: memref<4x4xf32>, %out: memref<4x4xf32>):
    %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
    %e = tensor.empty() : tensor<4x4xf32>
    %1 = linalg.log ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = tp.compute %1 into %out : tensor<4x4xf32> into memref<4x4xf32>
  }
  return %p, %q, %b : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

// What no command reads runs right behind what it reads: the first product's memory is
// free when the second one is made.

// CHECK-LABEL: func.func @updated_early(
// CHECK:       tp.gemm %arg0, %arg0 into %[[G:.*]] :
// CHECK:       tp.kernel reads(%[[G]] : memref<4x4xf32>)
// CHECK:       tp.gemm %arg1, %arg1 into %[[H:.*]] :
// CHECK:       tp.kernel reads(%[[H]] : memref<4x4xf32>)
func.func @updated_early(%x: memref<4x4xf32>, %y: memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>) {
  %g = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %x into %g : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %h = tp.alloc : memref<4x4xf32>
  tp.gemm %y, %y into %h : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %a = tp.alloc : memref<4x4xf32>
  tp.kernel reads(%g : memref<4x4xf32>) writes(%a : memref<4x4xf32>) {
  ^bb0(%in: memref<4x4xf32>, %out: memref<4x4xf32>):
    %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
    %e = tensor.empty() : tensor<4x4xf32>
    %1 = linalg.exp ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = tp.compute %1 into %out : tensor<4x4xf32> into memref<4x4xf32>
  }
  %b = tp.alloc : memref<4x4xf32>
  tp.kernel reads(%h : memref<4x4xf32>) writes(%b : memref<4x4xf32>) {
  ^bb0(%in: memref<4x4xf32>, %out: memref<4x4xf32>):
    %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
    %e = tensor.empty() : tensor<4x4xf32>
    %1 = linalg.log ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = tp.compute %1 into %out : tensor<4x4xf32> into memref<4x4xf32>
  }
  return %a, %b : memref<4x4xf32>, memref<4x4xf32>
}

// -----

// So does what an update alone needs of a state, such as a moment, and before it what is computed
// from states alone, such as a factor for the step.

// CHECK-LABEL: func.func @updated_by_moment(
// CHECK:       tp.gemm %arg0, %arg0 into %[[G:.*]] :
// CHECK-DAG:   tp.kernel reads(%arg3 : memref<f32>) writes(%[[F:.*]], %{{.*}} : memref<f32>, memref<f32>)
// CHECK-DAG:   tp.gemm %[[G]], %arg2 into %[[M:.*]] :
// CHECK:       tp.kernel reads(%[[M]], %[[F]] : memref<4x4xf32>, memref<f32>)
// CHECK:       tp.gemm %arg1, %arg1 into
func.func @updated_by_moment(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %m: memref<4x4xf32> {tp.name = "m"}, %t: memref<f32> {tp.name = "t"})
    -> (memref<4x4xf32> {tp.updates = "m"}, memref<4x4xf32>, memref<f32> {tp.updates = "t"}, memref<4x4xf32>) {
  %g = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %x into %g : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %h = tp.alloc : memref<4x4xf32>
  tp.gemm %y, %y into %h : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %f = tp.alloc : memref<f32>
  %next = tp.alloc : memref<f32>
  tp.kernel reads(%t : memref<f32>) writes(%f, %next : memref<f32>, memref<f32>) {
  ^bb0(%in: memref<f32>, %out: memref<f32>, %out_next: memref<f32>):
    %0 = bufferization.to_tensor %in : memref<f32> to tensor<f32>
    %e = tensor.empty() : tensor<f32>
    %1 = linalg.exp ins(%0 : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
    %2 = tp.compute %1 into %out : tensor<f32> into memref<f32>
    %3 = linalg.log ins(%0 : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
    %4 = tp.compute %3 into %out_next : tensor<f32> into memref<f32>
  }
  %n = tp.alloc : memref<4x4xf32>
  tp.gemm %g, %m into %n : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %p = tp.alloc : memref<4x4xf32>
  tp.kernel reads(%n, %f : memref<4x4xf32>, memref<f32>) writes(%p : memref<4x4xf32>) {
  ^bb0(%in: memref<4x4xf32>, %factor: memref<f32>, %out: memref<4x4xf32>):
    %0 = bufferization.to_tensor %in : memref<4x4xf32> to tensor<4x4xf32>
    %1 = bufferization.to_tensor %factor : memref<f32> to tensor<f32>
    %e = tensor.empty() : tensor<4x4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<4x4xf32>, tensor<f32>) outs(%e : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = arith.mulf %a, %b : f32
      linalg.yield %d : f32
    } -> tensor<4x4xf32>
    %3 = tp.compute %2 into %out : tensor<4x4xf32> into memref<4x4xf32>
  }
  return %n, %p, %next, %h : memref<4x4xf32>, memref<4x4xf32>, memref<f32>, memref<4x4xf32>
}
