// A row-parallel product: every rank has a part of the sum. Wherever the whole
// value or a shard is wanted it is reduced, once.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=w=@%t.w.npy
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.x.npy=6,10 %t.w.npy=10,8
// RUN: tp-compile %t/model.mlir -o %t.1.tp --verify
// RUN: %{run} %t.1.tp --ranks=1 --output=y=@%t.y.npy --output=z=@%t.z.npy
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.4.tp --report=%t.txt --verify
// RUN: %{run} %t.4.tp --ranks=4 --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy
// RUN: FileCheck %s --input-file=%t.txt

// CHECK:      collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce  1

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 4>
tp.plan @p on #mesh["tp"] {
  tp.argument "x" shard<1>
  tp.argument "w" shard<0>
  tp.result 0 replicate
  tp.result 1 shard<1>
}
//--- model.mlir
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<6x10xf32> {tp.name = "x"}, %w: tensor<10x8xf32> {tp.name = "w"}) -> (tensor<6x8xf32> {tp.name = "y"}, tensor<6x8xf32> {tp.name = "z"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x10xf32>, tensor<10x8xf32>) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
  // Not linear: of parts it would be wrong.
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<6x8xf32>
  return %y, %z : tensor<6x8xf32>, tensor<6x8xf32>
}
