// RUN: tp-opt %s --split-input-file --tp-insert-waits | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-insert-waits --mlir-print-debuginfo -o %t.once
// RUN: tp-opt %t.once --split-input-file --tp-insert-waits --mlir-print-debuginfo | diff %t.once -
// RUN: tp-opt %s --split-input-file --tp-cuda-compile=show=manifest -o /dev/null > %t.manifests
// RUN: tp-opt %t.once --split-input-file --tp-cuda-compile=show=manifest -o /dev/null | diff %t.manifests -
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.manifests

// The collective waits for what writes its source, and not for the product that
// runs beside it. What reads its result waits for it. All has ended then.

// CHECK-LABEL: @beside
// CHECK: tp.gemm {{.*}} into %[[A:.*]] {tp.queue = "compute"}
// CHECK-NEXT: %[[FIRST:.*]] = tp.signal compute
// CHECK: tp.gemm {{.*}} into %[[B:.*]] {tp.queue = "compute"}
// CHECK-NOT: tp.signal
// CHECK: tp.wait communication for %[[FIRST]]
// CHECK-NEXT: tp.communicate %[[A]] into %[[C:.*]] :
// CHECK: } {tp.queue = "communication"}
// CHECK-NEXT: %[[SUM:.*]] = tp.signal communication
// CHECK: tp.wait compute for %[[SUM]]
// CHECK-NEXT: tp.gemm %[[C]], %[[B]] into
// CHECK-NEXT: return
// MANIFEST: "name":"beside"
// MANIFEST: {"command":"gemm",
// MANIFEST-NEXT: {"command":"gemm",
// MANIFEST-NOT: wait_for
// MANIFEST-NEXT: {"command":"collective",{{.*}}"queue":"communication","wait_for":0},
// MANIFEST-NEXT: {"command":"gemm",{{.*}}"wait_for":2}
// MANIFEST-NOT: end_waits_for
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @beside(%x: memref<4x4xf32>) -> memref<4x4xf32> {
    %0 = tp.alloc at 0 : memref<4x4xf32>
    tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %1 = tp.alloc at 256 : memref<4x4xf32>
    tp.gemm %x, %x into %1 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %2 = tp.alloc at 512 : memref<4x4xf32>
    tp.communicate %0 into %2 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %3 = tp.alloc : memref<4x4xf32>
    tp.gemm %2, %1 into %3 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    return %3 : memref<4x4xf32>
  }
}

// -----

// Values that have nothing to do with each other share memory: what is written
// over the source of a collective waits for it. It is waited for once.

// CHECK-LABEL: @reused
// CHECK: tp.communicate
// CHECK: %[[SUM:.*]] = tp.signal communication
// CHECK: tp.wait compute for %[[SUM]]
// CHECK: tp.kernel
// CHECK-NOT: tp.wait
// CHECK: return
// MANIFEST: "name":"reused"
// MANIFEST: {"command":"kernel",{{.*}}"wait_for":1},
// MANIFEST-NEXT: {"command":"gemm",
// MANIFEST-NOT: wait_for
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @reused(%x: memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>) {
    %0 = tp.alloc at 0 : memref<4x4xf32>
    tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %1 = tp.alloc : memref<4x4xf32>
    tp.communicate %0 into %1 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %2 = tp.alloc at 0 : memref<4x4xf32>
    tp.kernel reads(%x : memref<4x4xf32>) writes(%2 : memref<4x4xf32>) {
    ^bb0(%a: memref<4x4xf32>, %b: memref<4x4xf32>):
      %4 = bufferization.to_tensor %a : memref<4x4xf32> to tensor<4x4xf32>
      %5 = tensor.empty() : tensor<4x4xf32>
      %6 = linalg.exp ins(%4 : tensor<4x4xf32>) outs(%5 : tensor<4x4xf32>) -> tensor<4x4xf32>
      %7 = tp.compute %6 into %b : tensor<4x4xf32> into memref<4x4xf32>
    }
    %3 = tp.alloc : memref<4x4xf32>
    tp.gemm %2, %1 into %3 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    return %1, %3 : memref<4x4xf32>, memref<4x4xf32>
  }
}

// -----

// Only what both touch counts: parts of one buffer that do not overlap are
// nothing to wait for, and two that read one argument do not wait. The end of the
// step waits for the last collective.

// CHECK-LABEL: @parts
// CHECK-NOT: tp.wait
// CHECK: tp.communicate
// CHECK: %[[SUM:.*]] = tp.signal communication
// CHECK: tp.gemm
// CHECK-NEXT: tp.wait compute for %[[SUM]]
// CHECK-NEXT: return
// MANIFEST: "name":"parts"
// MANIFEST-NOT: wait_for
// MANIFEST: "end_waits_for":0}
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @parts(%x: memref<4x4xf32>) -> memref<8x4xf32> {
    %0 = tp.alloc : memref<8x4xf32>
    %1 = memref.reinterpret_cast %0 to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1]>>
    %2 = memref.reinterpret_cast %0 to offset: [16], sizes: [4, 4], strides: [4, 1] : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
    tp.communicate %x into %1 : memref<4x4xf32>, memref<4x4xf32, strided<[4, 1]>> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    tp.gemm %x, %x into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32, strided<[4, 1], offset: 16>>
    return %0 : memref<8x4xf32>
  }
}

// -----

// Collectives that share nothing start as one; the one that reads what the first
// makes begins anew. A gather into several blocks is more than one call.

