// RUN: tp-opt %s --split-input-file --tp-insert-waits --verify-diagnostics -o /dev/null
// RUN: not tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU

// CPU: 'tp.queue' is not handled by the CPU target
// CPU: is not handled by the CPU target

// Queues and waits by hand that leave a result to chance, or that no queue can do.

func.func @no_offset(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{has no offset: expected tp-plan-memory before tp-insert-waits}}
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %0, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %1 : memref<2x2xf32>
}

// -----

func.func @other_queue(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{runs in the queue "compute", got 'tp.queue' "communication"}}
  tp.gemm %x, %x into %0 {tp.queue = "communication"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @unknown_queue(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{runs in the queue "compute", got 'tp.queue' "copies"}}
  tp.gemm %x, %x into %0 {tp.queue = "copies"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

func.func @some_queues(%x: memref<2x2xf32>) -> (memref<2x2xf32>, memref<2x2xf32>) {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{expected a string 'tp.queue' on all commands or on none}}
  tp.gemm %x, %x into %1 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
}

// -----

func.func @early_signal(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  // expected-error@+1 {{expected a command of the queue 'compute' before it}}
  %0 = tp.signal compute
  %1 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %1 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %1 : memref<2x2xf32>
}

// -----

func.func @late_wait(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.signal compute
  // expected-error@+1 {{expected a command of the queue 'communication' behind it}}
  tp.wait communication for %1
  return %0 : memref<2x2xf32>
}

// -----

func.func @two_waits(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.signal compute
  // expected-note@+1 {{the queue waits here already}}
  tp.wait communication for %1
  // expected-error@+1 {{expected one wait before a command}}
  tp.wait communication for %1
  return %0 : memref<2x2xf32>
}

// -----

func.func @own_queue(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  %1 = tp.signal compute
  // expected-error@+1 {{a queue runs its commands in order, expected an event of another queue than 'compute'}}
  tp.wait compute for %1
  return %0 : memref<2x2xf32>
}

// -----

func.func @no_event(%x: memref<2x2xf32>, %e: none) -> memref<2x2xf32> {
  // expected-error@+1 {{expected an event of tp.signal}}
  tp.wait compute for %e
  %0 = tp.alloc : memref<2x2xf32>
  tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @no_wait(%x: memref<2x2xf32>) -> (memref<2x2xf32>, memref<2x2xf32>) {
    %0 = tp.alloc : memref<2x2xf32>
    // expected-note@+1 {{the command is here}}
    tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
    %1 = tp.alloc : memref<2x2xf32>
    // expected-error@+1 {{touches memory that a command of the queue 'compute' touches too, expected it to wait for that}}
    tp.communicate %0 into %1 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication"}
    return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
  }
}

// -----

// The event is of a command before the one that writes.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @short_wait(%x: memref<2x2xf32>) -> (memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>) {
    %0 = tp.alloc : memref<2x2xf32>
    tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
    %1 = tp.signal compute
    %2 = tp.alloc : memref<2x2xf32>
    // expected-note@+1 {{the command is here}}
    tp.gemm %x, %x into %2 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
    %3 = tp.alloc : memref<2x2xf32>
    tp.wait communication for %1
    // expected-error@+1 {{touches memory that a command of the queue 'compute' touches too, expected it to wait for that}}
    tp.communicate %2 into %3 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication"}
    return %0, %2, %3 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @no_end(%x: memref<2x2xf32>) -> memref<2x2xf32> {
    %0 = tp.alloc : memref<2x2xf32>
    // expected-note@+1 {{the collective is here}}
    tp.communicate %x into %0 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication"}
    // expected-error@+1 {{expected the end of the step to wait for the last collective}}
    return %0 : memref<2x2xf32>
  }
}

// -----

func.func @no_collective(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = tp.alloc : memref<2x2xf32>
  // expected-error@+1 {{has 'tp.with_previous', expected a collective and one before it}}
  tp.gemm %x, %x into %0 {tp.queue = "compute", tp.with_previous} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  return %0 : memref<2x2xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @shared(%x: memref<2x2xf32>) -> (memref<2x2xf32>, memref<2x2xf32>) {
    %0 = tp.alloc : memref<2x2xf32>
    // expected-note@+1 {{the collective is here}}
    tp.communicate %x into %0 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication"}
    %1 = tp.alloc : memref<2x2xf32>
    // expected-error@+1 {{starts as one with a collective that touches the same memory}}
    tp.communicate %0 into %1 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication", tp.with_previous}
    %2 = tp.signal communication
    tp.wait compute for %2
    return %0, %1 : memref<2x2xf32>, memref<2x2xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @blocks(%x: memref<2x2xf32>) -> (memref<2x2xf32>, memref<2x4xf32>) {
    %0 = tp.alloc : memref<2x2xf32>
    tp.communicate %x into %0 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication"}
    %1 = tp.alloc : memref<2x4xf32>
    // expected-error@+1 {{cannot start as one with others: expected several ranks, and elements without gaps}}
    tp.communicate %x into %1 : memref<2x2xf32>, memref<2x4xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_gather %a dim 1 over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x4xf32>
    } {tp.queue = "communication", tp.with_previous}
    %2 = tp.signal communication
    tp.wait compute for %2
    return %0, %1 : memref<2x2xf32>, memref<2x4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @wait_between(%x: memref<2x2xf32>) -> (memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>) {
    %0 = tp.alloc : memref<2x2xf32>
    tp.gemm %x, %x into %0 {tp.queue = "compute"} : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
    %1 = tp.signal compute
    %2 = tp.alloc : memref<2x2xf32>
    tp.communicate %x into %2 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication"}
    %3 = tp.alloc : memref<2x2xf32>
    tp.wait communication for %1
    // expected-error@+1 {{starts as one with the collective before it, expected no wait between them}}
    tp.communicate %0 into %3 : memref<2x2xf32>, memref<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %b = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<2x2xf32> -> tensor<2x2xf32>
    } {tp.queue = "communication", tp.with_previous}
    %4 = tp.signal communication
    tp.wait compute for %4
    return %0, %2, %3 : memref<2x2xf32>, memref<2x2xf32>, memref<2x2xf32>
  }
}
