// RUN: tp-opt %s --tp-outline-loops --split-input-file | FileCheck %s --implicit-check-not="loop 0, value 2"
// RUN: tp-opt %s --tp-outline-loops=limit=1000 --split-input-file | FileCheck %s --check-prefix=SHORT

// The entry reads what the last iteration leaves. Constants are each part's
// own; a value of the first part that the entry reads is carried; what no
// iteration changes is not.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<20x4xf32> {tp.kind = "parameter", tp.name = "w"}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {tp.name = "argument1"}
// CHECK-SAME: %{{[a-z0-9]+}}: index {tp.kind = "carried", tp.name = "two: loop 0, iteration"}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<4xf32> {tp.kind = "carried", tp.name = "two: loop 0, value 0"}
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: i32 {tp.kind = "carried", tp.name = "two: loop 0, value 1"}
// CHECK-SAME: %{{[a-z0-9]+}}: i32 {tp.kind = "carried", tp.name = "two: loop 1, iteration"}
// CHECK-SAME: %[[LAST:[a-z0-9]+]]: tensor<4xf32> {tp.kind = "carried", tp.name = "two: loop 1, value 0"}
// CHECK-SAME: %[[DOUBLE:[a-z0-9]+]]: tensor<4xf32> {tp.kind = "carried", tp.name = "two: value 0"}
// CHECK: %[[SUM:.*]] = arith.addf %[[LAST]], %[[DOUBLE]]
// CHECK: return %[[SUM]], %[[COUNT]]

// CHECK-LABEL: func.func @two.part0(
// CHECK-SAME: -> (tensor<4xf32> {tp.kind = "carried", tp.name = "two: value 0", tp.updates = "two: value 0"}
// CHECK-SAME: index {tp.kind = "carried", tp.name = "two: loop 0, iteration", tp.updates = "two: loop 0, iteration"}
// CHECK-SAME: attributes {tp.part_of = "two", tp.times = 1 : i64}
// CHECK: %[[D:.*]] = arith.addf
// CHECK: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK: return %[[D]], %[[FIRST]], %[[D]], %{{.*}} : tensor<4xf32>, index, tensor<4xf32>, i32

// CHECK-LABEL: func.func @two.part1(
// CHECK-SAME: attributes {tp.calls = 20 : i64, tp.part_of = "two", tp.times = 20 : i64}
// CHECK: tensor.extract_slice %{{.*}}[%[[I:[a-z0-9]+]], 0]
// CHECK: %[[STEP:.*]] = arith.constant 1 : index
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %[[STEP]] : index
// CHECK: return %[[NEXT]]

// CHECK-LABEL: func.func @two.part2(
// CHECK-SAME: attributes {tp.part_of = "two", tp.times = 1 : i64}
// CHECK: arith.constant 2 : i32

// CHECK-LABEL: func.func @two.part3(
// CHECK-SAME: attributes {tp.calls = 3 : i64, tp.part_of = "two", tp.times = 3 : i64}

// SHORT-LABEL: func.func @two(
// SHORT: scf.for
// SHORT: scf.for
// SHORT-NOT: tp.part_of
func.func @two(%w: tensor<20x4xf32> {tp.name = "w", tp.kind = "parameter"}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %n2 = arith.constant 2 : i32
  %n3 = arith.constant 3 : i32
  %n9 = arith.constant 9 : i32
  %d = arith.addf %x, %x : tensor<4xf32>
  %y, %count, %same = scf.for %i = %c0 to %c20 step %c1
      iter_args(%a = %d, %k = %n2, %s = %x) -> (tensor<4xf32>, i32, tensor<4xf32>) {
    %row = tensor.extract_slice %w[%i, 0] [1, 4] [1, 1] : tensor<20x4xf32> to tensor<4xf32>
    %sum = arith.addf %a, %row : tensor<4xf32>
    %more = arith.mulf %sum, %s : tensor<4xf32>
    %k2 = arith.addi %k, %n3 : i32
    scf.yield %more, %k2, %s : tensor<4xf32>, i32, tensor<4xf32>
  }
  %z = scf.for %i = %n2 to %n9 step %n3 iter_args(%a = %y) -> (tensor<4xf32>) : i32 {
    %f = arith.sitofp %i : i32 to f32
    %t = tensor.splat %f : tensor<4xf32>
    %m = arith.mulf %a, %t : tensor<4xf32>
    scf.yield %m : tensor<4xf32>
  }
  %r = arith.addf %z, %d : tensor<4xf32>
  return %r, %count : tensor<4xf32>, i32
}

