// RUN: tp-opt %s --split-input-file --tp-simulate --verify-diagnostics -o /dev/null

// Collectives run on the buffers of the ranks. Uneven dimensions throughout.

#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
#r = #tp.layout<#mesh, [replicate, replicate]>
#s = #tp.layout<#mesh, [replicate, shard<0>]>
#s1 = #tp.layout<#mesh, [replicate, shard<1>]>
#p = #tp.layout<#mesh, [replicate, partial<sum>]>
#ds = #tp.layout<#mesh, [shard<0>, replicate]>
#dp = #tp.layout<#mesh, [shard<0>, partial<sum>]>
#both = #tp.layout<#mesh, [shard<0>, shard<0>]>
#cross = #tp.layout<#mesh, [shard<0>, shard<1>]>
#pp = #tp.layout<#mesh, [partial<sum>, partial<sum>]>
#average = #tp.layout<#mesh, [partial<avg>, replicate]>
#max = #tp.layout<#mesh, [replicate, partial<max>]>
func.func @right(%x: tensor<7x10xf32, #p>, %y: tensor<7x10xf32, #s>, %u: tensor<7x10xf32, #dp>, %v: tensor<7x10xf32, #pp>, %a: tensor<7x10xf32, #average>) -> tensor<7x10xf32, #r> {
  %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<7x10xf32, #p> -> tensor<7x10xf32, #r>
  %1 = tp.reduce_scatter sum %x dim 1 over <#mesh, ["tp"]> : tensor<7x10xf32, #p> -> tensor<7x10xf32, #s1>
  %2 = tp.all_gather %1 dim 1 over <#mesh, ["tp"]> : tensor<7x10xf32, #s1> -> tensor<7x10xf32, #r>
  %3 = tp.all_to_all %1 split 0 concat 1 over <#mesh, ["tp"]> : tensor<7x10xf32, #s1> -> tensor<7x10xf32, #s>
  %4 = tp.reduce_scatter sum %u dim 0 over <#mesh, ["tp"]> : tensor<7x10xf32, #dp> -> tensor<7x10xf32, #both>
  %5 = tp.all_gather %4 dim 0 over <#mesh, ["tp"]> : tensor<7x10xf32, #both> -> tensor<7x10xf32, #ds>
  %6 = tp.local_slice %5 dim 1 over <#mesh, ["tp"]> : tensor<7x10xf32, #ds> -> tensor<7x10xf32, #cross>
  %7 = tp.redistribute %6 : tensor<7x10xf32, #cross> to tensor<7x10xf32, #both>
  %8 = tp.local_partial sum %0 over <#mesh, ["tp"]> : tensor<7x10xf32, #r> -> tensor<7x10xf32, #p>
  %9 = tp.all_reduce sum %v over <#mesh, ["dp", "tp"]> : tensor<7x10xf32, #pp> -> tensor<7x10xf32, #r>
  %10 = tp.all_reduce avg %a over <#mesh, ["dp"]> : tensor<7x10xf32, #average> -> tensor<7x10xf32, #r>
  %11 = tp.local_partial max %0 over <#mesh, ["tp"]> : tensor<7x10xf32, #r> -> tensor<7x10xf32, #max>
  %12 = tp.all_reduce max %11 over <#mesh, ["tp"]> : tensor<7x10xf32, #max> -> tensor<7x10xf32, #r>
  return %12 : tensor<7x10xf32, #r>
}

// -----

// Another order of the axes on one dimension is another placement: a permute of
// the buffers gets from one to the other.

#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
#ordered = #tp.layout<#mesh, [shard<0>, shard<0>]>
#swapped = #tp.layout<#mesh, ["tp" = shard<0>, "dp" = shard<0>]>
func.func @order(%x: tensor<12xf32, #ordered>) -> tensor<12xf32, #swapped> {
  %y = tp.permute %x sources [0, 2, 4, 1, 3, 5] over <#mesh, ["dp", "tp"]> : tensor<12xf32, #ordered> -> tensor<12xf32, #swapped>
  %z = arith.addf %y, %y {tp.strategy = #tp.strategy<#mesh, ["tp" = split<0>, "dp" = split<0>]>} : tensor<12xf32, #swapped>
  return %z : tensor<12xf32, #swapped>
}

// -----

// The axes nest the other way in the strategy.

#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
#ordered = #tp.layout<#mesh, [shard<0>, shard<0>]>
func.func @wrong_order(%x: tensor<12xf32, #ordered>) -> tensor<12xf32, #ordered> {
  // expected-error @below {{'arith.addf' op rank 1 computes [4, 6) of dimension 0 of result 0, its layout holds [2, 4)}}
  %z = arith.addf %x, %x {tp.strategy = #tp.strategy<#mesh, ["tp" = split<0>, "dp" = split<0>]>} : tensor<12xf32, #ordered>
  return %z : tensor<12xf32, #ordered>
}

// -----

// Two axes on two dimensions of a contraction, the third split by neither.

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
#x = #tp.layout<#mesh, [shard<0>, shard<1>]>
#w = #tp.layout<#mesh, [replicate, shard<0>]>
#p = #tp.layout<#mesh, [shard<0>, partial<sum>]>
#wrong = #tp.layout<#mesh, [partial<sum>, shard<0>]>
func.func @axes_exchanged(%x: tensor<4x6xi32, #x>, %w: tensor<6x5xi32, #w>, %p: tensor<4x5xi32, #p>, %q: tensor<4x5xi32, #wrong>) -> tensor<4x5xi32, #p> {
  %y = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<0>, split<2>]>}
      ins(%x, %w : tensor<4x6xi32, #x>, tensor<6x5xi32, #w>) outs(%p : tensor<4x5xi32, #p>) -> tensor<4x5xi32, #p>
  // expected-error @below {{'linalg.matmul' op rank 1 computes [0, 2) of dimension 0 of result 0, its layout holds [2, 4)}}
  %z = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<0>, split<2>]>}
      ins(%x, %w : tensor<4x6xi32, #x>, tensor<6x5xi32, #w>) outs(%q : tensor<4x5xi32, #wrong>) -> tensor<4x5xi32, #wrong>
  return %y : tensor<4x5xi32, #p>
}

// -----

// Sub-axes: heads over the major part of the axis, copies over the minor one.

#mesh = #tp.mesh<"tp" = 4>
#kv = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:2 = replicate]>
#q = #tp.layout<#mesh, [shard<0>]>
#e = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:2 = shard<1>]>
func.func @sub_axes(%kv: tensor<2x5xf32, #kv>) -> tensor<2x2x5xf32, #e> {
  %empty = tensor.empty() : tensor<2x2x5xf32, #e>
  %y = linalg.broadcast ins(%kv : tensor<2x5xf32, #kv>) outs(%empty : tensor<2x2x5xf32, #e>) dimensions = [1] {tp.strategy = #tp.strategy<#mesh, ["tp":1:2 = split<0>, "tp":2:2 = split<1>]>}
  return %y : tensor<2x2x5xf32, #e>
}

// -----

// A device order: positions of the mesh are not ranks.

#mesh = #tp.mesh<"tp" = 4, devices = [2, 0, 3, 1]>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
func.func @device_order(%x: tensor<8xf32, #s0>) -> tensor<8xf32, #r> {
  %y = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<8xf32, #s0> -> tensor<8xf32, #r>
  return %y : tensor<8xf32, #r>
}
