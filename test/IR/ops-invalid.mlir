// RUN: tp-opt %s --split-input-file --verify-diagnostics

#mesh = #tp.mesh<"tp" = 2>
func.func @axis(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{the mesh has no axis 'dp'}}
  %0 = tp.constrain %x on "dp" of #mesh to shard<0> view [6, 4] at "m" "input" : tensor<6x4xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @view(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{the view has 20 elements, the value is a 'tensor<6x4xf32>'}}
  %0 = tp.constrain %x on "tp" of #mesh to shard<0> view [5, 4] at "m" "input" : tensor<6x4xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @view_dim(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{shard<2> needs that dimension, the view has rank 2}}
  %0 = tp.constrain %x on "tp" of #mesh to shard<2> view [6, 4] at "m" "input" : tensor<6x4xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @lazy(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{only a replicated placement can be lazy, got shard<0>}}
  %0 = tp.constrain %x on "tp" of #mesh to shard<0> view [6, 4] lazy at "m" "output" : tensor<6x4xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
func.func @no_layout(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{operand and result carry layouts}}
  %0 = tp.redistribute %x : tensor<4x8xf32> to tensor<4x8xf32, #r>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
func.func @shape(%x: tensor<4x8xf32, #r>) {
  // expected-error@+1 {{a layout change keeps shape and element type}}
  %0 = tp.redistribute %x : tensor<4x8xf32, #r> to tensor<8x4xf32, #r>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#other = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#o = #tp.layout<#other, [replicate]>
func.func @mesh(%x: tensor<4x8xf32, #r>) {
  // expected-error@+1 {{a layout change stays on one mesh}}
  %0 = tp.redistribute %x : tensor<4x8xf32, #r> to tensor<4x8xf32, #o>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
func.func @not_partial(%x: tensor<4x8xf32, #r>) {
  // expected-error@+1 {{the operand is partial<sum> on}}
  %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4x8xf32, #r> -> tensor<4x8xf32, #r>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#max = #tp.layout<#mesh, [partial<max>]>
#r = #tp.layout<#mesh, [replicate]>
func.func @other_kind(%x: tensor<4x8xf32, #max>) {
  // expected-error@+1 {{the operand is partial<sum> on}}
  %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4x8xf32, #max> -> tensor<4x8xf32, #r>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#s1 = #tp.layout<#mesh, [shard<1>]>
#r = #tp.layout<#mesh, [replicate]>
func.func @other_dim(%x: tensor<4x8xf32, #s1>) {
  // expected-error@+1 {{the operand is shard<0> on}}
  %0 = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #s1> -> tensor<4x8xf32, #r>
  return
}

// -----

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
#ss = #tp.layout<#mesh, [shard<0>, shard<0>]>
#rs = #tp.layout<#mesh, [replicate, shard<0>]>
func.func @not_minor_most(%x: tensor<8xf32, #ss>) {
  // expected-error@+1 {{the operand is shard<0> on}}
  %0 = tp.all_gather %x dim 0 over <#mesh, ["dp"]> : tensor<8xf32, #ss> -> tensor<8xf32, #rs>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#p = #tp.layout<#mesh, [partial<sum>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
func.func @wrong_result(%x: tensor<4x8xf32, #p>) {
  // expected-error@+1 {{the result's layout is [shard<0>]}}
  %0 = tp.reduce_scatter sum %x dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #p> -> tensor<4x8xf32, #s1>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @half_plain(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{operand and result both carry a layout or both are plain}}
  %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32, #tp.layout<#mesh, [replicate]>>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @element_type(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{operand and result have one element type}}
  %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf64>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @no_axes(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{a collective runs over at least one axis}}
  %0 = tp.all_reduce sum %x over <#mesh, []> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @gathered_shape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the result's shape is [8, 8], got 'tensor<4x16xf32>'}}
  %0 = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @gathered_dim(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{dimension 2 does not exist, the operand is a 'tensor<4x8xf32>'}}
  %0 = tp.all_gather %x dim 2 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @uneven(%x: tensor<3x8xf32>) {
  // expected-error@+1 {{expected dimension 0 to be a multiple of the group's size 2, got 3}}
  %0 = tp.reduce_scatter sum %x dim 0 over <#mesh, ["tp"]> : tensor<3x8xf32> -> tensor<1x8xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @same_dim(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{split and concat are different dimensions, got 1 twice}}
  %0 = tp.all_to_all %x split 1 concat 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
func.func @sources(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{sources names one of 2 positions for each of them}}
  %0 = tp.permute %x sources [0, 2] over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @permuted_away(%x: tensor<4x8xf32, #s0>) {
  // expected-error@+1 {{rank 1 does not hold what rank 0 needs of dimension 0}}
  %0 = tp.permute %x sources [1, 0] over <#mesh, ["tp"]> : tensor<4x8xf32, #s0> -> tensor<4x8xf32, #s0>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @sliced_shard(%x: tensor<4x8xf32, #s0>) {
  // expected-error@+1 {{the operand is replicate on}}
  %0 = tp.local_slice %x dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #s0> -> tensor<4x8xf32, #s0>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#max = #tp.layout<#mesh, [partial<max>]>
func.func @other_partial(%x: tensor<4x8xf32, #r>) {
  // expected-error@+1 {{the result's layout is [partial<sum>]}}
  %0 = tp.local_partial sum %x over <#mesh, ["tp"]> : tensor<4x8xf32, #r> -> tensor<4x8xf32, #max>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#s0 = #tp.layout<#mesh, [shard<0>]>
#parts = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:2 = shard<0>]>
func.func @other_chunks(%x: tensor<5xf32, #s0>) {
  // expected-error@+1 {{the result's layout is [shard<0>], got}}
  %0 = tp.reinterpret %x : tensor<5xf32, #s0> to tensor<5xf32, #parts>
  return
}

// -----

#mesh = #tp.mesh<"a" = 2, "b" = 2>
#sm = #tp.layout<#mesh, [partial<sum>, partial<max>]>
#rm = #tp.layout<#mesh, [replicate, partial<max>]>
func.func @kinds_that_differ(%x: tensor<8xf32, #sm>) {
  // expected-error@+2 {{the operand is partial<sum> on #tp.axes<<"a" = 2, "b" = 2>, ["a"]>, got}}
  // expected-note@+1 {{where kinds differ the later axes combine first}}
  %0 = tp.all_reduce sum %x over <#mesh, ["a"]> : tensor<8xf32, #sm> -> tensor<8xf32, #rm>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#s0 = #tp.layout<#mesh, [shard<0>]>
#u0 = #tp.layout<#mesh, [shard<0, unit = 3>]>
func.func @chunks_of_another_unit(%x: tensor<8xf32, #s0>) {
  // expected-error@+1 {{the result's layout is [shard<0>], got}}
  %0 = tp.reinterpret %x : tensor<8xf32, #s0> to tensor<8xf32, #u0>
  return
}

// -----

#mesh = #tp.mesh<"a" = 2, "b" = 2>
#ps = #tp.layout<#mesh, [partial<sum>, shard<0>]>
#pr = #tp.layout<#mesh, [replicate, shard<0>]>
func.func @permuted_partial(%x: tensor<8xf32, #ps>) {
  // expected-error@+1 {{a permutation keeps partial values as they are}}
  %0 = tp.permute %x sources [0, 1] over <#mesh, ["b"]> : tensor<8xf32, #ps> -> tensor<8xf32, #pr>
  return
}

// -----

#mesh = #tp.mesh<"a" = 2, "b" = 2>
#ps = #tp.layout<#mesh, [partial<sum>, shard<0>]>
func.func @permuted_over_partial(%x: tensor<8xf32, #ps>) {
  // expected-error@+1 {{a permutation is not over axes that are partial<sum>}}
  %0 = tp.permute %x sources [0, 1] over <#mesh, ["a"]> : tensor<8xf32, #ps> -> tensor<8xf32, #ps>
  return
}

// -----

// The ranks hold the same, but blocks are cut as the layout is written.
#mesh = #tp.mesh<"tp" = 6>
#halves = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:3 = replicate]>
#thirds = #tp.layout<#mesh, ["tp":1:3 = shard<0>, "tp":3:2 = shard<0>]>
func.func @written_otherwise(%x: tensor<6xf32, #halves>) {
  // expected-error@+1 {{the result's layout ends with}}
  %0 = tp.local_slice %x dim 0 over <#mesh, ["tp":2:3]> : tensor<6xf32, #halves> -> tensor<6xf32, #thirds>
  return
}

// -----

func.func @three_dimensions(%q: tensor<2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>) {
  // expected-error@+1 {{operands and result have four dimensions of static size, got 'tensor<2x4x8xf32>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @unlike_heads(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x6x8xf32>, %v: tensor<1x3x6x3xf32>, %b: tensor<1x1x4x2xi64>) {
  // expected-error@+1 {{expected batch x heads x rows x columns}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x3x6x8xf32>, tensor<1x3x6x3xf32>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @integer_queries(%q: tensor<1x2x4x8xi32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>) {
  // expected-error@+1 {{q is of f64, f32, f16 or bf16, got 'tensor<1x2x4x8xi32>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xi32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @types_of_operands(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf16>, %b: tensor<1x1x4x2xi64>) {
  // expected-error@+1 {{q, k and v have one element type}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf16>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @state_of_attend(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>) {
  // expected-error@+1 {{a state is a 'tensor<1x2x4x5xf32>', got 'tensor<1x2x4x3xf32>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x3xf32>
  return
}

// -----

func.func @state_before(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %s: tensor<1x2x4x5xf64>) {
  // expected-error@+1 {{a state is a 'tensor<1x2x4x5xf32>', got 'tensor<1x2x4x5xf64>'}}
  %0 = tp.attend %q, %k, %v bias %b onto %s scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x5xf64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @narrow_bias(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x6xf16>) {
  // expected-error@+1 {{the bias is of i64 or 'f32', got 'tensor<1x1x4x6xf16>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x6xf16>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @bias_rows(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x3x2xi64>) {
  // expected-error@+1 {{dimension 2 of the bias is 1 or 4, got 'tensor<1x1x3x2xi64>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x3x2xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @bias_columns(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x5xf32>) {
  // expected-error@+1 {{the bias has a number for every key, got 'tensor<1x1x4x5xf32>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x5xf32>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @span_columns(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x3xi64>) {
  // expected-error@+1 {{the bias has two numbers for every query, got 'tensor<1x1x4x3xi64>'}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x3xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @pairs(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>) {
  // expected-error@+1 {{'pairs' is 0 or more, got -1}}
  %0 = tp.attend %q, %k, %v bias %b scale 0.125 pairs -1 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @backward_dimensions(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4xf32>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{operands and results have four dimensions of static size, got 'tensor<1x2x4xf32>'}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf32>, tensor<1x2x4xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}

// -----

func.func @backward_shapes(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{expected batch x heads x rows x columns that fit, got}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}

// -----

func.func @backward_sums(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4x2xf64>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{lse and delta are of 'f32', got 'tensor<1x2x4x2xf64>' and 'tensor<1x2x4x1xf32>'}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf32>, tensor<1x2x4x2xf64>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}

// -----

func.func @backward_types(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf16>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{q, k, v and go have one element type, got}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf16>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}

// -----

func.func @backward_gradients(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{gradients have one element type, 'f32' or 'f32', got 'tensor<1x2x6x3xf16>'}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf16>)
  return
}

// -----

func.func @backward_sum_shape(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>, %before: tensor<1x2x4x3xf32>) {
  // expected-error@+1 {{the sum before has gq's type, of 'f32', got 'tensor<1x2x4x3xf32>' and 'tensor<1x2x4x8xf32>'}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d onto %before scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>, tensor<1x2x4x3xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}

// -----

func.func @backward_sum_type(%q: tensor<1x2x4x8xf16>, %k: tensor<1x1x6x8xf16>, %v: tensor<1x1x6x3xf16>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf16>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>, %before: tensor<1x2x4x8xf16>) {
  // expected-error@+1 {{the sum before has gq's type, of 'f32', got 'tensor<1x2x4x8xf16>' and 'tensor<1x2x4x8xf16>'}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d onto %before scale 0.125 pairs 24 : (tensor<1x2x4x8xf16>, tensor<1x1x6x8xf16>, tensor<1x1x6x3xf16>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf16>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>, tensor<1x2x4x8xf16>) -> (tensor<1x2x4x8xf16>, tensor<1x2x6x8xf16>, tensor<1x2x6x3xf16>)
  return
}

// -----

func.func @backward_bias(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x6xf16>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{the bias is of i64 or 'f32', got 'tensor<1x1x4x6xf16>'}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs 24 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x6xf16>, tensor<1x2x4x3xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}

// -----

func.func @backward_pairs(%q: tensor<1x2x4x8xf32>, %k: tensor<1x1x6x8xf32>, %v: tensor<1x1x6x3xf32>, %b: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf32>, %lse: tensor<1x2x4x2xf32>, %d: tensor<1x2x4x1xf32>) {
  // expected-error@+1 {{'pairs' is 0 or more, got -1}}
  %0:3 = tp.attend_backward %q, %k, %v bias %b from %go lse %lse delta %d scale 0.125 pairs -1 : (tensor<1x2x4x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x3xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return
}
