// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=1,7
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp --poison --input=x=@%t.x.npy --output=y=@%t.y.npy
// RUN: %python -c "import struct, sys; f = lambda p: struct.unpack('<7f', open(p, 'rb').read()[-28:]); x, y = map(f, sys.argv[1:]); z = [x[i] for i in (3, 0, 6, 1, 5, 2, 4)]; assert list(y) == [2 * v for v in z], (x, y)" %t.x.npy %t.y.npy

// A sum over one element that begins with what is computed in the same kernel:
// it was looked for in memory before it was computed, and the compiler crashed.

#in = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#window = affine_map<(d0, d1, d2) -> (d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<1x7xf32> {tp.name = "x"}) -> (tensor<1x7xf32> {tp.name = "y"}) {
  %x0 = tensor.extract_slice %x[0, 3] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %x1 = tensor.extract_slice %x[0, 0] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %x2 = tensor.extract_slice %x[0, 6] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %x3 = tensor.extract_slice %x[0, 1] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %x4 = tensor.extract_slice %x[0, 5] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %x5 = tensor.extract_slice %x[0, 2] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %x6 = tensor.extract_slice %x[0, 4] [1, 1] [1, 1] : tensor<1x7xf32> to tensor<1x1xf32>
  %turned = tensor.concat dim(1) %x0, %x1, %x2, %x3, %x4, %x5, %x6 : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x7xf32>
  %window = tensor.empty() : tensor<1xf32>
  %y = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%turned, %window : tensor<1x7xf32>, tensor<1xf32>) outs(%turned : tensor<1x7xf32>) {
  ^bb0(%in: f32, %w: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<1x7xf32>
  return %y : tensor<1x7xf32>
}
