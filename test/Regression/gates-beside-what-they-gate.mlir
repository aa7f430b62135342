// RUN: split-file %s %t
// RUN: tp-opt %t/model.mlir --tp-legalize --tp-normalize --tp-verify-normal-form | FileCheck %s --check-prefix=NORMAL
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir --mesh=tp=2 --verify --report=%t/two.txt -o %t/two.tp
// RUN: FileCheck %s < %t/two.txt
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir --mesh=tp=3 --verify --report=%t/three.txt -o %t/three.tp
// RUN: FileCheck %s < %t/three.txt

// Every second column of a product is a gate, the other ones are gated. Ranks
// have pairs of columns: tp exchanged columns before.

// NORMAL: tensor.extract_slice {{.*}} : tensor<48x160x2xf32> to tensor<48x160xf32>
// NORMAL-NOT: [1, 2]

// CHECK: collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce 1
// CHECK-EMPTY:

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.argument "w" shard<1>
  tp.argument "v" shard<0>
  tp.result 0 replicate
}

//--- model.mlir
func.func @main(%x: tensor<48x96xf32> {tp.name = "x", tp.kind = "user_input"},
                %w: tensor<96x320xf32> {tp.name = "w", tp.kind = "parameter"},
                %v: tensor<160x96xf32> {tp.name = "v", tp.kind = "parameter"}) -> tensor<48x96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x320xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x320xf32>) -> tensor<48x320xf32>
  %h = linalg.matmul ins(%x, %w : tensor<48x96xf32>, tensor<96x320xf32>) outs(%z : tensor<48x320xf32>) -> tensor<48x320xf32>
  %g = tensor.extract_slice %h[0, 0] [48, 160] [1, 2] : tensor<48x320xf32> to tensor<48x160xf32>
  %u = tensor.extract_slice %h[0, 1] [48, 160] [1, 2] : tensor<48x320xf32> to tensor<48x160xf32>
  %m = arith.mulf %g, %u : tensor<48x160xf32>
  %e2 = tensor.empty() : tensor<48x96xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<48x96xf32>) -> tensor<48x96xf32>
  %y = linalg.matmul ins(%m, %v : tensor<48x160xf32>, tensor<160x96xf32>) outs(%z2 : tensor<48x96xf32>) -> tensor<48x96xf32>
  return %y : tensor<48x96xf32>
}
