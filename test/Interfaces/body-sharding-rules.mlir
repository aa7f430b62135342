// RUN: tp-opt %s --tp-print-sharding-rules -verify-diagnostics -o /dev/null

// Which partial values pass a body, where data that is drawn at random would not
// tell: integers that wrap, quotients, roundings, several results.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @bodies(%f16: tensor<4xf16>, %f32: tensor<4xf32>, %i1: tensor<4xi1>, %i32: tensor<4xi32>, %f16_b: tensor<4xf16>, %f32_b: tensor<4xf32>, %i1_b: tensor<4xi1>, %i32_b: tensor<4xi32>, %s: tensor<i1>, %image: tensor<8xf32>, %kernel: tensor<3xf32>, %out: tensor<6xf32>) {
  // The largest of integers plus a number: it may wrap.
  // expected-remark-re@+1 {{f0=4: (f0) (f0) (f0) -> (f0); sum [0, 1]{{$}}}}
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%i32, %i32_b : tensor<4xi32>, tensor<4xi32>) outs(%i32_b : tensor<4xi32>) {
  ^bb0(%x0: i32, %x1: i32, %o: i32):
    %r = arith.addi %x0, %x1 : i32
    linalg.yield %r : i32
  } -> tensor<4xi32>
  // A quotient is linear in the dividend alone.
  // expected-remark@+1 {{f0=4: (f0) (f0) (f0) -> (f0); sum [0]; avg [0]}}
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%f32, %f32_b : tensor<4xf32>, tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%x0: f32, %x1: f32, %o: f32):
    %r = arith.divf %x0, %x1 : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // Products are not kept by a rounding.
  // expected-remark@+1 {{f0=4: (f0) (f0) -> (f0); sum [0]; avg [0]; max [0]; min [0]}}
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%f32 : tensor<4xf32>) outs(%f16_b : tensor<4xf16>) {
  ^bb0(%x0: f32, %o: f16):
    %r = arith.truncf %x0 : f32 to f16
    linalg.yield %r : f16
  } -> tensor<4xf16>
  // Averages of integers are cut.
  // expected-remark@+1 {{f0=4: (f0) (f0) (f0) -> (f0); sum [0]; sum [1]; product [0, 1]}}
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%i32, %i32_b : tensor<4xi32>, tensor<4xi32>) outs(%i32_b : tensor<4xi32>) {
  ^bb0(%x0: i32, %x1: i32, %o: i32):
    %r = arith.muli %x0, %x1 : i32
    linalg.yield %r : i32
  } -> tensor<4xi32>
  // One result changes the sign, the other does not.
  // expected-remark@+1 {{f0=4: (f0) (f0) (f0) -> (f0) (f0); sum [0]; avg [0]}}
  %4:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%f32 : tensor<4xf32>) outs(%f32_b, %f32_b : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32, %p: f32):
    %n = arith.negf %x : f32
    linalg.yield %n, %x : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  // Infinity times 0 would be NaN where a rank's part is 0, and infinities of
  // two signs have no sum.
  %inf = arith.constant 0x7F800000 : f32
  // expected-remark-re@+1 {{f0=4: (f0) (f0) -> (f0){{$}}}}
  %7 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%f32 : tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.mulf %x, %inf : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  // expected-remark-re@+1 {{f0=4: (f0) (f0) -> (f0){{$}}}}
  %8 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%f32 : tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.divf %x, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // Where the same places of all ranks select a zero, of either sign, it is the
  // sum of the ranks' zeros.
  %minus_zero = arith.constant -0.0 : f32
  // expected-remark@+1 {{f0=4: (f0) (f0) (f0) -> (f0); sum [1]; avg [1]}}
  %11 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%i1, %f32 : tensor<4xi1>, tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%hit: i1, %x: f32, %o: f32):
    %r = arith.select %hit, %x, %minus_zero : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // expected-remark@+1 {{f0=4: (f0) (f0) (f0) -> (f0); sum [1]; avg [1]}}
  %12 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%i1, %f32 : tensor<4xi1>, tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%hit: i1, %x: f32, %o: f32):
    %r = arith.select %hit, %x, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // The identity of a maximum plus infinity is NaN.
  // expected-remark-re@+1 {{f0=4: (f0) (f0) -> (f0); avg [0]{{$}}}}
  %10 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%f32 : tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.addf %x, %inf : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // Nothing is known of what divides, nor of the order of reciprocals.
  // expected-remark-re@+1 {{f0=4: (f0) (f0) -> (f0){{$}}}}
  %9 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%f32 : tensor<4xf32>) outs(%f32_b : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %two = arith.constant 2.0 : f32
    %r = arith.divf %two, %x : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  // Truth values are not added over ranks.
  // expected-remark@+1 {{f0=4 whole (result #0 is not a reduction whose parts combine by sum, product, max or min): (f0) () -> (); sum [0, 1]}}
  %5 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%i1 : tensor<4xi1>) outs(%s : tensor<i1>) {
  ^bb0(%x: i1, %o: i1):
    %n = arith.addi %x, %o : i1
    linalg.yield %n : i1
  } -> tensor<i1>
  // A window needs its neighbours.
  // expected-remark@+1 {{f0=6 whole (a loop that is added to another in an index cannot be split), f1=3 whole (a loop that is added to another in an index cannot be split): (-) (f1) (f0) -> (f0); sum [0, 2]; sum [1, 2]; avg [2]; avg [0, 2]; avg [1, 2]; max [2]; min [2]}}
  %6 = linalg.conv_1d ins(%image, %kernel : tensor<8xf32>, tensor<3xf32>) outs(%out : tensor<6xf32>) -> tensor<6xf32>
  return
}
