// RUN: tp-opt %s --tp-simulate=report=true -o /dev/null 2>&1 | FileCheck %s

// Ops that the sample programs lack: windows, empty dimensions, f16, i8, maps.

// CHECK: 16 values agree on 2 ranks

#r = #tp.layout<<"tp" = 2>, [replicate]>
func.func @main(%x: tensor<4x6xf32, #r>, %y: tensor<4x6xf32, #r>, %k: tensor<1x3x3x1xf32, #r>, %im: tensor<1x8x8x1xf32, #r>, %z: tensor<0x3xf32, #r>, %h: tensor<5xf16, #r>) -> tensor<4x6xf32, #r> {
  %e = tensor.empty() : tensor<4x6xf32, #r>
  %m = linalg.map ins(%x, %y : tensor<4x6xf32, #r>, tensor<4x6xf32, #r>) outs(%e : tensor<4x6xf32, #r>)
    (%a: f32, %b: f32, %o: f32) { %0 = arith.addf %a, %b : f32 linalg.yield %0 : f32 }
  %c0 = arith.constant dense<0.0> : tensor<1x6x6x1xf32, #r>
  %kk = tensor.collapse_shape %k [[0], [1], [2, 3]] : tensor<1x3x3x1xf32, #r> into tensor<1x3x3xf32, #r>
  %kx = tensor.expand_shape %kk [[0], [1], [2, 3]] output_shape [1, 3, 3, 1] : tensor<1x3x3xf32, #r> into tensor<1x3x3x1xf32, #r>
  %f = tensor.empty() : tensor<3x3x1x1xf32, #r>
  %ft = linalg.transpose ins(%kx : tensor<1x3x3x1xf32, #r>) outs(%f : tensor<3x3x1x1xf32, #r>) permutation = [1, 2, 3, 0]
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%im, %ft : tensor<1x8x8x1xf32, #r>, tensor<3x3x1x1xf32, #r>) outs(%c0 : tensor<1x6x6x1xf32, #r>) -> tensor<1x6x6x1xf32, #r>
  %zz = arith.addf %z, %z : tensor<0x3xf32, #r>
  %zs = arith.constant dense<0.0> : tensor<3xf32, #r>
  %zr = linalg.reduce {arith.addf} ins(%z : tensor<0x3xf32, #r>) outs(%zs : tensor<3xf32, #r>) dimensions = [0]
  %hh = arith.mulf %h, %h : tensor<5xf16, #r>
  %hx = math.exp %hh : tensor<5xf16, #r>
  %i = arith.fptosi %x : tensor<4x6xf32, #r> to tensor<4x6xi8, #r>
  %bm = arith.cmpi slt, %i, %i : tensor<4x6xi8, #r>
  %s = arith.select %bm, %x, %y : tensor<4x6xi1, #r>, tensor<4x6xf32, #r>
  return %s : tensor<4x6xf32, #r>
}
