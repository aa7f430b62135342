// RUN: tp-opt %s --split-input-file --tp-simulate --verify-diagnostics -o /dev/null

// Columns of the weight split: the result is sharded, nothing is exchanged.

#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#s1 = #tp.layout<#mesh, [shard<1>]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#map = affine_map<(m, n, k) -> (m, k)>
#map1 = affine_map<(m, n, k) -> (n, k)>
#map2 = affine_map<(m, n, k) -> (m, n)>
func.func @colwise(%x: tensor<6x10xf32, #r>, %w: tensor<8x10xf32, #s0>, %b: tensor<8xf32, #s0>) -> tensor<6x8xf32, #s1> {
  %empty = tensor.empty() : tensor<6x8xf32, #s1>
  %init = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<8xf32, #s0>) outs(%empty : tensor<6x8xf32, #s1>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<1>]>} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x8xf32, #s1>
  %y = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x10xf32, #r>, tensor<8x10xf32, #s0>) outs(%init : tensor<6x8xf32, #s1>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<1>]>} {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x8xf32, #s1>
  return %y : tensor<6x8xf32, #s1>
}

// -----

// The rank is given rows, the types say columns.

#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @wrong_factor(%x: tensor<8x10xf32, #r>, %w: tensor<10x12xf32, #s1>, %init: tensor<8x12xf32, #s1>) -> tensor<8x12xf32, #s1> {
  // expected-error @below {{'linalg.matmul' op rank 0 computes [0, 2) of dimension 0 of result 0, its layout holds [0, 8)}}
  %y = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<0>]>}
      ins(%x, %w : tensor<8x10xf32, #r>, tensor<10x12xf32, #s1>) outs(%init : tensor<8x12xf32, #s1>) -> tensor<8x12xf32, #s1>
  return %y : tensor<8x12xf32, #s1>
}

// -----

// No strategy: every rank does all of the op, but it holds a part of %w.

#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @no_strategy(%x: tensor<8x10xf32, #r>, %w: tensor<10x12xf32, #s1>, %init: tensor<8x12xf32, #r>) -> tensor<8x12xf32, #r> {
  // expected-error @below {{'linalg.matmul' op rank 0 reads element [0, 3] of operand 1, which it does not hold}}
  %y = linalg.matmul ins(%x, %w : tensor<8x10xf32, #r>, tensor<10x12xf32, #s1>) outs(%init : tensor<8x12xf32, #r>) -> tensor<8x12xf32, #r>
  return %y : tensor<8x12xf32, #r>
}

// -----

// Rows split: partial sums, then a layout change. The init is counted once
// because it is partial too.

#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#p = #tp.layout<#mesh, [partial<sum>]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @rowwise(%x: tensor<6x16xf32, #s1>, %w: tensor<16x10xf32, #s0>, %init: tensor<6x10xf32, #p>) -> tensor<6x10xf32, #r> {
  %y = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<2>]>}
      ins(%x, %w : tensor<6x16xf32, #s1>, tensor<16x10xf32, #s0>) outs(%init : tensor<6x10xf32, #p>) -> tensor<6x10xf32, #p>
  %z = tp.redistribute %y : tensor<6x10xf32, #p> to tensor<6x10xf32, #r>
  return %z : tensor<6x10xf32, #r>
}

// -----

// The sums of the ranks are taken for the whole sum.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @missing_reduction(%x: tensor<6x16xi32, #s1>, %w: tensor<16x10xi32, #s0>, %init: tensor<6x10xi32, #r>) -> tensor<6x10xi32, #r> {
  // expected-error @below {{'linalg.matmul' op result 0, element [0, 0]: expected -311, rank 0 has -483}}
  %y = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<2>]>}
      ins(%x, %w : tensor<6x16xi32, #s1>, tensor<16x10xi32, #s0>) outs(%init : tensor<6x10xi32, #r>) -> tensor<6x10xi32, #r>
  return %y : tensor<6x10xi32, #r>
}

// -----

// Every rank fills the whole number into its partial value.

