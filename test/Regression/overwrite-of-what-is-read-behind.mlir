// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=32,32
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp --ranks=1 --input=x=@%t.x.npy --output=y=@%t.y.npy
// RUN: %python -c "import struct,sys; x,y=[struct.unpack('<1024f',open(f,'rb').read()[-4096:]) for f in sys.argv[1:]]; want=[0.0]*256+[abs(v) for v in x[:512]]+[0.0]*256; assert any(want) and all(abs(a-b)<1e-4 for a,b in zip(y,want))" %t.x.npy %t.y.npy

// Rows that an insertion puts at a computed place are read behind the place that
// is written: what is written may not take the memory of what is read, which it
// did as if the place were 0.

func.func @main(%x: tensor<32x32xf32> {tp.name = "x", tp.kind = "user_input"}) -> (tensor<32x32xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %first = tensor.extract %x[%c0, %c0] : tensor<32x32xf32>
  %small = arith.cmpf olt, %first, %two : f32
  %s = arith.select %small, %c8, %c0 : index
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %same = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<32x32xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %diagonal = arith.cmpi eq, %i, %j : index
    %v = arith.uitofp %diagonal : i1 to f32
    linalg.yield %v : f32
  } -> tensor<32x32xf32>
  %p = linalg.matmul ins(%x, %same : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %h = tensor.extract_slice %p[0, 0] [16, 32] [1, 1] : tensor<32x32xf32> to tensor<16x32xf32>
  %moved = tensor.insert_slice %h into %z[%s, 0] [16, 32] [1, 1] : tensor<16x32xf32> into tensor<32x32xf32>
  %a = math.absf %moved : tensor<32x32xf32>
  %y = linalg.matmul ins(%a, %same : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
