// RUN: tp-opt %s --tp-print-sharding-rules -verify-diagnostics -split-input-file

func.func @reshape(%a: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // expected-remark@+1 {{f0=2, f1=32, f2=32: (f0*f1, f2) -> (f0, f1, f2); sum [0]; avg [0]; product [0]; max [0]; min [0]}}
  %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 32, 32] : tensor<64x32xf32> into tensor<2x32x32xf32>
  // expected-remark@+1 {{f0=2, f1=32, f2=32: (f0, f1, f2) -> (f0*f1, f2); sum [0]}}
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x32x32xf32> into tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// -----

// A dimension that is cut is packed; a dropped one is no factor.
func.func @slices(%a: tensor<4x16xf32>, %b: tensor<4x24xf32>) -> tensor<4x24xf32> {
  // expected-remark@+1 {{f0=4, f1=16: (f0, f1) -> (f0, f1[8:16])}}
  %0 = tensor.extract_slice %a[0, 8] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  // expected-remark@+1 {{f0=16: (-, f0) -> (f0)}}
  %1 = tensor.extract_slice %a[1, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<16xf32>
  // expected-remark@+1 {{f0=4, f1=24: (f0, f1[0:16]) (f0, f1[16:24]) -> (f0, f1); sum [0, 1]}}
  %2 = tensor.concat dim(1) %a, %0 : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x24xf32>
  // expected-remark@+1 {{f0=4, f1=24: (f0, f1[0:8]) (f0, f1) -> (f0, f1); sum [0, 1]}}
  %3 = tensor.insert_slice %0 into %2[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x24xf32>
  return %3 : tensor<4x24xf32>
}

// -----

// A padded dimension is packed: the source covers a window of it. One that is
// cut, or padded by an amount known at run time, is no factor. A number that
// changes nothing may be padded by every rank; that of avg is any.
func.func @pads(%a: tensor<4x16x3xf32>, %b: tensor<4x16xi32>, %l: index) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %highest = arith.constant 0x7F800000 : f32
  %least = arith.constant -2147483648 : i32
  // expected-remark@+1 {{f0=4, f1=19, f2=3: (f0, f1[1:17], f2) -> (f0, f1, f2); sum [0]; avg [0]}}
  %0 = tensor.pad %a low[0, 1, 0] high[0, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<4x16x3xf32> to tensor<4x19x3xf32>
  // expected-remark@+1 {{f0=6, f1=16, f2=4: (f0[2:6], f1, f2[0:3]) -> (f0, f1, f2); avg [0]; product [0]}}
  %1 = tensor.pad %a low[2, 0, 0] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %one : f32
  } : tensor<4x16x3xf32> to tensor<6x16x4xf32>
  // expected-remark@+1 {{f0=4, f1=16, f2=4: (f0, f1, f2[0:3]) -> (f0, f1, f2); avg [0]}}
  %2 = tensor.pad %a low[0, 0, 0] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %two : f32
  } : tensor<4x16x3xf32> to tensor<4x16x4xf32>
  // expected-remark@+1 {{f0=4, f1=16, f2=4: (f0, f1, f2[0:3]) -> (f0, f1, f2); avg [0]; max [0]}}
  %3 = tensor.pad %a low[0, 0, 0] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %lowest : f32
  } : tensor<4x16x3xf32> to tensor<4x16x4xf32>
  // expected-remark@+1 {{f0=4, f1=16, f2=4: (f0, f1, f2[0:3]) -> (f0, f1, f2); avg [0]; min [0]}}
  %4 = tensor.pad %a low[0, 0, 0] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %highest : f32
  } : tensor<4x16x3xf32> to tensor<4x16x4xf32>
  // expected-remark@+1 {{f0=5, f1=16: (f0[1:5], f1) -> (f0, f1); max [0]}}
  %5 = tensor.pad %b low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<4x16xi32> to tensor<5x16xi32>
  // expected-remark@+1 {{f0=4: (f0, -) -> (f0, -); max [0]}}
  %6 = tensor.pad %b low[0, %l] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<4x16xi32> to tensor<4x18xi32>
  // expected-remark@+1 {{f0=4: (f0, -) -> (f0, -); max [0]}}
  %7 = tensor.pad %b low[0, 1] high[0, -1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<4x16xi32> to tensor<4x16xi32>
  // expected-remark@+1 {{f0=4: (f0, -) -> (f0, -); max [0]}}
  %8 = tensor.pad %b low[0, -1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<4x16xi32> to tensor<4x16xi32>
  return
}

// -----

func.func @computed_padding(%a: tensor<4xindex>) -> tensor<5xindex> {
  // expected-error@+1 {{'tensor.pad' op computes its padding from the index, expected one number}}
  %0 = tensor.pad %a low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xindex> to tensor<5xindex>
  return %0 : tensor<5xindex>
}

// -----

func.func @constants() -> (tensor<4xf32>, tensor<2xf32>) {
  // expected-remark@+1 {{f0=4: -> (f0); free avg; free product}}
  %0 = arith.constant dense<1.0> : tensor<4xf32>
  // expected-remark@+1 {{: -> (-)}}
  %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %1 : tensor<4xf32>, tensor<2xf32>
}

// -----

func.func @dynamic(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error@+1 {{has a dynamic shape, expected static sizes; export the model with fixed sizes}}
  %0 = tensor.extract_slice %a[0, 0] [2, 4] [1, 1] : tensor<?x4xf32> to tensor<2x4xf32>
  return %a : tensor<?x4xf32>
}
