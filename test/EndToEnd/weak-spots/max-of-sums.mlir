// The largest of sums: the sums are whole before the maximum is taken over
// ranks, whichever axis is which. A sum of maxima likewise.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=w=@%t.w.npy
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.x.npy=7,10 %t.w.npy=10,6
// RUN: tp-compile %t/model.mlir -o %t.1.tp --verify
// RUN: %{run} %t.1.tp --ranks=1 --output=largest=@%t.l.npy --output=sum=@%t.s.npy
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.4.tp --verify
// RUN: %{run} %t.4.tp --ranks=4 --expected-output=largest=@%t.l.npy --expected-output=sum=@%t.s.npy
// RUN: tp-compile %t/model.mlir --plan=%t/swapped.mlir -o %t.swapped.tp --verify
// RUN: %{run} %t.swapped.tp --ranks=4 --expected-output=largest=@%t.l.npy --expected-output=sum=@%t.s.npy

//--- plan.mlir
#mesh = #tp.mesh<"a" = 2, "b" = 2>
tp.plan @a on #mesh["a"] {
  tp.argument "x" shard<0>
}
tp.plan @b on #mesh["b"] {
  tp.argument "x" shard<1>
  tp.argument "w" shard<0>
}
//--- swapped.mlir
#mesh = #tp.mesh<"a" = 2, "b" = 2>
tp.plan @a on #mesh["a"] {
  tp.argument "x" shard<1>
  tp.argument "w" shard<0>
}
tp.plan @b on #mesh["b"] {
  tp.argument "x" shard<0>
}
//--- model.mlir
func.func @main(%x: tensor<7x10xf32> {tp.name = "x"}, %w: tensor<10x6xf32> {tp.name = "w"}) -> (tensor<6xf32> {tp.name = "largest"}, tensor<f32> {tp.name = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<7x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<7x6xf32>) -> tensor<7x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<7x10xf32>, tensor<10x6xf32>) outs(%init : tensor<7x6xf32>) -> tensor<7x6xf32>
  %e1 = tensor.empty() : tensor<6xf32>
  %init1 = linalg.fill ins(%least : f32) outs(%e1 : tensor<6xf32>) -> tensor<6xf32>
  %largest = linalg.reduce { arith.maximumf } ins(%y : tensor<7x6xf32>) outs(%init1 : tensor<6xf32>) dimensions = [0]
  %e2 = tensor.empty() : tensor<10xf32>
  %init2 = linalg.fill ins(%least : f32) outs(%e2 : tensor<10xf32>) -> tensor<10xf32>
  %columns = linalg.reduce { arith.maximumf } ins(%x : tensor<7x10xf32>) outs(%init2 : tensor<10xf32>) dimensions = [0]
  %e3 = tensor.empty() : tensor<f32>
  %init3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%columns : tensor<10xf32>) outs(%init3 : tensor<f32>) dimensions = [0]
  return %largest, %sum : tensor<6xf32>, tensor<f32>
}
