// The place that a body yields as it is was erased, and the compiler crashed.
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp | FileCheck %s

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
// CHECK: i: index[5], {{.*}}: [0, 1, 2, 3, 4]
// CHECK: p: index[8], {{.*}}: [0, 0, 1, 2, 3, 4, 6, 7]
func.func @main() -> (tensor<5xindex> {tp.name = "i", tp.pin = {tp = #tp.placement<shard<0>>}}, tensor<8xindex> {tp.name = "p"}) {
  %0 = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<5xindex>
  %1 = tensor.pad %0 low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<5xindex> to tensor<8xindex>
  return %0, %1 : tensor<5xindex>, tensor<8xindex>
}
}