// CHECK-LABEL: @together
// CHECK: } {tp.queue = "communication"}
// CHECK: } {tp.queue = "communication", tp.with_previous}
// CHECK: } {tp.queue = "communication"}
// CHECK: } {tp.queue = "communication"}
// CHECK: %[[LAST:.*]] = tp.signal communication
// CHECK-NEXT: tp.wait compute for %[[LAST]]
// MANIFEST: "name":"together"
// MANIFEST: {"command":"collective","id":1,{{.*}}"queue":"communication","with_previous":true},
// MANIFEST-NEXT: {"command":"collective","id":2,{{.*}}"queue":"communication"},
// MANIFEST-NEXT: {"command":"collective","id":3,{{.*}}"queue":"communication"}
// MANIFEST: "end_waits_for":3}
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @together(%x: memref<4x4xf32>) -> (memref<4x4xf32>, memref<8x4xf32>, memref<4x4xf32>, memref<4x8xf32>) {
    %0 = tp.alloc : memref<4x4xf32>
    tp.communicate %x into %0 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %1 = tp.alloc : memref<8x4xf32>
    tp.communicate %x into %1 : memref<4x4xf32>, memref<8x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_gather %a dim 0 over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<8x4xf32>
    }
    %2 = tp.alloc : memref<4x4xf32>
    tp.communicate %0 into %2 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %3 = tp.alloc : memref<4x8xf32>
    tp.communicate %x into %3 : memref<4x4xf32>, memref<4x8xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_gather %a dim 1 over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x8xf32>
    }
    return %0, %1, %2, %3 : memref<4x4xf32>, memref<8x4xf32>, memref<4x4xf32>, memref<4x8xf32>
  }
}

// -----

// A group that waits waits at its start: one that has to wait for more begins
// anew.

// CHECK-LABEL: @apart
// CHECK: tp.gemm
// CHECK-NEXT: %[[FIRST:.*]] = tp.signal compute
// CHECK: tp.communicate
// CHECK: } {tp.queue = "communication"}
// CHECK: tp.wait communication for %[[FIRST]]
// CHECK-NEXT: tp.communicate
// CHECK: } {tp.queue = "communication"}
// CHECK: } {tp.queue = "communication", tp.with_previous}
// MANIFEST: "name":"apart"
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @apart(%x: memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) {
    %0 = tp.alloc : memref<4x4xf32>
    tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %1 = tp.alloc : memref<4x4xf32>
    tp.communicate %x into %1 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %2 = tp.alloc : memref<4x4xf32>
    tp.communicate %0 into %2 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %3 = tp.alloc : memref<4x4xf32>
    tp.communicate %x into %3 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    return %0, %1, %2, %3 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  }
}

// -----

// An attention is one command with its steps, which touch memory of their own:
// the step writes scores where the collective reads.

// CHECK-LABEL: @steps
// CHECK: tp.communicate
// CHECK: %[[SUM:.*]] = tp.signal communication
// CHECK: tp.wait compute for %[[SUM]]
// CHECK-NEXT: tp.attention
// CHECK: tp.gemm
// CHECK-NOT: tp.queue
// CHECK: } {tp.queue = "compute"}
// MANIFEST: "name":"steps"
// MANIFEST: {"command":"attention",
// MANIFEST-NOT: "queue"
// MANIFEST: "wait_for":1}
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @steps(%q: memref<1x1x4x4xf32>, %x: memref<4x4xf32>) -> (memref<1x1x4x4xf32>, memref<4x4xf32>) {
    %0 = tp.alloc at 0 : memref<4x4xf32>
    tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %1 = tp.alloc : memref<4x4xf32>
    tp.communicate %0 into %1 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    }
    %2 = tp.alloc : memref<1x1x4x4xf32>
    %3 = tp.alloc at 0 : memref<4x4xf32>
    tp.attention %q, %q, %q into %2 scale 1.0 flops 64 bytes 128 {
      tp.gemm %x, %x into %3 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      %4 = memref.reinterpret_cast %2 to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<1x1x4x4xf32> to memref<4x4xf32, strided<[4, 1]>>
      tp.gemm %3, %x into %4 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32, strided<[4, 1]>>
    } : memref<1x1x4x4xf32>, memref<1x1x4x4xf32>, memref<1x1x4x4xf32>, memref<1x1x4x4xf32>
    return %2, %1 : memref<1x1x4x4xf32>, memref<4x4xf32>
  }
}

// -----

// Waits by hand stay as they are: more than needed is right.

// CHECK-LABEL: @by_hand
// CHECK: tp.wait communication
// CHECK-NEXT: tp.communicate
// CHECK: tp.wait compute
// CHECK-NEXT: tp.gemm
// CHECK-NEXT: return
// MANIFEST: "name":"by_hand"
// MANIFEST: "wait_for":0
// MANIFEST: "wait_for":1
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @by_hand(%x: memref<4x4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) {
    %0 = tp.alloc : memref<4x4xf32>
    tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    %1 = tp.signal compute
    %2 = tp.alloc : memref<4x4xf32>
    tp.wait communication for %1
    tp.communicate %x into %2 : memref<4x4xf32>, memref<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x4xf32> -> tensor<4x4xf32>
    } {tp.queue = "communication"}
    %3 = tp.signal communication
    %4 = tp.alloc : memref<4x4xf32>
    tp.wait compute for %3
    tp.gemm %x, %x into %4 {tp.queue = "compute"} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    return %0, %2, %4 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  }
}
