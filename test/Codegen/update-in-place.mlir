// RUN: tp-opt %s --split-input-file --tp-update-in-place --tp-schedule | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-update-in-place=target=cuda -o /dev/null
// RUN: tp-opt %s --split-input-file --tp-update-in-place --mlir-print-debuginfo -o %t.once
// RUN: tp-opt %t.once --split-input-file --tp-update-in-place --mlir-print-debuginfo | diff %t.once -
// RUN: tp-opt %t.once --split-input-file --tp-schedule --tp-plan-memory -o /dev/null

// What is read and written element by element stays where it is. The result is
// stored as another shape than the argument.

// CHECK-LABEL: @step
// CHECK-SAME: (%[[P:.*]]: memref<2x3xf32> {tp.name = "p"}
// CHECK-SAME: -> (memref<2x3xf32> {tp.updates = "p"})
// CHECK: tp.alloc in %[[P]] of memref<2x3xf32> : memref<6xf32>
func.func @step(%p: memref<2x3xf32> {tp.name = "p"}, %g: memref<6xf32>) -> (memref<2x3xf32> {tp.updates = "p"}) {
  %0 = tp.alloc : memref<6xf32>
  tp.kernel reads(%p, %g : memref<2x3xf32>, memref<6xf32>) writes(%0 : memref<6xf32>) {
  ^bb0(%a: memref<2x3xf32>, %b: memref<6xf32>, %c: memref<6xf32>):
    %1 = bufferization.to_tensor %a : memref<2x3xf32> to tensor<2x3xf32>
    %2 = bufferization.to_tensor %b : memref<6xf32> to tensor<6xf32>
    %3 = tensor.collapse_shape %1 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
    %e4 = tensor.empty() : tensor<6xf32>
    %4 = linalg.sub ins(%3, %2 : tensor<6xf32>, tensor<6xf32>) outs(%e4 : tensor<6xf32>) -> tensor<6xf32>
    %5 = tp.compute %4 into %c : tensor<6xf32> into memref<6xf32>
  }
  %r = memref.reinterpret_cast %0 to offset: [0], sizes: [2, 3], strides: [3, 1] : memref<6xf32> to memref<2x3xf32>
  return %r : memref<2x3xf32>
}

// -----

// The product reads the weight after it was updated: tp-schedule moves the update
// behind it, with what reads the new weight.

