// A hundred iterations of two linear layers.
func.func @main(%a: tensor<8x16xf32> {tp.name = "a.weight", tp.kind = "parameter"},
                %b: tensor<16x8xf32> {tp.name = "b.weight", tp.kind = "parameter"},
                %x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<4x8xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<4x16xf32>
  %narrow = tensor.empty() : tensor<4x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<4x16xf32>) -> tensor<4x16xf32>
  %none = linalg.fill ins(%zero : f32) outs(%narrow : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<4x8xf32>) {
    %p = linalg.matmul ins(%h, %a : tensor<4x8xf32>, tensor<8x16xf32>) outs(%zeros : tensor<4x16xf32>) -> tensor<4x16xf32> loc("a"("mm"))
    %act = math.tanh %p : tensor<4x16xf32> loc("act"("tanh"))
    %q = linalg.matmul ins(%act, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%none : tensor<4x8xf32>) -> tensor<4x8xf32> loc("b"("mm_1"))
    scf.yield %q : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}
