// Layers of a network: their weights are slices at the place of the iteration.
func.func @main(%a: tensor<12x16x32xf32> {tp.name = "a", tp.kind = "parameter"}, %b: tensor<12x32x16xf32> {tp.name = "b", tp.kind = "parameter"}, %x: tensor<9x16xf32> {tp.name = "x"}) -> tensor<9x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %z = arith.constant 0.0 : f32
  %k = arith.constant 0.05 : f32
  %e = tensor.empty() : tensor<9x32xf32>
  %e2 = tensor.empty() : tensor<9x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<9x32xf32>) -> tensor<9x32xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<9x16xf32>) -> tensor<9x16xf32>
  %r = scf.for %i = %c0 to %c12 step %c1 iter_args(%h = %x) -> (tensor<9x16xf32>) {
    %wa = tensor.extract_slice %a[%i, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<12x16x32xf32> to tensor<16x32xf32>
    %wb = tensor.extract_slice %b[%i, 0, 0] [1, 32, 16] [1, 1, 1] : tensor<12x32x16xf32> to tensor<32x16xf32>
    %u = linalg.matmul ins(%h, %wa : tensor<9x16xf32>, tensor<16x32xf32>) outs(%f : tensor<9x32xf32>) -> tensor<9x32xf32>
    %t = math.tanh %u : tensor<9x32xf32>
    %v = linalg.matmul ins(%t, %wb : tensor<9x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<9x16xf32>) -> tensor<9x16xf32>
    %ks = tensor.splat %k : tensor<9x16xf32>
    %sv = arith.mulf %v, %ks : tensor<9x16xf32>
    %o = arith.addf %h, %sv : tensor<9x16xf32>
    scf.yield %o : tensor<9x16xf32>
  }
  return %r : tensor<9x16xf32>
}
