// RUN: tp-opt %s --tp-legalize --split-input-file --verify-diagnostics

func.func private @outside(tensor<6xf32>) -> tensor<6xf32>
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{calls the external function @outside, expected one with a body in this module}}
  %y = call @outside(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func private @again(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{calls @again recursively, expected calls that end; unroll the recursion before}}
  %y = call @again(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = call @again(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %f: (tensor<6xf32>) -> tensor<6xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{'func.call_indirect' calls a function that is known only at run time, expected func.call}}
  %y = call_indirect %f(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-error@+1 {{expected a function of one block, got 2; write branches as select or scf.if}}
func.func private @blocks(%x: tensor<6xf32>) -> tensor<6xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<6xf32>
}
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = call @blocks(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-error@+1 {{argument #0 has 'tp.name', which only arguments of the compiled function can have}}
func.func private @named(%x: tensor<6xf32> {tp.name = "x"}) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = call @named(%x) : (tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-remark@+1 {{@other is called, so it is no entry: a host cannot run it}}
func.func @other(%x: tensor<6xf32>) {
  return
}
func.func @main(%x: tensor<6xf32>) {
  call @other(%x) : (tensor<6xf32>) -> ()
  return
}

// -----

// expected-error@+1 {{expected a public func.func with a body, got none}}
module {
  func.func private @one(%x: tensor<6xf32>) {
    return
  }
}

// -----

ml_program.global private mutable @state(dense<0> : tensor<i64>) : tensor<i64>
func.func @main(%x: tensor<i64>) -> tensor<i64> {
  // expected-error@+1 {{'ml_program.global_load' uses the mutable global @state, expected state to be an argument and a result}}
  %s = ml_program.global_load @state : tensor<i64>
  return %s : tensor<i64>
}

// -----

ml_program.global private @extern(#ml_program.extern<tensor<i64>>) : tensor<i64>
func.func @main() -> tensor<i64> {
  // expected-error@+1 {{loads the global @extern, whose numbers are not in the module; expected an argument}}
  %s = ml_program.global_load_const @extern : tensor<i64>
  return %s : tensor<i64>
}

// -----

func.func @main(%x: tensor<6xf32>, %n: index) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{'scf.for' is only handled with constant bounds and a positive step, which are unrolled; write the loop as linalg.generic}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<6xf32> {
    %e = math.exp %v : tensor<6xf32>
    scf.yield %e : tensor<6xf32>
  }
  return %y : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 1000000000000 : index
  // expected-error@+1 {{unrolling 50001 iterations of 2 ops makes more than 50000 ops of all loops together, expected fewer; write the loop as linalg.generic}}
  %y = scf.for %i = %c0 to %many step %c1 iter_args(%v = %x) -> tensor<6xf32> {
    %e = math.exp %v : tensor<6xf32>
    scf.yield %e : tensor<6xf32>
  }
  return %y : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %n: index) -> tensor<6xf32> {
  // expected-error@+1 {{'scf.forall' is only handled with constant bounds, which are unrolled; write the loop as linalg.generic}}
  %y = scf.forall (%i) in (%n) shared_outs(%o = %x) -> tensor<6xf32> {
    scf.forall.in_parallel {
    }
  }
  return %y : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %c: i1) -> tensor<6xf32> {
  // expected-note@+1 {{both sides of this are computed and one is selected}}
  %y = scf.if %c -> tensor<6xf32> {
    // expected-error@+1 {{'memref.alloc' under a condition is not handled, expected ops that compute values}}
    %m = memref.alloc() : memref<6xf32>
    scf.yield %x : tensor<6xf32>
  } else {
    scf.yield %x : tensor<6xf32>
  }
  return %y : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %n: index) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{'tensor.pad' by a number that is negative or known only at run time is not handled, expected constants}}
  %y = tensor.pad %x low[%n] high[%n] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<6xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %n: f32) -> tensor<6xf32> {
  %c6 = arith.constant 6 : index
  // expected-error@+1 {{writes index 6 of a dimension of size 6}}
  %y = tensor.insert %n into %x[%c6] : tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %y: tensor<3xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{'tensor.insert_slice' with a stride of 0 in dimension 0 is not handled, expected at least 1 where a slice has several elements}}
  %z = tensor.insert_slice %y into %x[3] [3] [0] : tensor<3xf32> into tensor<6xf32>
  return %z : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>, %y: tensor<3xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{'tensor.insert_slice' with a stride of -1 in dimension 0 is not handled, expected at least 1 where a slice has several elements}}
  %z = tensor.insert_slice %y into %x[5] [3] [-1] : tensor<3xf32> into tensor<6xf32>
  return %z : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<6xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'tensor.extract_slice' with a stride of 0 in dimension 0 is not handled, expected at least 1 where a slice has several elements}}
  %y = tensor.extract_slice %x[5] [3] [0] : tensor<6xf32> to tensor<3xf32>
  return %y : tensor<3xf32>
}
