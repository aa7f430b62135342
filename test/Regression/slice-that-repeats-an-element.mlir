// A stride of 0 was divided by, and the compiler crashed.
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp '--input=x=6xf32=[0 1 2 3 4 5]' | FileCheck %s
// CHECK: y: f32[3], {{.*}}: [5, 5, 5]

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
func.func @main(%x: tensor<6xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<3xf32> {tp.name = "y"}) {
  %y = tensor.extract_slice %x[5] [3] [0] : tensor<6xf32> to tensor<3xf32>
  return %y : tensor<3xf32>
}
}
