// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// CHECK:      "collectives": [
// CHECK:        "axes": [
// CHECK-NEXT:     "tp"
// CHECK:        "count": 1,
// CHECK-NEXT:   "dtype": "f32",
// CHECK-NEXT:   "group": 0,
// CHECK-NEXT:   "id": 0,
// CHECK-NEXT:   "kind": "all_reduce",
// CHECK-NEXT:   "location": "mm",
// CHECK-NEXT:   "module": "layers.0.wo",
// CHECK-NEXT:   "order": "rank",
// CHECK-NEXT:   "payload_bytes": 128,
// CHECK-NEXT:   "reason": "wanted",
// CHECK-NEXT:   "reduction": "sum",
// CHECK-NEXT:   "ring_bytes_per_rank": 128,
// CHECK-NEXT:   "wire_bytes": 128
// CHECK:        "kind": "all_gather",
// The real size of what is gathered is 7 columns of 8.
// CHECK:        "payload_bytes": 112,
// CHECK:        "ring_bytes_per_rank": 56,
// CHECK-NEXT:   "wire_bytes": 128
// CHECK:        "kind": "reduce_scatter",
// CHECK:        "kind": "all_to_all",
// CHECK:        "kind": "permute",
// CHECK:      "groups": [
// CHECK:        "axes": [
// CHECK:        "ranks": [

// CHECK:      "program": [
// CHECK:        "block": 32,
// CHECK-NEXT:   "command": "collective",
// CHECK-NEXT:   "id": 0,
// CHECK:        "outer": 1
// The slice is copied, and the copy is gathered.
// CHECK:        "buffers": [
// CHECK-NEXT:     {
// CHECK-NEXT:       "offset": 0,
// CHECK-NEXT:       "space": "arena"
// CHECK-NEXT:     },
// CHECK-NEXT:     {
// CHECK-NEXT:       "offset": 128,
// CHECK-NEXT:       "space": "arena"
// CHECK-NEXT:     }
// CHECK-NEXT:   ],
// CHECK-NEXT:   "command": "kernel"
// An all_gather along dim 1 of 4x4.
// CHECK:        "block": 4,
// CHECK-NEXT:   "command": "collective",
// CHECK-NEXT:   "id": 1,
// CHECK-NEXT:   "input": {
// CHECK-NEXT:     "offset": 128,
// CHECK:        "outer": 4
// A reduce_scatter along dim 1.
// CHECK:        "block": 4,
// CHECK-NEXT:   "command": "collective",
// CHECK-NEXT:   "id": 2,
// CHECK:        "outer": 4
// CHECK:        "block": 8,
// CHECK-NEXT:   "command": "collective",
// CHECK-NEXT:   "id": 3,
// CHECK:        "outer": 1
// CHECK:        "command": "collective",
// CHECK-NEXT:   "id": 4,
// CHECK:        "sources": [
// CHECK-NEXT:     1,
// CHECK-NEXT:     0
#mesh = #tp.mesh<"tp" = 2>
#axes = #tp.axes<<"tp" = 2>, ["tp"]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
    %0 = tp.all_reduce sum %x over #axes {tp.reason = "wanted"} : tensor<4x8xf32> -> tensor<4x8xf32> loc("layers.0.wo"("mm"))
    %1 = tensor.extract_slice %0[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
    %2 = tp.all_gather %1 dim 1 over #axes {tp.payload_elements = 28 : i64} : tensor<4x4xf32> -> tensor<4x8xf32>
    %3 = tp.reduce_scatter sum %2 dim 1 over #axes : tensor<4x8xf32> -> tensor<4x4xf32>
    %4 = tp.all_to_all %3 split 0 concat 1 over #axes : tensor<4x4xf32> -> tensor<2x8xf32>
    %5 = tp.permute %4 sources [1, 0] over #axes : tensor<2x8xf32> -> tensor<2x8xf32>
    return %5 : tensor<2x8xf32>
  }
}

// -----

// What a collective reads through a transpose is computed in that order: the
// kernel's buffer is the collective's.
// CHECK:      "program": [
// CHECK:          "index": 0,
// CHECK-NEXT:     "offset": 0,
// CHECK-NEXT:     "space": "argument"
// CHECK-NEXT:   },
// CHECK-NEXT:   {
// CHECK-NEXT:     "offset": 0,
// CHECK-NEXT:     "space": "arena"
// CHECK-NEXT:   }
// CHECK-NEXT: ],
// CHECK-NEXT: "command": "kernel"
// CHECK:      "command": "collective",
// CHECK-NEXT: "id": 0,
// CHECK-NEXT: "input": {
// CHECK-NEXT:   "offset": 0,
// CHECK-NEXT:   "space": "arena"
#mesh = #tp.mesh<"tp" = 2>
#axes = #tp.axes<<"tp" = 2>, ["tp"]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %t = tensor.empty() : tensor<8x4xf32>
    %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = linalg.transpose ins(%0 : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>) permutation = [1, 0]
    %2 = tp.all_reduce sum %1 over #axes : tensor<8x4xf32> -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
