// RUN: tp-opt %s --canonicalize | FileCheck %s

#mesh = #tp.mesh<"tp" = 2>
#one = #tp.mesh<"tp" = 1>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>

// The same pin twice says nothing new; another one does.
// CHECK-LABEL: func.func @same_pin(
// CHECK-COUNT-1: tp.constrain {{.*}} to shard<0>
// CHECK-NEXT: return
func.func @same_pin(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tp.constrain %x on "tp" of #mesh to shard<0> view [4, 8] at "a" "output" : tensor<4x8xf32>
  %1 = tp.constrain %0 on "tp" of #mesh to shard<0> view [4, 8] at "b" "input" : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @two_pins(
// CHECK-COUNT-2: tp.constrain
func.func @two_pins(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tp.constrain %x on "tp" of #mesh to shard<0> view [4, 8] at "a" "output" : tensor<4x8xf32>
  %1 = tp.constrain %0 on "tp" of #mesh to shard<1> view [4, 8] at "b" "input" : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @same_layout(
// CHECK-NEXT: return %arg0
func.func @same_layout(%x: tensor<4x8xf32, #s0>) -> tensor<4x8xf32, #s0> {
  %0 = tp.redistribute %x : tensor<4x8xf32, #s0> to tensor<4x8xf32, #s0>
  return %0 : tensor<4x8xf32, #s0>
}

// What lies between two changes is not seen.
// CHECK-LABEL: func.func @chain(
// CHECK: tp.redistribute %arg0 : tensor<4x8xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<4x8xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK-NEXT: return
func.func @chain(%x: tensor<4x8xf32, #s0>) -> tensor<4x8xf32, #s1> {
  %0 = tp.redistribute %x : tensor<4x8xf32, #s0> to tensor<4x8xf32, #r>
  %1 = tp.redistribute %0 : tensor<4x8xf32, #r> to tensor<4x8xf32, #s1>
  return %1 : tensor<4x8xf32, #s1>
}

// A value that others read too stays.
// CHECK-LABEL: func.func @shared(
// CHECK-COUNT-2: tp.redistribute
func.func @shared(%x: tensor<4x8xf32, #s0>) -> (tensor<4x8xf32, #r>, tensor<4x8xf32, #s1>) {
  %0 = tp.redistribute %x : tensor<4x8xf32, #s0> to tensor<4x8xf32, #r>
  %1 = tp.redistribute %0 : tensor<4x8xf32, #r> to tensor<4x8xf32, #s1>
  return %0, %1 : tensor<4x8xf32, #r>, tensor<4x8xf32, #s1>
}

// A group of one exchanges nothing.
// CHECK-LABEL: func.func @group_of_one(
// CHECK-NEXT: return %arg0
func.func @group_of_one(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tp.all_reduce sum %x over <#one, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tp.all_gather %0 dim 0 over <#one, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = tp.reduce_scatter sum %1 dim 1 over <#one, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = tp.all_to_all %2 split 0 concat 1 over <#one, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = tp.permute %3 sources [0] over <#one, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @gathered_slice(
// CHECK-NEXT: return %arg0
func.func @gathered_slice(%x: tensor<4x8xf32, #r>) -> tensor<4x8xf32, #r> {
  %0 = tp.local_slice %x dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #r> -> tensor<4x8xf32, #s0>
  %1 = tp.all_gather %0 dim 0 over <#mesh, ["tp"]> : tensor<4x8xf32, #s0> -> tensor<4x8xf32, #r>
  return %1 : tensor<4x8xf32, #r>
}