#mesh = #tp.mesh<"tp" = 2>
#p = #tp.layout<#mesh, [partial<sum>]>
func.func @init_counted_twice() -> tensor<6x10xf32, #p> {
  %zero = arith.constant 0.0 : f32
  %five = arith.constant 5.0 : f32
  %empty = tensor.empty() : tensor<6x10xf32, #p>
  %right = linalg.fill {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>} ins(%zero : f32) outs(%empty : tensor<6x10xf32, #p>) -> tensor<6x10xf32, #p>
  // expected-error @below {{'linalg.fill' op result 0, element [0, 0]: expected 5, the partial values of ranks 0, 1 combine to 10 (sum)}}
  %wrong = linalg.fill {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>} ins(%five : f32) outs(%empty : tensor<6x10xf32, #p>) -> tensor<6x10xf32, #p>
  return %wrong : tensor<6x10xf32, #p>
}

// -----

// The kind of partial is wrong: sums do not combine by max.

#mesh = #tp.mesh<"tp" = 2>
#p = #tp.layout<#mesh, [partial<max>]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @max_for_sum(%x: tensor<6x16xi32, #s1>, %w: tensor<16x10xi32, #s0>, %init: tensor<6x10xi32, #p>) -> tensor<6x10xi32, #p> {
  // expected-error @below {{'linalg.matmul' op result 0, element [0, 0]: expected -311, the partial values of ranks 0, 1 combine to 170 (max)}}
  %y = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<2>]>}
      ins(%x, %w : tensor<6x16xi32, #s1>, tensor<16x10xi32, #s0>) outs(%init : tensor<6x10xi32, #p>) -> tensor<6x10xi32, #p>
  return %y : tensor<6x10xi32, #p>
}

// -----

// A partial value goes through what is not linear.

#mesh = #tp.mesh<"tp" = 2>
#p = #tp.layout<#mesh, [partial<sum>]>
func.func @square_of_partial(%x: tensor<6xi32, #p>) -> tensor<6xi32, #p> {
  // expected-error @below {{'arith.muli' op result 0, element [0]: expected 64, the partial values of ranks 0, 1 combine to 104 (sum)}}
  %y = arith.muli %x, %x {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, [0, 1]>]>} : tensor<6xi32, #p>
  return %y : tensor<6xi32, #p>
}

// -----

// A replicated number is added by every rank; multiplied, it is right.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#p = #tp.layout<#mesh, [partial<sum>]>
#id = affine_map<(i) -> (i)>
func.func @bias_added_by_all(%x: tensor<6xi32, #p>, %b: tensor<6xi32, #r>) -> tensor<6xi32, #p> {
  %empty = tensor.empty() : tensor<6xi32, #p>
  %scaled = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %b : tensor<6xi32, #p>, tensor<6xi32, #r>) outs(%empty : tensor<6xi32, #p>) attrs = {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, [0]>]>} {
  ^bb0(%a: i32, %c: i32, %out: i32):
    %0 = arith.muli %a, %c : i32
    linalg.yield %0 : i32
  } -> tensor<6xi32, #p>
  // expected-error @below {{'linalg.generic' op result 0, element [0]: expected 108, the partial values of ranks 0, 1 combine to 120 (sum)}}
  %biased = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%scaled, %b : tensor<6xi32, #p>, tensor<6xi32, #r>) outs(%empty : tensor<6xi32, #p>) attrs = {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, [0]>]>} {
  ^bb0(%a: i32, %c: i32, %out: i32):
    %0 = arith.addi %a, %c : i32
    linalg.yield %0 : i32
  } -> tensor<6xi32, #p>
  return %biased : tensor<6xi32, #p>
}

// -----

// Nothing has written the numbers that the body accumulates into.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
func.func @reads_empty(%x: tensor<6x8xf32, #r>, %w: tensor<8x10xf32, #r>) -> tensor<6x10xf32, #r> {
  %empty = tensor.empty() : tensor<6x10xf32, #r>
  // expected-error @below {{'linalg.matmul' op reads element [0, 0] of operand 2, which nothing has written}}
  %y = linalg.matmul ins(%x, %w : tensor<6x8xf32, #r>, tensor<8x10xf32, #r>) outs(%empty : tensor<6x10xf32, #r>) -> tensor<6x10xf32, #r>
  return %y : tensor<6x10xf32, #r>
}

// -----

// A maximum over a split dimension starts from the lowest number on all ranks.

#mesh = #tp.mesh<"tp" = 3>
#s1 = #tp.layout<#mesh, [shard<1>]>
#p = #tp.layout<#mesh, [partial<max>]>
#r = #tp.layout<#mesh, [replicate]>
func.func @maximum(%x: tensor<5x7xf32, #s1>) -> tensor<5xf32, #r> {
  %lowest = arith.constant dense<0xFF800000> : tensor<5xf32, #p>
  %y = linalg.reduce {arith.maximumf} ins(%x : tensor<5x7xf32, #s1>) outs(%lowest : tensor<5xf32, #p>) dimensions = [1] {tp.strategy = #tp.strategy<#mesh, [split<1>]>}
  %z = tp.all_reduce max %y over <#mesh, ["tp"]> : tensor<5xf32, #p> -> tensor<5xf32, #r>
  return %z : tensor<5xf32, #r>
}
