// RUN: split-file %s %t
// RUN: tp-compile %t/small.mlir --plan=%t/plan.mlir --report=- -o %t/small.tp | FileCheck %s --check-prefix=SMALL
// RUN: sed 's/tensor<4x/tensor<1024x/g' %t/small.mlir > %t/large.mlir
// RUN: tp-compile %t/large.mlir --plan=%t/plan.mlir --report=- -o %t/large.tp | FileCheck %s --check-prefix=LARGE

// A reduce_scatter and an all_gather send what one all_reduce sends. Of the few
// bytes of a decode step the number of collectives decides, which doubled; of
// many bytes what ranks compute on shards in between.

// SMALL: collectives by kind
// SMALL-NEXT: kind
// SMALL-NEXT: all_reduce 2
// SMALL-EMPTY:

// LARGE: collectives by kind
// LARGE: reduce_scatter

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] auto {
  tp.result 0 replicate
}

//--- small.mlir
func.func @main(%x: tensor<4x32xf32> {tp.name = "x", tp.kind = "user_input"},
                %w1: tensor<32x64xf32> {tp.name = "w1", tp.kind = "parameter"},
                %w2: tensor<64x32xf32> {tp.name = "w2", tp.kind = "parameter"},
                %w3: tensor<32x64xf32> {tp.name = "w3", tp.kind = "parameter"},
                %w4: tensor<64x32xf32> {tp.name = "w4", tp.kind = "parameter"}) -> tensor<4x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x64xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %e2 = tensor.empty() : tensor<4x32xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %h1 = linalg.matmul ins(%x, %w1 : tensor<4x32xf32>, tensor<32x64xf32>) outs(%f1 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %a1 = math.tanh %h1 : tensor<4x64xf32>
  %y1 = linalg.matmul ins(%a1, %w2 : tensor<4x64xf32>, tensor<64x32xf32>) outs(%f2 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %n1 = math.tanh %y1 : tensor<4x32xf32>
  %h2 = linalg.matmul ins(%n1, %w3 : tensor<4x32xf32>, tensor<32x64xf32>) outs(%f1 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %a2 = math.tanh %h2 : tensor<4x64xf32>
  %y2 = linalg.matmul ins(%a2, %w4 : tensor<4x64xf32>, tensor<64x32xf32>) outs(%f2 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %n2 = math.tanh %y2 : tensor<4x32xf32>
  return %n2 : tensor<4x32xf32>
}
