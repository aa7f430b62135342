// A loop in a loop and a condition in it: what is inside is unrolled.
func.func @main(%w: tensor<40x6xf32> {tp.name = "w", tp.kind = "parameter"}, %x: tensor<5x6xf32> {tp.name = "x"}) -> tensor<5x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %e = tensor.empty() : tensor<5x6xf32>
  %r = scf.for %i = %c0 to %c40 step %c1 iter_args(%a = %x) -> (tensor<5x6xf32>) {
    %row = tensor.extract_slice %w[%i, 0] [1, 6] [1, 1] : tensor<40x6xf32> to tensor<6xf32>
    %b = linalg.broadcast ins(%row : tensor<6xf32>) outs(%e : tensor<5x6xf32>) dimensions = [0]
    %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%k = %a) -> (tensor<5x6xf32>) {
      %s = arith.addf %k, %b : tensor<5x6xf32>
      %t = math.tanh %s : tensor<5x6xf32>
      scf.yield %t : tensor<5x6xf32>
    }
    %even = arith.remui %i, %c3 : index
    %is = arith.cmpi eq, %even, %c0 : index
    %z = scf.if %is -> (tensor<5x6xf32>) {
      %n = arith.negf %q : tensor<5x6xf32>
      scf.yield %n : tensor<5x6xf32>
    } else {
      scf.yield %q : tensor<5x6xf32>
    }
    scf.yield %z : tensor<5x6xf32>
  }
  return %r : tensor<5x6xf32>
}
