// An assertion of the function itself fails the step on every rank that finds
// it broken, and is no trouble where it holds.
//
// RUN: split-file %s %t
// RUN: %python %S/Inputs/write_npy.py %t/x.npy=6,4
// RUN: tp-compile %t/holds.mlir --plan=%t/plan.mlir -o %t/holds.tp --verify
// RUN: tp-run %t/holds.tp --ranks=2 --input=x=@%t/x.npy --output=y=@%t/y.npy
// RUN: tp-compile %t/fails.mlir -o %t/one.tp
// RUN: not tp-run %t/one.tp --ranks=1 --input=x=@%t/x.npy 2>&1 | FileCheck %s
// RUN: tp-compile %t/fails.mlir --plan=%t/plan.mlir -o %t/two.tp
// RUN: not tp-run %t/two.tp --ranks=2 --input=x=@%t/x.npy 2>&1 | FileCheck %s
// CHECK: the first number is large

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @plan on #mesh["tp"] {
  tp.argument "x" shard<0>
}

//--- holds.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}) -> (tensor<6x4xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %first = tensor.extract %x[%c0, %c0] : tensor<6x4xf32>
  %ok = arith.cmpf olt, %first, %two : f32
  cf.assert %ok, "the first number is large"
  %y = math.exp %x : tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

//--- fails.mlir
func.func @main(%x: tensor<6x4xf32> {tp.name = "x"}) -> (tensor<6x4xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %two = arith.constant -2.0 : f32
  %first = tensor.extract %x[%c0, %c0] : tensor<6x4xf32>
  %ok = arith.cmpf olt, %first, %two : f32
  cf.assert %ok, "the first number is large"
  %y = math.exp %x : tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}
