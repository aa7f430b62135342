// RUN: tp-opt %s --split-input-file --tp-simulate --verify-diagnostics -o /dev/null

// A table whose rows are split: a rank looks up what it holds and yields 0 for
// the rest. 10 rows over 4 ranks: the last rank holds one.

#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#p = #tp.layout<#mesh, [partial<sum>]>
func.func @rows(%ids: tensor<3x5xi64, #r>, %table: tensor<10x6xf32, #s0>) -> tensor<3x5x6xf32, #r> {
  %zero = arith.constant 0 : i64
  %rows = arith.constant 10 : index
  %empty = tensor.empty() : tensor<3x5x6xf32, #p>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<3x5xi64, #r>) outs(%empty : tensor<3x5x6xf32, #p>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<3>]>} {
  ^bb0(%in: i64, %out: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 2 : index
    %below = arith.cmpi slt, %row, %rows : index
    cf.assert %below, "index must be smaller than dim size"
    %above = arith.cmpi sge, %in, %zero : i64
    cf.assert %above, "index must be larger or equal to 0"
    %0 = tensor.extract %table[%row, %column] : tensor<10x6xf32, #s0>
    linalg.yield %0 : f32
  } -> tensor<3x5x6xf32, #p>
  %z = tp.redistribute %y : tensor<3x5x6xf32, #p> to tensor<3x5x6xf32, #r>
  return %z : tensor<3x5x6xf32, #r>
}

// -----

// Columns split: the position along the columns is the global one.

#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @columns(%ids: tensor<5xi64, #r>, %table: tensor<10x7xf32, #s1>) -> tensor<5x7xf32, #s1> {
  %empty = tensor.empty() : tensor<5x7xf32, #s1>
  %y = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<5xi64, #r>) outs(%empty : tensor<5x7xf32, #s1>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<1>]>} {
  ^bb0(%in: i64, %out: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %0 = tensor.extract %table[%row, %column] : tensor<10x7xf32, #s1>
    linalg.yield %0 : f32
  } -> tensor<5x7xf32, #s1>
  return %y : tensor<5x7xf32, #s1>
}

// -----

// The rows are split, but the op is not.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @rows_not_held(%ids: tensor<8xi64, #r>, %table: tensor<10xf32, #s0>) -> tensor<8xf32, #r> {
  %empty = tensor.empty() : tensor<8xf32, #r>
  // expected-note @below {{in the body of this op}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%ids : tensor<8xi64, #r>) outs(%empty : tensor<8xf32, #r>) {
  ^bb0(%in: i64, %out: f32):
    %row = arith.index_cast %in : i64 to index
    // expected-error @below {{'tensor.extract' op rank 0 reads element [5] of the captured tensor, which it does not hold}}
    %0 = tensor.extract %table[%row] : tensor<10xf32, #s0>
    linalg.yield %0 : f32
  } -> tensor<8xf32, #r>
  return %y : tensor<8xf32, #r>
}

// -----

// What the ranks looked up is not reduced.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @not_reduced(%ids: tensor<8xi64, #r>, %table: tensor<10xi32, #s0>) -> tensor<8xi32, #r> {
  %empty = tensor.empty() : tensor<8xi32, #r>
  // expected-error @below {{'linalg.generic' op result 0, element [7]: expected 23, rank 0 has 0}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%ids : tensor<8xi64, #r>) outs(%empty : tensor<8xi32, #r>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<1>]>} {
  ^bb0(%in: i64, %out: i32):
    %row = arith.index_cast %in : i64 to index
    %0 = tensor.extract %table[%row] : tensor<10xi32, #s0>
    linalg.yield %0 : i32
  } -> tensor<8xi32, #r>
  return %y : tensor<8xi32, #r>
}

// -----

// The position along a split loop counts from the start of the whole tensor.

#mesh = #tp.mesh<"tp" = 3>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @positions(%x: tensor<7xf32, #s0>) -> tensor<7xi64, #s0> {
  %empty = tensor.empty() : tensor<7xi64, #s0>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%empty : tensor<7xi64, #s0>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<0>]>} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<7xi64, #s0>
  return %y : tensor<7xi64, #s0>
}

// -----

// No data satisfies this assertion.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
func.func @assertion(%x: tensor<4xi64, #r>) -> tensor<4xi64, #r> {
  %minimum = arith.constant 100 : i64
  %empty = tensor.empty() : tensor<4xi64, #r>
  // expected-note @below {{in the body of this op}}
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi64, #r>) outs(%empty : tensor<4xi64, #r>) {
  ^bb0(%in: i64, %out: i64):
    %0 = arith.cmpi sge, %in, %minimum : i64
    // expected-error @below {{'cf.assert' op finds the assertion broken: at least 100}}
    cf.assert %0, "at least 100"
    linalg.yield %in : i64
  } -> tensor<4xi64, #r>
  return %y : tensor<4xi64, #r>
}