// CHECK-LABEL: @later
// CHECK-SAME: (%[[W:.*]]: memref<4x4xf32> {tp.kind = "parameter"
// CHECK: %[[Y:.*]] = tp.alloc : memref<4x4xf32>
// CHECK: tp.gemm %{{.*}}, %[[W]] into %[[Y]]
// CHECK: %[[NEW:.*]] = tp.alloc in %[[W]] of memref<4x4xf32> : memref<4x4xf32>
// CHECK: tp.kernel reads(%[[W]] : {{.*}} writes(%[[NEW]]
// CHECK: %[[Z:.*]] = tp.alloc : memref<4x4xf32>
// CHECK: tp.gemm %{{.*}}, %[[NEW]] into %[[Z]]
// CHECK: return %[[NEW]], %[[Z]], %[[Y]]
func.func @later(%w: memref<4x4xf32> {tp.name = "w", tp.kind = "parameter"}, %x: memref<4x4xf32>) -> (memref<4x4xf32> {tp.name = "w", tp.kind = "new_parameter"}, memref<4x4xf32>, memref<4x4xf32>) {
  %0 = tp.alloc : memref<4x4xf32>
  tp.kernel reads(%w : memref<4x4xf32>) writes(%0 : memref<4x4xf32>) {
  ^bb0(%a: memref<4x4xf32>, %b: memref<4x4xf32>):
    %3 = bufferization.to_tensor %a : memref<4x4xf32> to tensor<4x4xf32>
    %e4 = tensor.empty() : tensor<4x4xf32>
    %4 = linalg.add ins(%3, %3 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e4 : tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = tp.compute %4 into %b : tensor<4x4xf32> into memref<4x4xf32>
  }
  %1 = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %0 into %1 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %2 = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %w into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return %0, %1, %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

// One of two states that are swapped is copied.

// CHECK-LABEL: @swap
// CHECK-SAME: (%[[A:.*]]: memref<4xf32> {tp.name = "a"}, %[[B:.*]]: memref<4xf32> {tp.name = "b"})
// CHECK-SAME: (memref<4xf32> {tp.updates = "a"}, memref<4xf32> {tp.copied = "'to_a' reads the old value and has to come after 'to_b', which writes the new one", tp.updates = "b"})
// CHECK: %[[OWN:.*]] = tp.alloc : memref<4xf32>
// CHECK: tp.kernel reads(%[[A]] : {{.*}} writes(%[[OWN]]
// CHECK: %[[IN:.*]] = tp.alloc in %[[A]] of memref<4xf32>
// CHECK: tp.kernel reads(%[[B]] : {{.*}} writes(%[[IN]]
func.func @swap(%a: memref<4xf32> {tp.name = "a"}, %b: memref<4xf32> {tp.name = "b"}) -> (memref<4xf32> {tp.updates = "a"}, memref<4xf32> {tp.updates = "b"}) {
  %0 = tp.alloc : memref<4xf32>
  tp.kernel reads(%b : memref<4xf32>) writes(%0 : memref<4xf32>) {
  ^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
    %2 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
    %3 = tp.compute %2 into %y : tensor<4xf32> into memref<4xf32>
  } loc("to_a")
  %1 = tp.alloc : memref<4xf32>
  tp.kernel reads(%a : memref<4xf32>) writes(%1 : memref<4xf32>) {
  ^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
    %2 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
    %3 = tp.compute %2 into %y : tensor<4xf32> into memref<4xf32>
  } loc("to_b")
  return %0, %1 : memref<4xf32>, memref<4xf32>
}

// -----

// Read backwards, an element would be lost before it is read.

// CHECK-LABEL: @backwards
// CHECK-SAME: (memref<4xf32> {tp.copied = "'turn' of module 'flip' reads elements of the old value after it writes in their place", tp.updates = "a"})
// CHECK: tp.alloc : memref<4xf32>
func.func @backwards(%a: memref<4xf32> {tp.name = "a"}) -> (memref<4xf32> {tp.updates = "a"}) {
  %0 = tp.alloc : memref<4xf32>
  tp.kernel reads(%a : memref<4xf32>) writes(%0 : memref<4xf32>) {
  ^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
    %2 = bufferization.to_tensor %x : memref<4xf32> to tensor<4xf32>
    %3 = tensor.empty() : tensor<4xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (3 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%2 : tensor<4xf32>) outs(%3 : tensor<4xf32>) {
    ^bb0(%i: f32, %o: f32):
      linalg.yield %i : f32
    } -> tensor<4xf32>
    %5 = tp.compute %4 into %y : tensor<4xf32> into memref<4xf32>
  } loc("flip"("turn"))
  return %0 : memref<4xf32>
}

// -----

// A product overwrites a state that another product reads; its own factors stay
// apart from what it writes.

// CHECK-LABEL: @products
// CHECK-SAME: (%{{.*}}: memref<4x4xf32>, %[[S:.*]]: memref<4x4xf32> {tp.name = "s"}, %{{.*}}: memref<4x4xf32> {tp.name = "t"})
// CHECK-SAME: memref<4x4xf32> {tp.updates = "s"}
// CHECK-SAME: tp.copied = "'product' reads elements of the old value after it writes in their place", tp.updates = "t"
// CHECK: tp.alloc in %[[S]]
func.func @products(%x: memref<4x4xf32>, %s: memref<4x4xf32> {tp.name = "s"}, %t: memref<4x4xf32> {tp.name = "t"}) -> (memref<4x4xf32> {tp.updates = "s"}, memref<4x4xf32>, memref<4x4xf32> {tp.updates = "t"}) {
  %0 = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %1 = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %s into %1 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %2 = tp.alloc : memref<4x4xf32>
  tp.gemm %x, %t into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32> loc("product")
  return %0, %1, %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

// An argument that nothing reads is there for its next value. One stored in
// another order, and parts of one memory, keep their memory.

// CHECK-LABEL: @alone
// CHECK-SAME: %{{[^:]*}}: memref<4xf32>, %[[UNREAD:[^:]*]]: memref<4xf32>
// CHECK-SAME: (memref<4xf32> {tp.updates = "unread"}, memref<4x2xf32> {tp.updates = "turned"}, memref<4xf32> {tp.copied = "the argument is in one memory with others", tp.updates = "part"})
// CHECK: tp.alloc in %[[UNREAD]] of memref<4xf32>
// CHECK-NOT: tp.alloc in
func.func @alone(%x: memref<4xf32>, %unread: memref<4xf32> {tp.name = "unread"}, %turned: memref<4x2xf32, strided<[1, 4]>> {tp.name = "turned"}, %part: memref<4xf32> {tp.name = "part"}, %other: memref<4xf32> {tp.name = "other"}, %joined: memref<8xf32> {tp.joined = array<i64: 3, 4>}) -> (memref<4xf32> {tp.updates = "unread"}, memref<4x2xf32> {tp.updates = "turned"}, memref<4xf32> {tp.updates = "part"}) {
  %0 = tp.alloc : memref<4xf32>
  %1 = tp.alloc : memref<4x2xf32>
  %2 = tp.alloc : memref<4xf32>
  tp.kernel reads(%x, %joined : memref<4xf32>, memref<8xf32>) writes(%0, %2 : memref<4xf32>, memref<4xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<8xf32>, %c: memref<4xf32>, %d: memref<4xf32>):
    %3 = bufferization.to_tensor %a : memref<4xf32> to tensor<4xf32>
    %4 = bufferization.to_tensor %b : memref<8xf32> to tensor<8xf32>
    %5 = tensor.extract_slice %4[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %e6 = tensor.empty() : tensor<4xf32>
    %6 = linalg.add ins(%3, %5 : tensor<4xf32>, tensor<4xf32>) outs(%e6 : tensor<4xf32>) -> tensor<4xf32>
    %7 = tp.compute %3 into %c : tensor<4xf32> into memref<4xf32>
    %8 = tp.compute %6 into %d : tensor<4xf32> into memref<4xf32>
  }
  tp.kernel reads(%turned : memref<4x2xf32, strided<[1, 4]>>) writes(%1 : memref<4x2xf32>) {
  ^bb0(%a: memref<4x2xf32, strided<[1, 4]>>, %b: memref<4x2xf32>):
    %3 = bufferization.to_tensor %a : memref<4x2xf32, strided<[1, 4]>> to tensor<4x2xf32>
    %e4 = tensor.empty() : tensor<4x2xf32>
    %4 = linalg.add ins(%3, %3 : tensor<4x2xf32>, tensor<4x2xf32>) outs(%e4 : tensor<4x2xf32>) -> tensor<4x2xf32>
    %5 = tp.compute %4 into %b : tensor<4x2xf32> into memref<4x2xf32>
  }
  return %0, %1, %2 : memref<4xf32>, memref<4x2xf32>, memref<4xf32>
}

// -----

// A result that is laid out otherwise than the argument is no next value of it.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
// CHECK-LABEL: @otherwise
// CHECK-NOT: tp.alloc in
func.func @otherwise(%w: memref<2x2xf32> {tp.name = "w", tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [replicate]>}) -> (memref<2x2xf32> {tp.name = "w", tp.kind = "new_parameter", tp.layout = #tp.layout<#mesh, [shard<1>]>}) {
  %0 = tp.alloc : memref<2x2xf32>
  tp.kernel reads(%w : memref<2x2xf32>) writes(%0 : memref<2x2xf32>) {
  ^bb0(%a: memref<2x2xf32>, %b: memref<2x2xf32>):
    %1 = bufferization.to_tensor %a : memref<2x2xf32> to tensor<2x2xf32>
    %e2 = tensor.empty() : tensor<2x2xf32>
    %2 = linalg.add ins(%1, %1 : tensor<2x2xf32>, tensor<2x2xf32>) outs(%e2 : tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = tp.compute %2 into %b : tensor<2x2xf32> into memref<2x2xf32>
  }
  return %0 : memref<2x2xf32>
}
}

// -----

// One of two readers has to come after the write: the write stays before the
// other one too.

// CHECK-LABEL: @refused
// CHECK-SAME: (%[[A:.*]]: memref<4xf32> {tp.name = "a"}, %[[X:.*]]: memref<4xf32>)
// CHECK-SAME: {tp.copied = "'reads_both' reads the old value and has to come after 'writes', which writes the new one", tp.updates = "a"}
// CHECK: tp.kernel reads(%[[X]] : {{.*}} writes(%[[NEW:.*]] :
// CHECK: tp.kernel reads(%[[A]] :
// CHECK: tp.kernel reads(%[[A]], %[[NEW]] :
func.func @refused(%a: memref<4xf32> {tp.name = "a"}, %x: memref<4xf32>) -> (memref<4xf32> {tp.updates = "a"}, memref<4xf32>, memref<4xf32>) {
  %0 = tp.alloc : memref<4xf32>
  tp.kernel reads(%x : memref<4xf32>) writes(%0 : memref<4xf32>) {
  ^bb0(%b: memref<4xf32>, %c: memref<4xf32>):
    %3 = bufferization.to_tensor %b : memref<4xf32> to tensor<4xf32>
    %4 = tp.compute %3 into %c : tensor<4xf32> into memref<4xf32>
  } loc("writes")
  %1 = tp.alloc : memref<4xf32>
  tp.kernel reads(%a : memref<4xf32>) writes(%1 : memref<4xf32>) {
  ^bb0(%b: memref<4xf32>, %c: memref<4xf32>):
    %3 = bufferization.to_tensor %b : memref<4xf32> to tensor<4xf32>
    %4 = tp.compute %3 into %c : tensor<4xf32> into memref<4xf32>
  } loc("reads_one")
  %2 = tp.alloc : memref<4xf32>
  tp.kernel reads(%a, %0 : memref<4xf32>, memref<4xf32>) writes(%2 : memref<4xf32>) {
  ^bb0(%b: memref<4xf32>, %c: memref<4xf32>, %d: memref<4xf32>):
    %3 = bufferization.to_tensor %b : memref<4xf32> to tensor<4xf32>
    %4 = bufferization.to_tensor %c : memref<4xf32> to tensor<4xf32>
    %e5 = tensor.empty() : tensor<4xf32>
    %5 = linalg.add ins(%3, %4 : tensor<4xf32>, tensor<4xf32>) outs(%e5 : tensor<4xf32>) -> tensor<4xf32>
    %6 = tp.compute %5 into %d : tensor<4xf32> into memref<4xf32>
  } loc("reads_both")
  return %0, %1, %2 : memref<4xf32>, memref<4xf32>, memref<4xf32>
}
