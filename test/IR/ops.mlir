// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// Every op but the plan's, with layouts and plain.

#mesh = #tp.mesh<"tp" = 2>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
#p = #tp.layout<#mesh, [partial<sum>]>
#max = #tp.layout<#mesh, [partial<max>]>

// CHECK-LABEL: func.func @constrain(
func.func @constrain(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  // CHECK: %[[A:.*]] = tp.constrain %{{.*}} on "tp" of #mesh to shard<2> view [2, 32, 128] at "wq" "output" : tensor<64x128xf32>
  %a = tp.constrain %x on "tp" of #mesh to shard<2> view [2, 32, 128] at "wq" "output" : tensor<64x128xf32>
  // CHECK: tp.constrain %[[A]] on "tp" of #mesh to replicate view [64, 128] lazy at "wo" "output" : tensor<64x128xf32>
  %b = tp.constrain %a on "tp" of <"tp" = 2> to replicate view [64, 128] lazy at "wo" "output" : tensor<64x128xf32>
  return %b : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @with_layouts(
func.func @with_layouts(%p: tensor<4x8xf32, #p>, %m: tensor<4x8xf32, #max>, %s: tensor<4x8xf32, #s0>, %r: tensor<4x8xf32, #r>) {
  // CHECK: tp.redistribute {{.*}} : tensor<4x8xf32, #tp.layout<#mesh, [partial<sum>]>> to tensor<4x8xf32, #tp.layout<#mesh, [shard<1>]>>
  %0 = tp.redistribute %p : tensor<4x8xf32, #p> to tensor<4x8xf32, #s1>
  // CHECK: tp.all_reduce max {{.*}} over <#mesh, ["tp"]> :
  %1 = tp.all_reduce max %m over <#mesh, ["tp"]> : tensor<4x8xf32, #max> -> tensor<4x8xf32, #r>
  // CHECK: tp.all_gather {{.*}} dim 0 over <#mesh, ["tp"]> :
  %2 = tp.all_gather %s dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #s0> -> tensor<4x8xf32, #r>
  // CHECK: tp.reduce_scatter sum {{.*}} dim 1 over <#mesh, ["tp"]> :
  %3 = tp.reduce_scatter sum %p dim 1 over <#mesh, ["tp"]> : tensor<4x8xf32, #p> -> tensor<4x8xf32, #s1>
  // CHECK: tp.all_to_all {{.*}} split 1 concat 0 over <#mesh, ["tp"]> :
  %4 = tp.all_to_all %s split 1 concat 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #s0> -> tensor<4x8xf32, #s1>
  // CHECK: tp.permute {{.*}} sources [0, 1] over <#mesh, ["tp"]> :
  %5 = tp.permute %s sources [0, 1] over <#mesh, ["tp"]> : tensor<4x8xf32, #s0> -> tensor<4x8xf32, #s0>
  // CHECK: tp.local_slice {{.*}} dim 0 over <#mesh, ["tp"]> :
  %6 = tp.local_slice %r dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #r> -> tensor<4x8xf32, #s0>
  // CHECK: tp.local_partial sum {{.*}} over <#mesh, ["tp"]> :
  %7 = tp.local_partial sum %r over <#mesh, ["tp"]> : tensor<4x8xf32, #r> -> tensor<4x8xf32, #p>
  // CHECK: tp.reinterpret {{.*}} [shard<0>]>> to tensor<4x8xf32, #tp.layout<#mesh, [shard<0, unit = 2>]>>
  %8 = tp.reinterpret %s : tensor<4x8xf32, #s0> to tensor<4x8xf32, #tp.layout<#mesh, [shard<0, unit = 2>]>>
  return
}

// CHECK-LABEL: func.func @plain(
func.func @plain(%x: tensor<4x8xf32>) -> index {
  // CHECK: tp.all_reduce sum {{.*}} : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: tp.all_gather {{.*}} dim 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x16xf32>
  %1 = tp.all_gather %x dim 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x16xf32>
  // CHECK: tp.reduce_scatter min {{.*}} dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<2x8xf32>
  %2 = tp.reduce_scatter min %x dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // CHECK: tp.all_to_all {{.*}} split 0 concat 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<2x16xf32>
  %3 = tp.all_to_all %x split 0 concat 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK: tp.permute {{.*}} sources [1, 0] over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = tp.permute %x sources [1, 0] over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: tp.axis_index over <#mesh, ["tp"]> : index
  %5 = tp.axis_index over <#mesh, ["tp"]> : index
  return %5 : index
}

// An axis whole and in parts is the same axis.
// CHECK-LABEL: func.func @parts(
func.func @parts(%s: tensor<8xf32, #tp.layout<<"tp" = 4>, [shard<0>]>>, %p: tensor<5xf32, #tp.layout<<"tp" = 4>, [partial<sum>]>>) {
  // CHECK: tp.all_gather {{.*}} dim 0 over <#{{.*}}, ["tp":2:2]> :
  %0 = tp.all_gather %s dim 0 over <<"tp" = 4>, ["tp":2:2]> : tensor<8xf32, #tp.layout<<"tp" = 4>, [shard<0>]>> -> tensor<8xf32, #tp.layout<<"tp" = 4>, ["tp":1:2 = shard<0>, "tp":2:2 = replicate]>>
  // CHECK: tp.reduce_scatter sum {{.*}} dim 0 over <#{{.*}}, ["tp"]> :
  %1 = tp.reduce_scatter sum %p dim 0 over <<"tp" = 4>, ["tp"]> : tensor<5xf32, #tp.layout<<"tp" = 4>, [partial<sum>]>> -> tensor<5xf32, #tp.layout<<"tp" = 4>, ["tp":1:2 = shard<0>, "tp":2:2 = shard<0>]>>
  return
}

// On an axis of size 1 partial and replicated are the same.
// CHECK-LABEL: func.func @group_of_one(
func.func @group_of_one(%s: tensor<8xf32, #tp.layout<<"a" = 1, "tp" = 2>, [replicate, shard<0>]>>) {
  // CHECK: tp.permute
  %0 = tp.permute %s sources [0, 1] over <<"a" = 1, "tp" = 2>, ["tp"]> : tensor<8xf32, #tp.layout<<"a" = 1, "tp" = 2>, [replicate, shard<0>]>> -> tensor<8xf32, #tp.layout<<"a" = 1, "tp" = 2>, [partial<sum>, shard<0>]>>
  return
}

// CHECK-LABEL: func.func @attend(
func.func @attend(%q: tensor<1x2x4x8xf16>, %k: tensor<1x1x6x8xf16>, %v: tensor<1x1x6x3xf16>, %spans: tensor<1x1x4x2xi64>, %bias: tensor<1x1x1x6xf32>) -> tensor<1x2x4x5xf32> {
  // CHECK: %[[S:.*]] = tp.attend %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} scale 1.250000e-01 pairs 24 : (tensor<1x2x4x8xf16>, tensor<1x1x6x8xf16>, tensor<1x1x6x3xf16>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  %0 = tp.attend %q, %k, %v bias %spans scale 0.125 pairs 24 : (tensor<1x2x4x8xf16>, tensor<1x1x6x8xf16>, tensor<1x1x6x3xf16>, tensor<1x1x4x2xi64>) -> tensor<1x2x4x5xf32>
  // CHECK: tp.attend %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} onto %[[S]] scale 1.250000e-01 pairs 24 :
  %1 = tp.attend %q, %k, %v bias %bias onto %0 scale 0.125 pairs 24 : (tensor<1x2x4x8xf16>, tensor<1x1x6x8xf16>, tensor<1x1x6x3xf16>, tensor<1x1x1x6xf32>, tensor<1x2x4x5xf32>) -> tensor<1x2x4x5xf32>
  return %1 : tensor<1x2x4x5xf32>
}

// CHECK-LABEL: func.func @attend_backward(
func.func @attend_backward(%q: tensor<1x2x4x8xf16>, %k: tensor<1x1x6x8xf16>, %v: tensor<1x1x6x3xf16>, %spans: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf16>, %lse: tensor<1x2x4x2xf32>, %delta: tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf16>, tensor<1x2x6x8xf16>, tensor<1x2x6x3xf16>) {
  // CHECK: tp.attend_backward %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} from %{{.*}} lse %{{.*}} delta %{{.*}} scale 1.250000e-01 pairs 24 :
  %0:3 = tp.attend_backward %q, %k, %v bias %spans from %go lse %lse delta %delta scale 0.125 pairs 24 : (tensor<1x2x4x8xf16>, tensor<1x1x6x8xf16>, tensor<1x1x6x3xf16>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf16>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf16>, tensor<1x2x6x8xf16>, tensor<1x2x6x3xf16>)
  return %0#0, %0#1, %0#2 : tensor<1x2x4x8xf16>, tensor<1x2x6x8xf16>, tensor<1x2x6x3xf16>
}

// CHECK-LABEL: func.func @attend_backward_onto(
func.func @attend_backward_onto(%q: tensor<1x2x4x8xf16>, %k: tensor<1x1x6x8xf16>, %v: tensor<1x1x6x3xf16>, %spans: tensor<1x1x4x2xi64>, %go: tensor<1x2x4x3xf16>, %lse: tensor<1x2x4x2xf32>, %delta: tensor<1x2x4x1xf32>, %before: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  // CHECK: tp.attend_backward %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} from %{{.*}} lse %{{.*}} delta %{{.*}} onto %{{.*}} scale 1.250000e-01 pairs 24 :
  %0:3 = tp.attend_backward %q, %k, %v bias %spans from %go lse %lse delta %delta onto %before scale 0.125 pairs 24 : (tensor<1x2x4x8xf16>, tensor<1x1x6x8xf16>, tensor<1x1x6x3xf16>, tensor<1x1x4x2xi64>, tensor<1x2x4x3xf16>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32>)
  return %0#0 : tensor<1x2x4x8xf32>
}
