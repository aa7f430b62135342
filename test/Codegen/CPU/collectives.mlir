// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// CHECK:      "groups":[
// CHECK-NEXT: {"id":0,"axes":["tp"]}]
// CHECK:      "collectives":[
// CHECK-NEXT: {"kind":"all_reduce","group":0,"dtype":"f32","reduction":"sum","wire_bytes":128,"ring_bytes_per_rank":128,"module":"layers.0.wo","location":"mm","reason":"wanted"},
// The real size of what is gathered is 7 columns of 8.
// CHECK-NEXT: {"kind":"all_gather","group":0,"dtype":"f32","wire_bytes":128,"payload_bytes":112,"ring_bytes_per_rank":56
// CHECK-NEXT: {"kind":"reduce_scatter","group":0,"dtype":"f32","reduction":"sum",
// CHECK-NEXT: {"kind":"all_to_all",
// CHECK-NEXT: {"kind":"permute",

// CHECK:      "program":[
// CHECK-NEXT: {"command":"collective","id":0,"input":{"space":"argument"},"output":{"space":"arena"},"block":32},
// The slice is copied, and the copy is gathered.
// CHECK-NEXT: {"command":"kernel","function":"{{.*}}","buffers":[{"space":"arena"},{"space":"arena","offset":128}]
// An all_gather along dim 1 of 4x4.
// CHECK-NEXT: {"command":"collective","id":1,"input":{"space":"arena","offset":128},"output":{{.*}},"outer":4,"block":4},
// A reduce_scatter along dim 1.
// CHECK-NEXT: {"command":"collective","id":2,{{.*}},"outer":4,"block":4},
// CHECK-NEXT: {"command":"collective","id":3,{{.*}},"block":8},
// CHECK-NEXT: {"command":"kernel","function":"{{.*}}","buffers":[{"space":"arena"},{"space":"arena","offset":64}]
// CHECK-NEXT: {"command":"collective","id":4,{{.*}},"sources":[1,0]}
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
// CHECK:      "program":[
// CHECK-NEXT: {"command":"kernel",{{.*}}"buffers":[{"space":"argument"},{"space":"arena"}]
// CHECK-NEXT: {"command":"collective","id":0,"input":{"space":"arena"},
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
