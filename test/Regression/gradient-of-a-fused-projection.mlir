// RUN: split-file %s %t
// RUN: tp-opt %t/model.mlir --tp-legalize --tp-normalize --tp-verify-normal-form | FileCheck %s --check-prefix=NORMAL
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir --mesh=tp=2 --verify --report=%t/two.txt -o %t/two.tp
// RUN: FileCheck %s < %t/two.txt
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir --mesh=tp=4 --verify --report=%t/four.txt -o %t/four.tp
// RUN: FileCheck %s < %t/four.txt

// The gradient of queries, keys and values from one projection is a sum of
// three gradients in zeros of the whole shape; of the last values there is
// none. Ranks have heads of each: tp gathered or exchanged them before.

// NORMAL: tensor.concat
// NORMAL-NOT: tensor.insert_slice

// CHECK: collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce 1
// CHECK-EMPTY:

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.argument "w" shard<1>
  tp.result 0 replicate
}

//--- model.mlir
func.func @main(%x: tensor<24x96xf32> {tp.name = "x", tp.kind = "user_input"},
                %w: tensor<96x200xf32> {tp.name = "w", tp.kind = "parameter"}) -> tensor<24x96xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<24x200xf32>
  %e = tensor.empty() : tensor<24x200xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24x200xf32>) -> tensor<24x200xf32>
  %h = linalg.matmul ins(%x, %w : tensor<24x96xf32>, tensor<96x200xf32>) outs(%z : tensor<24x200xf32>) -> tensor<24x200xf32>
  %q = tensor.extract_slice %h[0, 0] [24, 96] [1, 1] : tensor<24x200xf32> to tensor<24x96xf32>
  %k = tensor.extract_slice %h[0, 96] [24, 48] [1, 1] : tensor<24x200xf32> to tensor<24x48xf32>
  %v = tensor.extract_slice %h[0, 144] [24, 48] [1, 1] : tensor<24x200xf32> to tensor<24x48xf32>
  %dq = math.sin %q : tensor<24x96xf32>
  %dk = math.cos %k : tensor<24x48xf32>
  %dv = arith.mulf %k, %v : tensor<24x48xf32>
  %pv = tensor.insert_slice %dv into %zeros[0, 144] [24, 48] [1, 1] : tensor<24x48xf32> into tensor<24x200xf32>
  %pk = tensor.insert_slice %dk into %zeros[0, 96] [24, 48] [1, 1] : tensor<24x48xf32> into tensor<24x200xf32>
  %pq = tensor.insert_slice %dq into %zeros[0, 0] [24, 96] [1, 1] : tensor<24x96xf32> into tensor<24x200xf32>
  %two = arith.addf %pv, %pk : tensor<24x200xf32>
  %three = arith.addf %two, %pq : tensor<24x200xf32>
  %e2 = tensor.empty() : tensor<24x96xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<24x96xf32>) -> tensor<24x96xf32>
  %dx = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                        iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%three, %w : tensor<24x200xf32>, tensor<96x200xf32>) outs(%z2 : tensor<24x96xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<24x96xf32>
  return %dx : tensor<24x96xf32>
}
