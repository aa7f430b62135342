// RUN: tp-opt %s --tp-insert-collectives --tp-verify-collectives | FileCheck %s

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#S1 = #tp.layout<#mesh, [shard<1>]>
#P = #tp.layout<#mesh, [partial<sum>]>
#M = #tp.layout<#mesh, [partial<max>]>

// CHECK-LABEL: @one_axis
func.func @one_axis(%r: tensor<8x8xf32, #R>, %s: tensor<8x8xf32, #S0>, %p: tensor<8x8xf32, #P>) {
  // CHECK: tp.all_reduce sum %arg2 over <#mesh, ["tp"]>
  %0 = tp.redistribute %p : tensor<8x8xf32, #P> to tensor<8x8xf32, #R>
  // CHECK: tp.reduce_scatter sum %arg2 dim 1 over
  %1 = tp.redistribute %p : tensor<8x8xf32, #P> to tensor<8x8xf32, #S1>
  // CHECK: tp.all_gather %arg1 dim 0 over
  %2 = tp.redistribute %s : tensor<8x8xf32, #S0> to tensor<8x8xf32, #R>
  // CHECK: tp.all_to_all %arg1 split 1 concat 0 over
  %3 = tp.redistribute %s : tensor<8x8xf32, #S0> to tensor<8x8xf32, #S1>
  // CHECK: tp.local_slice %arg0 dim 1 over
  %4 = tp.redistribute %r : tensor<8x8xf32, #R> to tensor<8x8xf32, #S1>
  // CHECK: tp.local_partial max %arg0 over
  %5 = tp.redistribute %r : tensor<8x8xf32, #R> to tensor<8x8xf32, #M>
  // CHECK: %[[W:.*]] = tp.all_gather %arg1 dim 0
  // CHECK-NEXT: tp.local_partial sum %[[W]]
  %6 = tp.redistribute %s : tensor<8x8xf32, #S0> to tensor<8x8xf32, #P>
  // CHECK: %[[A:.*]] = tp.all_reduce sum %arg2
  // CHECK-NEXT: tp.local_partial max %[[A]]
  %7 = tp.redistribute %p : tensor<8x8xf32, #P> to tensor<8x8xf32, #M>
  return
}

#grid = #tp.mesh<"a" = 2, "b" = 2>
#AB = #tp.layout<#grid, [shard<0>, shard<0>]>
#BA = #tp.layout<#grid, ["b" = shard<0>, "a" = shard<0>]>
#A = #tp.layout<#grid, [shard<0>, replicate]>
#B = #tp.layout<#grid, [replicate, shard<0>]>
#PB = #tp.layout<#grid, [partial<sum>, shard<0>]>
#RR = #tp.layout<#grid, [replicate, replicate]>
#B1 = #tp.layout<#grid, [replicate, shard<1>]>
#PP = #tp.layout<#grid, [partial<sum>, partial<sum>]>

// CHECK-LABEL: @two_axes
func.func @two_axes(%ab: tensor<8x8xf32, #AB>, %pb: tensor<8x8xf32, #PB>, %pp: tensor<8x8xf32, #PP>, %a: tensor<8x8xf32, #A>) {
  // Only the minor axis goes.
  // CHECK: tp.all_gather %arg0 dim 0 over <#{{.*}}, ["b"]>
  // CHECK-NOT: tp.all_gather
  %0 = tp.redistribute %ab : tensor<8x8xf32, #AB> to tensor<8x8xf32, #A>
  // The major axis leaves: the minor one is in its way.
  // CHECK: %[[G:.*]] = tp.all_gather %arg0 dim 0 over <#{{.*}}, ["a", "b"]>
  // CHECK-NEXT: tp.local_slice %[[G]] dim 0 over <#{{.*}}, ["b"]>
  %1 = tp.redistribute %ab : tensor<8x8xf32, #AB> to tensor<8x8xf32, #B>
  // The ranks in the middle change places.
  // CHECK: tp.permute %arg0 sources [0, 2, 1, 3] over <#{{.*}}, ["a", "b"]>
  %2 = tp.redistribute %ab : tensor<8x8xf32, #AB> to tensor<8x8xf32, #BA>
  // The new axis would be minor, as the target says.
  // CHECK: tp.reduce_scatter sum %arg1 dim 0 over <#{{.*}}, ["a"]>
  %3 = tp.redistribute %pb : tensor<8x8xf32, #PB> to tensor<8x8xf32, #BA>
  // Two axes are one group.
  // CHECK: tp.reduce_scatter sum %arg2 dim 0 over <#{{.*}}, ["a", "b"]>
  %4 = tp.redistribute %pp : tensor<8x8xf32, #PP> to tensor<8x8xf32, #AB>
  // CHECK: tp.all_reduce sum %arg2 over <#{{.*}}, ["a", "b"]>
  %5 = tp.redistribute %pp : tensor<8x8xf32, #PP> to tensor<8x8xf32, #RR>
  // What is replicated is cut before the rest is gathered.
  // CHECK: %[[L:.*]] = tp.local_slice %arg3 dim 1 over <#{{.*}}, ["b"]>
  // CHECK-NEXT: tp.all_gather %[[L]] dim 0 over <#{{.*}}, ["a"]>
  %6 = tp.redistribute %a : tensor<8x8xf32, #A> to tensor<8x8xf32, #B1>
  return
}

#SM = #tp.layout<#grid, [partial<sum>, partial<max>]>
#RM = #tp.layout<#grid, [replicate, partial<max>]>

