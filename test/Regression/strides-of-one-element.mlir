// A slice of one element with a stride of -1 was written behind its place, too.
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp '--input=x=6xf32=[0 1 2 3 4 5]' --input=z=1xf32=9 | FileCheck %s
// CHECK: w: f32[6], {{.*}}: [0, 1, 9, 3, 4, 5]
// CHECK: y: f32[1], {{.*}}: [4]

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
func.func @main(%x: tensor<6xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<0>>}}, %z: tensor<1xf32> {tp.name = "z"}) -> (tensor<6xf32> {tp.name = "w"}, tensor<1xf32> {tp.name = "y"}) {
  %w = tensor.insert_slice %z into %x[2] [1] [-1] : tensor<1xf32> into tensor<6xf32>
  %y = tensor.extract_slice %x[4] [1] [0] : tensor<6xf32> to tensor<1xf32>
  return %w, %y : tensor<6xf32>, tensor<1xf32>
}
}
