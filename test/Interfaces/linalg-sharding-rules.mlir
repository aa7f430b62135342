// RUN: tp-opt %s --tp-print-sharding-rules -verify-diagnostics -split-input-file

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>

// A contraction: partial sums pass through one factor of the product, together
// with the accumulator.
func.func @matmul(%a: tensor<4x6xf32>, %b: tensor<6x10xf32>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
  // expected-remark@+1 {{f0=4, f1=10, f2=6 sum: (f0, f2) (f2, f1) (f0, f1) -> (f0, f1); sum [0, 2]; sum [1, 2]; avg [2]; avg [0, 2]; avg [1, 2]}}
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x10xf32>) outs(%c : tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// Fills are partial as they stand where the value is the identity.
func.func @fill() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %two = arith.constant 2.0 : f32
  // expected-remark@+1 {{f0=4: -> (f0); free sum; free avg; free product; free max; free min}}
  %e = tensor.empty() : tensor<4xf32>
  // expected-remark@+1 {{f0=4: (f0) -> (f0); free sum; free avg}}
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{f0=4: (f0) -> (f0); free avg; free max}}
  %1 = linalg.fill ins(%least : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{f0=4: (f0) -> (f0); free avg}}
  %2 = linalg.fill ins(%two : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>

// Constant-0 maps; a bias is added once or by an average; negation and
// subtracting from a number swap max and min.
func.func @elementwise(%a: tensor<4x6xf32>, %b: tensor<4x1xf32>, %e: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  // expected-remark@+1 {{f0=4, f1=6: (f0, f1) (f0, -) (f0, f1) -> (f0, f1); sum [0, 1]; avg [0]; avg [1]; avg [0, 1]; max [0]; max [1]; min [0]; min [1]}}
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x6xf32>, tensor<4x1xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // expected-remark@+1 {{f0=4, f1=6: (f0, f1) (f0, f1) -> (f0, f1); sum [0]; avg [0]; max [0] -> min; min [0] -> max}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.negf %x : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // expected-remark@+1 {{f0=4, f1=6: (f0, f1) (f0, -) (f0, f1) -> (f0, f1); sum [0, 1]; avg [0]; avg [1]; avg [0, 1]; max [0]; max [1] -> min; min [0]; min [1] -> max}}
  %2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x6xf32>, tensor<4x1xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.subf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// No sum passes through a square, only a product.
func.func @nonlinear(%a: tensor<4x6xf32>, %e: tensor<4x6xf32>, %r: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  // expected-remark@+1 {{f0=4, f1=6: (f0, f1) (f0, f1) -> (f0, f1); product [0]}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.mulf %x, %x : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // The index of a maximum does not combine, so its loop stays whole.
  // expected-remark@+1 {{f1=6 whole (result #0 is not a reduction whose parts combine by sum, product, max or min)}}
  %1:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x6xf32>) outs(%r, %i : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%x: f32, %m: f32, %k: i64):
    %n = linalg.index 1 : index
    %c = arith.index_cast %n : index to i64
    %max = arith.maximumf %x, %m : f32
    %gt = arith.cmpf ogt, %x, %m : f32
    %at = arith.select %gt, %c, %k : i64
    linalg.yield %max, %at : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %0, %1#0 : tensor<4x6xf32>, tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// What ignores NaN combines by a maximum only where it starts from no NaN.
func.func @maxnum(%a: tensor<4x6xf32>, %r: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %least = arith.constant 0xFF800000 : f32
  // expected-remark@+1 {{free avg; free max}}
  %init = linalg.fill ins(%least : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{f0=4, f1=6 max: (f0, f1) (f0) -> (f0)}}
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x6xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%x: f32, %m: f32):
    %max = arith.maxnumf %x, %m : f32
    linalg.yield %max : f32
  } -> tensor<4xf32>
  // expected-remark@+1 {{f1=6 whole (result #0 is not a reduction whose parts combine by sum, product, max or min)}}
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x6xf32>) outs(%r : tensor<4xf32>) {
  ^bb0(%x: f32, %m: f32):
    %max = arith.maxnumf %x, %m : f32
    linalg.yield %max : f32
  } -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

#ids = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A captured table: its rows are an indexed factor, its columns a loop.
func.func @embedding(%table: tensor<50x8xf32>, %ids: tensor<4xi64>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark@+1 {{f0=4, f1=8, f2=50 indexed: (f0) (f0, f1) (f2, f1) -> (f0, f1); sum [2]; avg [2]; product [2]; max [2]; min [2]}}
  %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: i64, %o: f32):
    %row = arith.index_cast %i : i64 to index
    %col = linalg.index 1 : index
    %v = tensor.extract %table[%row, %col] : tensor<50x8xf32>
    linalg.yield %v : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

#ids = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// What the ranks make of a table's parts adds up only where the body is linear in it.
func.func @exponentials(%table: tensor<50x8xf32>, %ids: tensor<4xi64>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark@+1 {{f0=4, f1=8, f2=50 indexed whole (the results are not linear in the table): (f0) (f0, f1) (f2, f1) -> (f0, f1)}}
  %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: i64, %o: f32):
    %row = arith.index_cast %i : i64 to index
    %col = linalg.index 1 : index
    %v = tensor.extract %table[%row, %col] : tensor<50x8xf32>
    %x = math.exp %v : f32
    linalg.yield %x : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A format without infinities: its least number is what a maximum starts from.
func.func @no_infinity() -> tensor<4xf8E4M3FN> {
  %least = arith.constant -448.0 : f8E4M3FN
  // expected-remark@+1 {{free max; free min}}
  %e = tensor.empty() : tensor<4xf8E4M3FN>
  // expected-remark@+1 {{f0=4: (f0) -> (f0); free avg; free max}}
  %0 = linalg.fill ins(%least : f8E4M3FN) outs(%e : tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Every rank may round its part of a sum to bf16, as frameworks do. To eight bits it may
// not: most of the sum would be lost, and a part may be too large where the sum is not.
func.func @rounded_parts(%a: tensor<4x6xf32>, %e: tensor<4x6xbf16>, %f: tensor<4x6xf8E4M3FN>) {
  // expected-remark@+1 {{f0=4, f1=6: (f0, f1) (f0, f1) -> (f0, f1); sum [0]; avg [0]; max [0]; min [0]}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %s = arith.truncf %x : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<4x6xbf16>
  // expected-remark-re@+1 {{f0=4, f1=6: (f0, f1) (f0, f1) -> (f0, f1){{$}}}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%f : tensor<4x6xf8E4M3FN>) {
  ^bb0(%x: f32, %o: f8E4M3FN):
    %s = arith.truncf %x : f32 to f8E4M3FN
    linalg.yield %s : f8E4M3FN
  } -> tensor<4x6xf8E4M3FN>
  return
}