// The later axis combines first.
// CHECK-LABEL: @kinds_that_differ
func.func @kinds_that_differ(%sm: tensor<8xf32, #SM>) {
  // CHECK: %[[M:.*]] = tp.all_reduce max %arg0 over <#{{.*}}, ["b"]>
  // CHECK-NEXT: %[[S:.*]] = tp.all_reduce sum %[[M]] over <#{{.*}}, ["a"]>
  // CHECK-NEXT: tp.local_partial max %[[S]] over <#{{.*}}, ["b"]>
  %0 = tp.redistribute %sm : tensor<8xf32, #SM> to tensor<8xf32, #RM>
  return
}

#parts = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:2 = replicate]>
#both = #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:2 = shard<0>]>
#partial_parts = #tp.layout<#mesh, ["tp":1:2 = partial<sum>, "tp":2:2 = partial<sum>]>

// CHECK-LABEL: @parts_of_an_axis
func.func @parts_of_an_axis(%even: tensor<8xf32, #S0>, %uneven: tensor<5xf32, #S0>, %p: tensor<5xf32, #partial_parts>) {
  // CHECK: tp.all_gather %arg0 dim 0 over <#mesh, ["tp":2:2]>
  %0 = tp.redistribute %even : tensor<8xf32, #S0> to tensor<8xf32, #parts>
  // CHECK: tp.reinterpret %arg0
  %1 = tp.redistribute %even : tensor<8xf32, #S0> to tensor<8xf32, #both>
  // Chunks of 2 over the axis, of 3 over its major part.
  // CHECK: %[[W:.*]] = tp.all_gather %arg1 dim 0 over <#mesh, ["tp"]>
  // CHECK-NEXT: tp.local_slice %[[W]] dim 0 over <#mesh, ["tp":1:2]>
  %2 = tp.redistribute %uneven : tensor<5xf32, #S0> to tensor<5xf32, #parts>
  // CHECK: tp.all_reduce sum %arg2 over <#mesh, ["tp"]>
  %3 = tp.redistribute %p : tensor<5xf32, #partial_parts> to tensor<5xf32, #R>
  return
}

#U0 = #tp.layout<#mesh, [shard<0, unit = 16>]>
#U3 = #tp.layout<#mesh, [shard<0, unit = 3>]>
#QKV = #tp.layout<#mesh, [shard<0, segments = [32, 8, 8]>]>

// CHECK-LABEL: @units_and_segments
func.func @units_and_segments(%s: tensor<48x8xf32, #S0>, %u: tensor<48x8xf32, #U0>, %p: tensor<48x8xf32, #P>) {
  // CHECK: tp.reinterpret %arg0
  %0 = tp.redistribute %s : tensor<48x8xf32, #S0> to tensor<48x8xf32, #U3>
  // CHECK: %[[W:.*]] = tp.all_gather %arg1 dim 0
  // CHECK-NEXT: tp.local_slice %[[W]] dim 0
  %1 = tp.redistribute %u : tensor<48x8xf32, #U0> to tensor<48x8xf32, #S0>
  // CHECK: tp.all_to_all %arg1 split 1 concat 0
  %2 = tp.redistribute %u : tensor<48x8xf32, #U0> to tensor<48x8xf32, #S1>
  // CHECK: tp.reduce_scatter sum %arg2 dim 0 {{.*}} segments = [32, 8, 8]
  %3 = tp.redistribute %p : tensor<48x8xf32, #P> to tensor<48x8xf32, #QKV>
  return
}

#cube = #tp.mesh<"a" = 8, "b" = 8>
#PR = #tp.layout<#cube, [partial<sum>, replicate]>
#wholly = #tp.layout<#cube, [replicate, replicate]>
#SR = #tp.layout<#cube, [shard<0>, replicate]>

// Where bytes count, buffers change places before less is gathered, and shards
// go over the other dimension.
// CHECK-LABEL: @cheapest
func.func @cheapest(%ab: tensor<1024x1024xf32, #AB>, %s: tensor<1024x1024xf32, #S0>, %p: tensor<1024x1024xf32, #PR>) {
  // CHECK: %[[P:.*]] = tp.permute %arg0 sources [0, 2, 1, 3] over <#{{.*}}, ["a", "b"]>
  // CHECK-NEXT: tp.all_gather %[[P]] dim 0 over <#{{.*}}, ["a"]>
  %0 = tp.redistribute %ab : tensor<1024x1024xf32, #AB> to tensor<1024x1024xf32, #B>
  // CHECK: %[[D:.*]] = tp.all_to_all %arg1 split 1 concat 0
  // CHECK-NEXT: tp.all_to_all %[[D]] split 0 concat 1 {{.*}} segments = [512, 256, 256]
  %1 = tp.redistribute %s : tensor<1024x1024xf32, #S0> to tensor<1024x1024xf32, #tp.layout<#mesh, [shard<0, segments = [512, 256, 256]>]>>
  // Ranks that all have a value divide the work.
  // CHECK: %[[L:.*]] = tp.local_slice %arg2 dim [[DIM:.]] over <#{{.*}}, ["b"]>
  // CHECK-NEXT: %[[S:.*]] = tp.reduce_scatter sum %[[L]] dim {{.}} over <#{{.*}}, ["a"]>
  // CHECK-NEXT: tp.all_gather %[[S]] dim [[DIM]] over <#{{.*}}, ["b"]>
  %2 = tp.redistribute %p : tensor<1024x1024xf32, #PR> to tensor<1024x1024xf32, #SR>
  // What is only reduced is one all_reduce.
  // CHECK: tp.all_reduce sum %arg2 over <#{{.*}}, ["a"]>
  // CHECK-NOT: tp.all_gather
  %3 = tp.redistribute %p : tensor<1024x1024xf32, #PR> to tensor<1024x1024xf32, #wholly>
  return
}
