// RUN: tp-opt %s --tp-hoist-redistributions --split-input-file | FileCheck %s

#mesh = #tp.mesh<"tp" = 2>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#S1 = #tp.layout<#mesh, [shard<1>]>
#S2 = #tp.layout<#mesh, [shard<2>]>
#rep = #tp.strategy<#mesh, [replicate]>
#split0 = #tp.strategy<#mesh, [split<0>]>

// What is computed from arguments that the body does not update moves with its
// redistribution. Of carried ones it is what the part before leaves. Where only
// another redistribution needs the first one, the last one is carried. What
// iterations update or slice stays, and what needs no collective.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: tensor<4x4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0"}
// CHECK-SAME: tensor<4x4xf32, #tp.layout<#mesh, [shard<1>]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.name = "f: hoisted 1"}
// CHECK-LABEL: func.func @f.part0(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>> {tp.name = "w"}
// CHECK-SAME: -> (tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>> {tp.kind = "carried", tp.name = "k", tp.updates = "k"}, tensor<4x4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0", tp.updates = "f: hoisted 0"}, tensor<4x4xf32, #tp.layout<#mesh, [shard<1>]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.name = "f: hoisted 1", tp.updates = "f: hoisted 1"})
// CHECK: %[[K:.*]] = arith.mulf %[[W]], %[[W]]
// CHECK-NEXT: %[[BEFORE:.*]] = tp.redistribute %[[K]]
// CHECK-NEXT: %[[WHOLE:.*]] = tp.redistribute %[[W]] : {{.*}} to tensor<4x4xf32, #tp.layout<#mesh, [replicate]>>
// CHECK-NEXT: %[[TWICE:.*]] = arith.addf %[[WHOLE]], %[[WHOLE]] : tensor
// CHECK-NEXT: %[[CUT:.*]] = tp.redistribute %[[TWICE]] {tp.reason = "why"} : {{.*}} to tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>>
// CHECK-NEXT: %[[MOVED:.*]] = tp.redistribute %[[CUT]] : {{.*}} to tensor<4x4xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK-NEXT: return %[[K]], %[[BEFORE]], %[[MOVED]] :
// CHECK-LABEL: func.func @f.part1(
// CHECK-SAME: %[[H0:[a-z0-9]+]]: tensor<4x4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0"}
// CHECK-SAME: %[[H1:[a-z0-9]+]]: tensor<4x4xf32, #tp.layout<#mesh, [shard<1>]>> {tp.kind = "carried"
// CHECK-NEXT: %[[LOCAL:.*]] = tp.redistribute %[[H0]] : {{.*}} to tensor<4x4xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK: tensor.extract_slice
// CHECK-NEXT: tp.redistribute
// CHECK-NEXT: tp.redistribute %{{.*}} : {{.*}} to tensor<4x4xf32, #tp.layout<#mesh, [shard<1>]>>
// CHECK-NEXT: arith.addf %[[H1]], %[[LOCAL]]
module attributes {tp.mesh = #mesh} {
  func.func @f(%w: tensor<4x4xf32, #S0> {tp.name = "w"}, %a: tensor<9x4x4xf32, #S1> {tp.name = "a"}, %i: tensor<index, #R> {tp.name = "i", tp.kind = "carried"}, %k: tensor<4x4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %h: tensor<4x4xf32, #S0> {tp.name = "h", tp.kind = "carried"}) {
    return
  }
  func.func @f.part0(%w: tensor<4x4xf32, #S0> {tp.name = "w"}, %a: tensor<9x4x4xf32, #S1> {tp.name = "a"}, %i: tensor<index, #R> {tp.name = "i", tp.kind = "carried"}, %k: tensor<4x4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %h: tensor<4x4xf32, #S0> {tp.name = "h", tp.kind = "carried"})
      -> (tensor<4x4xf32, #S0> {tp.name = "k", tp.kind = "carried", tp.updates = "k"}) attributes {tp.part_of = "f", tp.times = 1 : i64} {
    %made = arith.mulf %w, %w : tensor<4x4xf32, #S0>
    return %made : tensor<4x4xf32, #S0>
  }
  func.func @f.part1(%w: tensor<4x4xf32, #S0> {tp.name = "w"}, %a: tensor<9x4x4xf32, #S1> {tp.name = "a"}, %i: tensor<index, #R> {tp.name = "i", tp.kind = "carried"}, %k: tensor<4x4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %h: tensor<4x4xf32, #S0> {tp.name = "h", tp.kind = "carried"})
      -> (tensor<4x4xf32, #S0> {tp.name = "h", tp.kind = "carried", tp.updates = "h"}, tensor<index, #R> {tp.name = "i", tp.kind = "carried", tp.updates = "i"}) attributes {tp.part_of = "f", tp.times = 9 : i64} {
    %whole = tp.redistribute %w : tensor<4x4xf32, #S0> to tensor<4x4xf32, #R>
    %twice = arith.addf %whole, %whole {tp.values = [{id = 7 : i64}]} : tensor<4x4xf32, #R>
    %cut = tp.redistribute %twice {tp.reason = "why"} : tensor<4x4xf32, #R> to tensor<4x4xf32, #S0>
    %moved = tp.redistribute %cut {tp.values = [{id = 8 : i64}]} : tensor<4x4xf32, #S0> to tensor<4x4xf32, #S1>
    %before = tp.redistribute %k : tensor<4x4xf32, #S0> to tensor<4x4xf32, #R>
    %local = tp.redistribute %before : tensor<4x4xf32, #R> to tensor<4x4xf32, #S1>
    %at = tensor.extract %i[] {tp.strategy = #rep} : tensor<index, #R>
    %slice = tensor.extract_slice %a[%at, 0, 0] [1, 4, 4] [1, 1, 1] {tp.strategy = #split0, tp.result_layouts = [#S0]} : tensor<9x4x4xf32, #S1> to tensor<4x4xf32, #S0>
    %sliced = tp.redistribute %slice : tensor<4x4xf32, #S0> to tensor<4x4xf32, #S1>
    %own = tp.redistribute %h : tensor<4x4xf32, #S0> to tensor<4x4xf32, #S1>
    %0 = arith.addf %moved, %local : tensor<4x4xf32, #S1>
    %1 = arith.addf %0, %sliced : tensor<4x4xf32, #S1>
    %2 = arith.addf %1, %own : tensor<4x4xf32, #S1>
    %3 = tp.redistribute %2 : tensor<4x4xf32, #S1> to tensor<4x4xf32, #S0>
    %next = arith.addi %i, %i : tensor<index, #R>
    return %3, %next : tensor<4x4xf32, #S0>, tensor<index, #R>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#rep = #tp.strategy<#mesh, [replicate]>

// Two loops, and what comes behind, read what the part before the first one
// has anyway. What a part between them updates is another value in the second.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "two: hoisted 1"}
// CHECK-NEXT: return %[[E]]
// CHECK-LABEL: func.func @two.part0(
// CHECK: %[[W:.*]] = tp.redistribute %{{.*}} {test.own}
// CHECK: %[[S:.*]] = arith.negf %[[W]]
// CHECK: %[[K:.*]] = tp.redistribute
// CHECK-NOT: tp.redistribute
// CHECK: return %[[S]], %[[K]], %[[W]] :
// CHECK-LABEL: func.func @two.part1(
// CHECK-NOT: tp.redistribute
// CHECK-LABEL: func.func @two.part2(
// CHECK: %[[K2:.*]] = arith.negf
// CHECK: %[[KK:.*]] = tp.redistribute %[[K2]]
// CHECK-NOT: tp.redistribute
// CHECK: return %[[K2]], %[[KK]] :
// CHECK-LABEL: func.func @two.part3(
// CHECK-SAME: %[[H1:[a-z0-9]+]]: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "two: hoisted 1"}, %[[H2:[a-z0-9]+]]: tensor<4xf32, {{.*}}, tp.name = "two: hoisted 2"}
// CHECK-NOT: tp.redistribute
// CHECK: arith.addf %{{.*}}, %[[H1]]
// CHECK: arith.mulf %{{.*}}, %[[H2]]
module attributes {tp.mesh = #mesh} {
  func.func @two(%w: tensor<4xf32, #S0> {tp.name = "w"}, %k: tensor<4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"}) -> tensor<4xf32, #R> {
    %0 = tp.redistribute %w : tensor<4xf32, #S0> to tensor<4xf32, #R>
    return %0 : tensor<4xf32, #R>
  }
  func.func @two.part0(%w: tensor<4xf32, #S0> {tp.name = "w"}, %k: tensor<4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "two", tp.times = 1 : i64} {
    %0 = tp.redistribute %w {test.own} : tensor<4xf32, #S0> to tensor<4xf32, #R>
    %1 = arith.negf %0 : tensor<4xf32, #R>
    return %1 : tensor<4xf32, #R>
  }
  func.func @two.part1(%w: tensor<4xf32, #S0> {tp.name = "w"}, %k: tensor<4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "two", tp.times = 9 : i64} {
    %0 = tp.redistribute %w {tp.gather = "forward"} : tensor<4xf32, #S0> to tensor<4xf32, #R>
    %1 = tp.redistribute %k : tensor<4xf32, #S0> to tensor<4xf32, #R>
    %2 = arith.addf %s, %0 : tensor<4xf32, #R>
    %3 = arith.mulf %2, %1 : tensor<4xf32, #R>
    return %3 : tensor<4xf32, #R>
  }
  func.func @two.part2(%w: tensor<4xf32, #S0> {tp.name = "w"}, %k: tensor<4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #S0> {tp.name = "k", tp.kind = "carried", tp.updates = "k"}) attributes {tp.part_of = "two", tp.times = 1 : i64} {
    %0 = arith.negf %k : tensor<4xf32, #S0>
    return %0 : tensor<4xf32, #S0>
  }
  func.func @two.part3(%w: tensor<4xf32, #S0> {tp.name = "w"}, %k: tensor<4xf32, #S0> {tp.name = "k", tp.kind = "carried"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "two", tp.times = 5 : i64} {
    %0 = tp.redistribute %w {tp.gather = "backward"} : tensor<4xf32, #S0> to tensor<4xf32, #R>
    %1 = tp.redistribute %k : tensor<4xf32, #S0> to tensor<4xf32, #R>
    %2 = arith.addf %s, %0 : tensor<4xf32, #R>
    %3 = arith.mulf %2, %1 : tensor<4xf32, #R>
    return %3 : tensor<4xf32, #R>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#rep = #tp.strategy<#mesh, [replicate]>

// No part before the first loop; the part before the second lacks the argument;
// a part that runs once; a loop before a loop.
// CHECK-LABEL: func.func @stay(
// CHECK-NOT: hoisted
// CHECK-LABEL: func.func @stay.part0(
// CHECK: tp.redistribute
// CHECK-LABEL: func.func @stay.part1(
// CHECK: tp.redistribute
// CHECK-LABEL: func.func @stay.part2(
// CHECK: tp.redistribute
// CHECK-LABEL: func.func @stay.part3(
// CHECK: tp.redistribute
module attributes {tp.mesh = #mesh} {
  func.func @stay(%w: tensor<4xf32, #S0> {tp.name = "w"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"}) {
    return
  }
  func.func @stay.part0(%w: tensor<4xf32, #S0> {tp.name = "w"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "stay", tp.times = 9 : i64} {
    %0 = tp.redistribute %w : tensor<4xf32, #S0> to tensor<4xf32, #R>
    return %0 : tensor<4xf32, #R>
  }
  func.func @stay.part1(%w: tensor<4xf32, #S0> {tp.name = "v"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "stay", tp.times = 1 : i64} {
    %0 = tp.redistribute %w : tensor<4xf32, #S0> to tensor<4xf32, #R>
    return %0 : tensor<4xf32, #R>
  }
  func.func @stay.part2(%w: tensor<4xf32, #S0> {tp.name = "w"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "stay", tp.times = 9 : i64} {
    %0 = tp.redistribute %w : tensor<4xf32, #S0> to tensor<4xf32, #R>
    return %0 : tensor<4xf32, #R>
  }
  func.func @stay.part3(%w: tensor<4xf32, #S0> {tp.name = "w"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "stay", tp.times = 5 : i64} {
    %0 = tp.redistribute %w : tensor<4xf32, #S0> to tensor<4xf32, #R>
    return %0 : tensor<4xf32, #R>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
#other = #tp.mesh<"dp" = 2, "tp" = 4>
#R = #tp.layout<#other, [replicate, replicate]>
#S0 = #tp.layout<#other, [replicate, shard<0>]>

// A mesh that is not the module's. A size that is not known stays.
// CHECK-LABEL: func.func @mesh.part0(
// CHECK: tp.redistribute
// CHECK-LABEL: func.func @mesh.part1(
// CHECK-SAME: tp.name = "mesh: hoisted 0"
// CHECK: tp.redistribute %{{.*}} : tensor<?xf32,
// CHECK-NOT: tp.redistribute
module attributes {tp.mesh = #mesh} {
  func.func @mesh(%w: tensor<4xf32, #S0> {tp.name = "w"}, %v: tensor<?xf32, #S0> {tp.name = "v"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"}, %t: tensor<?xf32, #R> {tp.name = "t", tp.kind = "carried"}) {
    return
  }
  func.func @mesh.part0(%w: tensor<4xf32, #S0> {tp.name = "w"}, %v: tensor<?xf32, #S0> {tp.name = "v"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"}, %t: tensor<?xf32, #R> {tp.name = "t", tp.kind = "carried"}) attributes {tp.part_of = "mesh", tp.times = 1 : i64} {
    return
  }
  func.func @mesh.part1(%w: tensor<4xf32, #S0> {tp.name = "w"}, %v: tensor<?xf32, #S0> {tp.name = "v"}, %s: tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried"}, %t: tensor<?xf32, #R> {tp.name = "t", tp.kind = "carried"})
      -> (tensor<4xf32, #R> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}, tensor<?xf32, #R> {tp.name = "t", tp.kind = "carried", tp.updates = "t"}) attributes {tp.part_of = "mesh", tp.times = 9 : i64} {
    %0 = tp.redistribute %w : tensor<4xf32, #S0> to tensor<4xf32, #R>
    %1 = tp.redistribute %v : tensor<?xf32, #S0> to tensor<?xf32, #R>
    return %0, %1 : tensor<4xf32, #R>, tensor<?xf32, #R>
  }
}
