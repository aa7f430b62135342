// Sums of 4096 numbers in bf16 and f16, whole and split on 2 ranks, are those of f32
// rounded once. In bf16 the ones would stop at 256, in f16 the products at 512.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy
// RUN: %python %S/Inputs/write_npy.py %t.x.npy=3,4096
// RUN: tp-compile %s -o %t.1.tp
// RUN: %{run} %t.1.tp --ranks=1 --output=sum=@%t.sum.npy --output=dot=@%t.dot.npy
// RUN: %python %S/../Codegen/CPU/Inputs/print_npy.py %t.sum.npy %t.dot.npy | FileCheck %s
// RUN: tp-compile %s --plan=%S/Inputs/narrow-sums.plan.mlir -o %t.2.tp --verify
// RUN: %{run} %t.2.tp --ranks=2 --output=sum=@%t.sum2.npy --output=dot=@%t.dot2.npy
// RUN: %python %S/../Codegen/CPU/Inputs/print_npy.py %t.sum2.npy %t.dot2.npy | FileCheck %s

// CHECK: {{^}}4096 4096 4096
// CHECK: {{^}}1000 1000 1000

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x4096xf32> {tp.name = "x"}) -> (tensor<3xf32> {tp.name = "sum"}, tensor<3xf32> {tp.name = "dot"}) {
  %two = arith.constant 2.0 : f32
  %one = arith.constant 1.0 : bf16
  %zero = arith.constant 0.0 : bf16
  %zeroHalf = arith.constant 0.0 : f16
  %small = arith.constant 0.000476837158203125 : f16
  %large = arith.constant 512.0 : f16
  %e0 = tensor.empty() : tensor<3x4096xbf16>
  %e1 = tensor.empty() : tensor<3x4096xf16>
  // No input is above 2.
  %ones, %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x4096xf32>) outs(%e0, %e1 : tensor<3x4096xbf16>, tensor<3x4096xf16>) {
  ^bb0(%in: f32, %o: bf16, %p: f16):
    %above = arith.cmpf ogt, %in, %two : f32
    %y = arith.select %above, %zero, %one : bf16
    %z = arith.select %above, %zeroHalf, %small : f16
    linalg.yield %y, %z : bf16, f16
  } -> (tensor<3x4096xbf16>, tensor<3x4096xf16>)
  %e2 = tensor.empty() : tensor<3xbf16>
  %i2 = linalg.fill ins(%zero : bf16) outs(%e2 : tensor<3xbf16>) -> tensor<3xbf16>
  %sum = linalg.reduce { arith.addf } ins(%ones : tensor<3x4096xbf16>) outs(%i2 : tensor<3xbf16>) dimensions = [1]
  %e3 = tensor.empty() : tensor<4096xf16>
  %b = linalg.fill ins(%large : f16) outs(%e3 : tensor<4096xf16>) -> tensor<4096xf16>
  %e4 = tensor.empty() : tensor<3xf16>
  %i4 = linalg.fill ins(%zeroHalf : f16) outs(%e4 : tensor<3xf16>) -> tensor<3xf16>
  %dot = linalg.matvec ins(%a, %b : tensor<3x4096xf16>, tensor<4096xf16>) outs(%i4 : tensor<3xf16>) -> tensor<3xf16>
  %e5 = tensor.empty() : tensor<3xf32>
  %sum32 = linalg.copy ins(%sum : tensor<3xbf16>) outs(%e5 : tensor<3xf32>) -> tensor<3xf32>
  %dot32 = linalg.copy ins(%dot : tensor<3xf16>) outs(%e5 : tensor<3xf32>) -> tensor<3xf32>
  return %sum32, %dot32 : tensor<3xf32>, tensor<3xf32>
}
