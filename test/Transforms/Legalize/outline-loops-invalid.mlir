// A model has no argument of the kind of carried ones.
// RUN: tp-opt %s --tp-outline-loops --verify-diagnostics

// expected-error@+1 {{argument #0 has the kind 'carried', which is for what iterations of loops leave each other; give it another one, such as 'user_input'}}
func.func @main(%x: tensor<4xf32> {tp.kind = "carried", tp.name = "x"}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %y = scf.for %i = %c0 to %c20 step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %e = math.exp %a : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