// -----

// Loops in calls, of which the function is no entry.
// SHORT-LABEL: func.func @calls(
// SHORT: scf.for
// CHECK-LABEL: func.func @calls(
// CHECK: func.func @calls.part0(
// CHECK: func.func @calls.part1(
// CHECK-NOT: scf.for
func.func private @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %y = scf.for %i = %c0 to %c20 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %e = math.exp %a : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @loop(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// No constant bound, no iteration, one, negative numbers, a loop in a
// condition, a dynamic type: these stay.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-5: scf.for
// CHECK-NOT: tp.part_of
func.func @stay(%x: tensor<4xf32>, %n: index, %is: i1) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %neg = arith.constant -5 : index
  %c20 = arith.constant 20 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<4xf32>) {
    %e = math.exp %v : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  %d = scf.for %i = %neg to %c20 step %c1 iter_args(%v = %a) -> (tensor<4xf32>) {
    %e = math.exp %v : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  %f = scf.if %is -> tensor<4xf32> {
    %g = scf.for %i = %c0 to %c20 step %c1 iter_args(%v = %d) -> (tensor<4xf32>) {
      %e = math.exp %v : tensor<4xf32>
      scf.yield %e : tensor<4xf32>
    }
    scf.yield %g : tensor<4xf32>
  } else {
    scf.yield %d : tensor<4xf32>
  }
  %dyn = tensor.empty(%n) : tensor<?xf32>
  %h = scf.for %i = %c0 to %c20 step %c1 iter_args(%v = %dyn) -> (tensor<?xf32>) {
    %e = math.exp %v : tensor<?xf32>
    scf.yield %e : tensor<?xf32>
  }
  %one = tensor.extract_slice %h[0] [4] [1] : tensor<?xf32> to tensor<4xf32>
  %k = scf.for %i = %c0 to %c20 step %n iter_args(%v = %f) -> (tensor<4xf32>) {
    %e = arith.addf %v, %one : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  return %k : tensor<4xf32>
}

// -----

// Part of an argument, and an argument in another shape, is each part's own: an iteration reads the
// weight, not a copy that is carried. What is computed of it is carried.

// CHECK-LABEL: func.func @first_layers(
// CHECK-LABEL: func.func @first_layers.part1(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<24x4xf32>
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[W]][0, 0] [20, 4] [1, 1]
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[FIRST]]
// CHECK: tensor.extract_slice %[[GROUPS]][%{{.*}}, 0, 0] [1, 1, 4]
func.func @first_layers(%w: tensor<24x4xf32> {tp.name = "w", tp.kind = "parameter"}, %x: tensor<4xf32>)
    -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %first = tensor.extract_slice %w[0, 0] [20, 4] [1, 1] : tensor<24x4xf32> to tensor<20x4xf32>
  %groups = tensor.expand_shape %first [[0, 1], [2]] output_shape [20, 1, 4] : tensor<20x4xf32> into tensor<20x1x4xf32>
  %twice = arith.addf %first, %first : tensor<20x4xf32>
  %y = scf.for %i = %c0 to %c20 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
    %row = tensor.extract_slice %groups[%i, 0, 0] [1, 1, 4] [1, 1, 1] : tensor<20x1x4xf32> to tensor<4xf32>
    %other = tensor.extract_slice %twice[%i, 0] [1, 4] [1, 1] : tensor<20x4xf32> to tensor<4xf32>
    %sum = arith.addf %a, %row : tensor<4xf32>
    %more = arith.addf %sum, %other : tensor<4xf32>
    scf.yield %more : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
