// RUN: tp-compile %s -o %t.tp --verify

// A scalar read from a tensor that is itself computed from a scalar read from
// an argument, and a table that is a slice at such a place: the kernel has to be
// given the arguments that the scalars come from.

func.func @main(%x: tensor<12x5xf32> {tp.name = "x", tp.kind = "user_input"},
                %t: tensor<4xi32> {tp.name = "t", tp.kind = "user_input"},
                %at: tensor<index> {tp.name = "at_lt2", tp.kind = "user_input"}) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %x[%c1, %c0] : tensor<12x5xf32>
  %s = tensor.splat %a : tensor<7xf32>
  %b = tensor.extract %s[%c1] : tensor<7xf32>
  %r = tensor.splat %b : tensor<3x2xf32>
  %o = tensor.extract %at[] : tensor<index>
  %view = tensor.extract_slice %t[%o] [3] [1] : tensor<4xi32> to tensor<3xi32>
  %e = tensor.empty() : tensor<3x2xi32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x2xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %two = arith.constant 2 : index
    %m = arith.muli %i, %two : index
    %three = arith.constant 3 : index
    %k = arith.remui %m, %three : index
    %v = tensor.extract %view[%k] : tensor<3xi32>
    linalg.yield %v : i32
  } -> tensor<3x2xi32>
  return %r, %g : tensor<3x2xf32>, tensor<3x2xi32>
}
