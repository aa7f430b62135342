// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=12,5 %t.t.npy=4
// RUN: tp-compile %s -o %t.tp --verify
// RUN: tp-run %t.tp --ranks=1 --input=x=@%t.x.npy --input=t=@%t.t.npy --output=r=@%t.r.npy --output=g=@%t.g.npy
// RUN: %python -c "import struct,sys; x,t,r,g=[struct.unpack('<%%df' %% n,open(f,'rb').read()[-4*n:]) for f,n in zip(sys.argv[1:],(60,4,6,6))]; assert list(r)==[x[5]]*6 and list(g)==[t[i] for i in (1,1,3,3,2,2)], (r,g)" %t.x.npy %t.t.npy %t.r.npy %t.g.npy

// A scalar read from a tensor that is itself computed from a scalar read from
// an argument, and a table that is a slice at such a place: the kernel has to be
// given the arguments that the scalars come from.

func.func @main(%x: tensor<12x5xf32> {tp.name = "x", tp.kind = "user_input"},
                %t: tensor<4xf32> {tp.name = "t", tp.kind = "user_input"}) -> (tensor<3x2xf32> {tp.name = "r"}, tensor<3x2xf32> {tp.name = "g"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %a = tensor.extract %x[%c1, %c0] : tensor<12x5xf32>
  %s = tensor.splat %a : tensor<7xf32>
  %b = tensor.extract %s[%c1] : tensor<7xf32>
  %r = tensor.splat %b : tensor<3x2xf32>
  // 1: all numbers are below 2.
  %small = arith.cmpf olt, %a, %two : f32
  %o = arith.select %small, %c1, %c0 : index
  %view = tensor.extract_slice %t[%o] [3] [1] : tensor<4xf32> to tensor<3xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x2xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %twice = arith.constant 2 : index
    %m = arith.muli %i, %twice : index
    %three = arith.constant 3 : index
    %k = arith.remui %m, %three : index
    %v = tensor.extract %view[%k] : tensor<3xf32>
    linalg.yield %v : f32
  } -> tensor<3x2xf32>
  return %r, %g : tensor<3x2xf32>, tensor<3x2xf32>
}
