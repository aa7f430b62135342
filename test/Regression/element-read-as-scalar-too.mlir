// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=1,1
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp --poison --input=x=@%t.x.npy --output=y=@%t.y.npy
// RUN: %python -c "import struct, sys; f = lambda p: struct.unpack('<f', open(p, 'rb').read()[-4:])[0]; x, y = map(f, sys.argv[1:]); assert abs(y - 4 * x * x) < 1e-5, (x, y)" %t.x.npy %t.y.npy

// One element of a tensor, read as an element and as a scalar of all loops: that
// the read depends on data was forgotten, both ops became one kernel, and the
// compiler crashed.

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<1x1xf32> {tp.name = "x"}) -> (tensor<1x1xf32> {tp.name = "y"}) {
  %empty = tensor.empty() : tensor<1x1xf32>
  %twice = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x1xf32>) outs(%empty : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<1x1xf32>
  %zero = arith.constant 0 : index
  %scalar = tensor.extract %twice[%zero, %zero] : tensor<1x1xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%twice : tensor<1x1xf32>) outs(%empty : tensor<1x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %scalar : f32
    linalg.yield %0 : f32
  } -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
