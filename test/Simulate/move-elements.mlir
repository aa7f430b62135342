// RUN: tp-opt %s --split-input-file --tp-simulate --verify-diagnostics -o /dev/null

// Ops that move elements, along dimensions that are not split and along split
// ones where the ranks hold what they need.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
#s2 = #tp.layout<#mesh, [shard<2>]>
func.func @right(%x: tensor<3x8x6xf32, #s1>, %v: tensor<f32, #r>) -> tensor<3x8x6xf32, #s1> {
  %zero = arith.constant 0.0 : f32
  // Heads: the split dimension is the major part.
  %heads = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [3, 4, 2, 6] : tensor<3x8x6xf32, #s1> into tensor<3x4x2x6xf32, #s1>
  %empty = tensor.empty() : tensor<4x3x2x6xf32, #s0>
  %t = linalg.transpose ins(%heads : tensor<3x4x2x6xf32, #s1>) outs(%empty : tensor<4x3x2x6xf32, #s0>) permutation = [1, 0, 2, 3] {tp.strategy = #tp.strategy<#mesh, [split<0>]>}
  %merged = tensor.collapse_shape %t [[0, 1], [2], [3]] : tensor<4x3x2x6xf32, #s0> into tensor<12x2x6xf32, #s0>
  %first = tensor.extract_slice %merged[0, 0, 3] [12, 2, 3] [1, 1, 1] : tensor<12x2x6xf32, #s0> to tensor<12x2x3xf32, #s0>
  %second = tensor.extract_slice %merged[0, 0, 0] [12, 2, 3] [1, 1, 1] : tensor<12x2x6xf32, #s0> to tensor<12x2x3xf32, #s0>
  %turned = tensor.concat dim(2) %first, %second : (tensor<12x2x3xf32, #s0>, tensor<12x2x3xf32, #s0>) -> tensor<12x2x6xf32, #s0>
  %padded = tensor.pad %turned low[0, 1, 0] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<12x2x6xf32, #s0> to tensor<12x3x8xf32, #s0>
  %back = tensor.insert_slice %turned into %padded[0, 0, 0] [12, 2, 6] [1, 1, 1] : tensor<12x2x6xf32, #s0> into tensor<12x3x8xf32, #s0>
  %row = tensor.extract_slice %back[0, 1, 0] [12, 1, 8] [1, 1, 1] : tensor<12x3x8xf32, #s0> to tensor<12x8xf32, #s0>
  return %x : tensor<3x8x6xf32, #s1>
}

// -----

// Splitting the merged dimension is not splitting its minor part.

#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @merge(%x: tensor<4x6xf32, #s1>) -> tensor<24xf32, #s0> {
  // expected-error @below {{'tensor.collapse_shape' op rank 0 reads element [0, 3] of operand 0, which it does not hold}}
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32, #s1> into tensor<24xf32, #s0>
  return %y : tensor<24xf32, #s0>
}

// -----

// Uneven chunks: 5 heads of 2 over 2 ranks are 3 and 2 heads, 10 columns are 5
// and 5, unless chunks are counted in heads.

#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#heads = #tp.layout<#mesh, [shard<0, unit = 2>]>
func.func @uneven_heads(%x: tensor<10xf32, #heads>, %y: tensor<10xf32, #s0>) -> tensor<5x2xf32, #s0> {
  %right = tensor.expand_shape %x [[0, 1]] output_shape [5, 2] : tensor<10xf32, #heads> into tensor<5x2xf32, #s0>
  // expected-error @below {{'tensor.expand_shape' op rank 0 reads element [5] of operand 0, which it does not hold}}
  %wrong = tensor.expand_shape %y [[0, 1]] output_shape [5, 2] : tensor<10xf32, #s0> into tensor<5x2xf32, #s0>
  return %wrong : tensor<5x2xf32, #s0>
}

// -----

// A slice along a split dimension.

#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @slice(%x: tensor<8xf32, #s0>) -> tensor<4xf32, #s0> {
  // expected-error @below {{'tensor.extract_slice' op rank 0 reads element [4] of operand 0, which it does not hold}}
  %y = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32, #s0> to tensor<4xf32, #s0>
  return %y : tensor<4xf32, #s0>
}

// -----

// A packed dimension sharded by segments: slices at segment edges are local.

#mesh = #tp.mesh<"tp" = 2>
#packed = #tp.layout<#mesh, [shard<0, segments = [4, 2, 2]>]>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @segments(%x: tensor<8x3xf32, #packed>) -> (tensor<4x3xf32, #s0>, tensor<2x3xf32, #s0>, tensor<8x3xf32, #packed>) {
  %q = tensor.extract_slice %x[0, 0] [4, 3] [1, 1] : tensor<8x3xf32, #packed> to tensor<4x3xf32, #s0>
  %v = tensor.extract_slice %x[6, 0] [2, 3] [1, 1] : tensor<8x3xf32, #packed> to tensor<2x3xf32, #s0>
  %y = arith.addf %x, %x {tp.strategy = #tp.strategy<#mesh, [split<0>]>} : tensor<8x3xf32, #packed>
  return %q, %v, %y : tensor<4x3xf32, #s0>, tensor<2x3xf32, #s0>, tensor<8x3xf32, #packed>
}

// -----

// The same without segments.

#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @no_segments(%x: tensor<8x3xf32, #s0>) -> tensor<4x3xf32, #s0> {
  // expected-error @below {{'tensor.extract_slice' op rank 0 reads element [4, 0] of operand 0, which it does not hold}}
  %k = tensor.extract_slice %x[4, 0] [4, 3] [1, 1] : tensor<8x3xf32, #s0> to tensor<4x3xf32, #s0>
  return %k : tensor<4x3xf32, #s0>
}

// -----

// Numbers that every rank pads with are counted by all of them.

#mesh = #tp.mesh<"tp" = 2>
#p = #tp.layout<#mesh, [partial<sum>]>
func.func @pad_partial(%x: tensor<3xi32, #p>) -> tensor<4xi32, #p> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %right = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : i32
  } : tensor<3xi32, #p> to tensor<4xi32, #p>
  // expected-error @below {{'tensor.pad' op result 0, element [3]: expected 1, the partial values of ranks 0, 1 combine to 2 (sum)}}
  %wrong = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %one : i32
  } : tensor<3xi32, #p> to tensor<4xi32, #p>
  return %wrong : tensor<4xi32, #p>
}

// -----

// Partial and whole values in one tensor.

#mesh = #tp.mesh<"tp" = 2>
#p = #tp.layout<#mesh, [partial<sum>]>
#r = #tp.layout<#mesh, [replicate]>
func.func @concat_partial(%x: tensor<3xi32, #p>, %y: tensor<2xi32, #r>) -> tensor<5xi32, #p> {
  // expected-error @below {{'tensor.concat' op result 0, element [3]: expected 12, the partial values of ranks 0, 1 combine to 24 (sum)}}
  %z = tensor.concat dim(0) %x, %y : (tensor<3xi32, #p>, tensor<2xi32, #r>) -> tensor<5xi32, #p>
  return %z : tensor<5xi32, #p>
}
