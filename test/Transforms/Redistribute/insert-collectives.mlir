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
#PP = #tp.layout<#grid, [partial<sum>, partial<sum>]>

// CHECK-LABEL: @two_axes
func.func @two_axes(%ab: tensor<8x8xf32, #AB>, %pb: tensor<8x8xf32, #PB>, %pp: tensor<8x8xf32, #PP>) {
  // Only the minor axis goes.
  // CHECK: tp.all_gather %arg0 dim 0 over <#{{.*}}, ["b"]>
  // CHECK-NOT: tp.all_gather
  %0 = tp.redistribute %ab : tensor<8x8xf32, #AB> to tensor<8x8xf32, #A>
  // The major axis leaves: the minor one is in its way.
  // CHECK: %[[G1:.*]] = tp.all_gather %arg0 dim 0 over <#{{.*}}, ["b"]>
  // CHECK: %[[G2:.*]] = tp.all_gather %[[G1]] dim 0 over <#{{.*}}, ["a"]>
  // CHECK: tp.local_slice %[[G2]] dim 0 over <#{{.*}}, ["b"]>
  %1 = tp.redistribute %ab : tensor<8x8xf32, #AB> to tensor<8x8xf32, #B>
  // CHECK: tp.all_gather
  // CHECK: tp.all_gather
  // CHECK: %[[C:.*]] = tp.local_slice %{{.*}} dim 0 over <#{{.*}}, ["b"]>
  // CHECK: tp.local_slice %[[C]] dim 0 over <#{{.*}}, ["a"]>
  %2 = tp.redistribute %ab : tensor<8x8xf32, #AB> to tensor<8x8xf32, #BA>
  // The new axis would be minor, as the target says.
  // CHECK: tp.reduce_scatter sum %arg1 dim 0 over <#{{.*}}, ["a"]>
  %3 = tp.redistribute %pb : tensor<8x8xf32, #PB> to tensor<8x8xf32, #BA>
  // CHECK: tp.reduce_scatter sum %arg2 dim 0 over <#{{.*}}, ["a"]>
  // CHECK: tp.reduce_scatter sum %{{.*}} dim 0 over <#{{.*}}, ["b"]>
  %4 = tp.redistribute %pp : tensor<8x8xf32, #PP> to tensor<8x8xf32, #AB>
  return
}
