// RUN: tp-opt %s --tp-schedule --verify-diagnostics -o /dev/null
// RUN: not tp-opt %s --tp-schedule=target=gpu 2>&1 | FileCheck %s

// CHECK: tp-schedule: expected the target 'cpu' or 'cuda', got 'gpu'

// What reads the old value needs the new one: there is no order.

func.func @circle(%w: memref<2x2xf32> {tp.name = "w"}, %x: memref<2x2xf32>) -> (memref<2x2xf32> {tp.updates = "w"}, memref<2x2xf32>) {
  // expected-note@+1 {{the result's memory is here}}
  %0 = tp.alloc in %w of memref<2x2xf32> : memref<2x2xf32>
  // expected-note@+1 {{it is written here}}
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{reads an argument and has to come after a command that writes the result in its memory: expected the result in memory of its own}}
  tp.gemm %w, %0 into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
}
