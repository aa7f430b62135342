// linalg.index of a split loop is the index of the whole tensor, on ranks with
// fewer rows too.
//
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.x.npy=10,7
// RUN: tp-compile %t/model.mlir -o %t.1.tp --verify
// RUN: tp-run %t.1.tp --ranks=1 --input=x=@%t.x.npy --output=y=@%t.y.npy --output=s=@%t.s.npy
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.n.tp --verify
// RUN: tp-run %t.n.tp --ranks=6 --poison --input=x=@%t.x.npy --expected-output=y=@%t.y.npy --expected-output=s=@%t.s.npy

//--- plan.mlir
#mesh = #tp.mesh<"a" = 3, "b" = 2>
tp.plan @rows on #mesh["a"] {
  tp.argument "x" shard<0>
  tp.result 0 shard<0>
}
tp.plan @columns on #mesh["b"] {
  tp.argument "x" shard<1>
  tp.result 0 shard<1>
}
//--- model.mlir
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
func.func @main(%x: tensor<10x7xf32> {tp.name = "x"}) -> (tensor<10x7xf32> {tp.name = "y"}, tensor<f32> {tp.name = "s"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<10x7xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<10x7xf32>) outs(%e : tensor<10x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %hundred = arith.constant 100 : index
    %row = arith.muli %i, %hundred : index
    %at = arith.addi %row, %j : index
    %int = arith.index_cast %at : index to i32
    %number = arith.sitofp %int : i32 to f32
    %s = arith.addf %a, %number : f32
    linalg.yield %s : f32
  } -> tensor<10x7xf32>
  %e0 = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  // The causal half only.
  %s = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<10x7xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %below = arith.cmpi ule, %j, %i : index
    %kept = arith.select %below, %a, %zero : f32
    %sum = arith.addf %acc, %kept : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %y, %s : tensor<10x7xf32>, tensor<f32>
}
