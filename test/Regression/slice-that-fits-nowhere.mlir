// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=4
// RUN: tp-compile %s -o %t.tp
// RUN: not tp-run %t.tp --ranks=1 --input=x=@%t.x.npy 2>&1 | FileCheck %s
// CHECK: tensor.extract_slice reaches outside the tensor

// Two elements ten apart are not in a dimension of size 4, whatever the offset:
// the offset was compared with -6 as if that were a large number.

func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<2xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %a = tensor.extract %x[%c0] : tensor<4xf32>
  %small = arith.cmpf olt, %a, %two : f32
  %o = arith.select %small, %c1, %c0 : index
  %view = tensor.extract_slice %x[%o] [2] [10] : tensor<4xf32> to tensor<2xf32>
  %y = math.exp %view : tensor<2xf32>
  return %y : tensor<2xf32>
}
