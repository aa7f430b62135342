// RUN: tp-opt %s --split-input-file --tp-schedule | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-schedule=target=cuda -o /dev/null
// RUN: tp-opt %s --split-input-file --tp-schedule -o %t.once
// RUN: tp-opt %t.once --split-input-file --tp-schedule | diff %t.once -
// RUN: tp-opt %t.once --split-input-file --tp-plan-memory -o /dev/null

// A command that writes a state moves behind the last of those that read it, and
// with it what needs what it computes; all others keep their places.

// CHECK-LABEL: @later
// CHECK-SAME: (%[[W:.*]]: memref<2x2xf32> {tp.name = "w"}, %[[X:.*]]: memref<2x2xf32>)
// CHECK-NEXT: %[[FIRST:.*]] = tp.alloc :
// CHECK-NEXT: tp.gemm %[[X]], %[[W]] into %[[FIRST]]
// CHECK-NEXT: %[[BESIDE:.*]] = tp.alloc :
// CHECK-NEXT: tp.gemm %[[X]], %[[X]] into %[[BESIDE]]
// CHECK-NEXT: %[[LAST:.*]] = tp.alloc :
// CHECK-NEXT: tp.gemm %[[W]], %[[X]] into %[[LAST]]
// CHECK-NEXT: %[[NEW:.*]] = tp.alloc in %[[W]]
// CHECK-NEXT: tp.gemm %[[X]], %[[X]] into %[[NEW]]
// CHECK-NEXT: %[[NEEDS:.*]] = tp.alloc :
// CHECK-NEXT: tp.gemm %[[NEW]], %[[X]] into %[[NEEDS]]
// CHECK-NEXT: return %[[NEW]], %[[NEEDS]], %[[FIRST]], %[[BESIDE]], %[[LAST]]
func.func @later(%w: memref<2x2xf32> {tp.name = "w"}, %x: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "w"}, memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>) {
  %0 = tp.alloc in %w of memref<2x2xf32> : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %0, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %2 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %w into %2 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %3 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %3 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %4 = tp.alloc : memref<2x2xf32>
  tp.gemm %w, %x into %4 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1, %2, %3, %4 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
}

// -----

// Two states, each of which is read behind where the other is written.

// CHECK-LABEL: @both
// CHECK-SAME: (%[[A:.*]]: memref<2x2xf32> {tp.name = "a"}, %[[B:.*]]: memref<2x2xf32> {tp.name = "b"})
// CHECK: tp.gemm %[[B]], %[[B]] into %[[C:.*]] :
// CHECK: tp.gemm %[[A]], %[[B]] into %[[D:.*]] :
// CHECK: %[[NEWA:.*]] = tp.alloc in %[[A]]
// CHECK: tp.gemm %[[C]], %[[C]] into %[[NEWA]] :
// CHECK: %[[NEWB:.*]] = tp.alloc in %[[B]]
// CHECK: tp.gemm %[[D]], %[[D]] into %[[NEWB]] :
func.func @both(%a: memref<2x2xf32> {tp.name = "a"}, %b: memref<2x2xf32> {tp.name = "b"}) -> (memref<2x2xf32> {tp.updates = "a"}, memref<2x2xf32> {tp.updates = "b"}) {
  %c = tp.alloc : memref<2x2xf32>
  tp.gemm %b, %b into %c : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %0 = tp.alloc in %a of memref<2x2xf32> : memref<2x2xf32>
  tp.gemm %c, %c into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %d = tp.alloc : memref<2x2xf32>
  tp.gemm %a, %b into %d : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc in %b of memref<2x2xf32> : memref<2x2xf32>
  tp.gemm %d, %d into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
}

// -----

// The first state has memory of its own and stays; the second one moves.

// CHECK-LABEL: @second
// CHECK-SAME: {tp.name = "a"}, %[[B:.*]]: memref<2x2xf32> {tp.name = "b"}
// CHECK: %[[OWN:.*]] = tp.alloc : memref
// CHECK-NEXT: tp.gemm %[[X:.*]], %[[X]] into %[[OWN]]
// CHECK: tp.gemm %[[B]], %[[X]] into
// CHECK: %[[NEW:.*]] = tp.alloc in %[[B]]
// CHECK-NEXT: tp.gemm %[[X]], %[[X]] into %[[NEW]]
func.func @second(%a: memref<2x2xf32> {tp.name = "a"}, %b: memref<2x2xf32> {tp.name = "b"}, %x: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "a"}, memref<2x2xf32> {tp.updates = "b"}, memref<2x2xf32>) {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc in %b of memref<2x2xf32> : memref<2x2xf32>
  tp.gemm %x, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %2 = tp.alloc : memref<2x2xf32>
  tp.gemm %b, %x into %2 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1, %2 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
}

// -----

// Memory that is written twice: what overwrites the operand of the command that
// moves comes behind it.

// CHECK-LABEL: @overwritten
// CHECK-SAME: (%[[W:.*]]: memref<2x2xf32> {tp.name = "w"}, %[[X:.*]]: memref<2x2xf32>, %[[Y:.*]]: memref<2x2xf32>)
// CHECK: tp.gemm %[[X]], %[[X]] into %[[T:.*]] :
// CHECK: tp.gemm %[[W]], %[[X]] into
// CHECK: tp.gemm %[[T]], %[[X]] into %[[NEW:.*]] :
// CHECK: tp.gemm %[[Y]], %[[Y]] into %[[T]] :
// CHECK: tp.gemm %[[T]], %[[X]] into
func.func @overwritten(%w: memref<2x2xf32> {tp.name = "w"}, %x: memref<2x2xf32>, %y: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "w"}, memref<2x2xf32>, memref<2x2xf32>) {
  %t = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %t : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %0 = tp.alloc in %w of memref<2x2xf32> : memref<2x2xf32>
  tp.gemm %t, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  tp.gemm %y, %y into %t : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %w, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %2 = tp.alloc : memref<2x2xf32>
  tp.gemm %t, %x into %2 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1, %2 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
}

// -----

// Without results in place nothing moves, also where another order would do.

// CHECK-LABEL: @kept
// CHECK: tp.alloc : memref<2x2xf32>
// CHECK-NEXT: tp.alloc : memref<2x2xf32>
// CHECK-NEXT: tp.gemm %[[X:.*]], %[[X]] into
// CHECK-NEXT: tp.gemm %[[W:.*]], %[[X]] into
func.func @kept(%w: memref<2x2xf32> {tp.name = "w"}, %x: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "w"}, memref<2x2xf32>) {
  %0 = tp.alloc : memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  tp.gemm %w, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
}
