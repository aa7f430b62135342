// Values from loop to loop, carried values that change places, a number, and
// rows that iterations write.
func.func @main(%w: tensor<60x8x8xf32> {tp.name = "w", tp.kind = "parameter"},
                %x: tensor<6x8xf32> {tp.name = "x"}, %s: f32 {tp.name = "s"})
    -> (tensor<6x8xf32>, tensor<60x8xf32>, tensor<6x8xf32>, f32, tensor<6x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c60 = arith.constant 60 : index
  %zero = arith.constant 0.0 : f32
  %tenth = arith.constant 0.1 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %ys0 = tensor.empty() : tensor<60x8xf32>
  %ys1 = linalg.fill ins(%zero : f32) outs(%ys0 : tensor<60x8xf32>) -> tensor<60x8xf32>
  %x2 = arith.addf %x, %x : tensor<6x8xf32>
  %a, %b, %ys, %sc, %same = scf.for %i = %c0 to %c60 step %c1 iter_args(%p = %x2, %q = %x, %y = %ys1, %t = %s, %u = %x2)
      -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<60x8xf32>, f32, tensor<6x8xf32>) {
    %m = tensor.extract_slice %w[%i, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<60x8x8xf32> to tensor<8x8xf32>
    %pm = linalg.matmul ins(%p, %m : tensor<6x8xf32>, tensor<8x8xf32>) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
    %tt = math.tanh %pm : tensor<6x8xf32>
    %row = tensor.extract_slice %tt[0, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<1x8xf32>
    %y2 = tensor.insert_slice %row into %y[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<60x8xf32>
    %ii = arith.index_cast %i : index to i32
    %fi = arith.sitofp %ii : i32 to f32
    %t2 = arith.addf %t, %fi : f32
    %sp = tensor.splat %t2 : tensor<6x8xf32>
    %k = arith.mulf %sp, %u : tensor<6x8xf32>
    %sc = tensor.splat %tenth : tensor<6x8xf32>
    %k1 = arith.mulf %k, %sc : tensor<6x8xf32>
    %k2 = math.tanh %k1 : tensor<6x8xf32>
    %q2 = arith.addf %tt, %k2 : tensor<6x8xf32>
    scf.yield %q, %q2, %y2, %t2, %u : tensor<6x8xf32>, tensor<6x8xf32>, tensor<60x8xf32>, f32, tensor<6x8xf32>
  }
  %z = arith.addf %b, %x2 : tensor<6x8xf32>
  %r = scf.for %i = %c3 to %c60 step %c2 iter_args(%acc = %z) -> (tensor<6x8xf32>) {
    %m = tensor.extract_slice %ys[%i, 0] [1, 8] [1, 1] : tensor<60x8xf32> to tensor<8xf32>
    %bc = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<6x8xf32>) dimensions = [0]
    %n = arith.addf %acc, %bc : tensor<6x8xf32>
    %v = arith.mulf %n, %a : tensor<6x8xf32>
    %o = math.tanh %v : tensor<6x8xf32>
    %f = arith.addf %o, %x : tensor<6x8xf32>
    scf.yield %f : tensor<6x8xf32>
  }
  return %r, %ys, %z, %sc, %same : tensor<6x8xf32>, tensor<60x8xf32>, tensor<6x8xf32>, f32, tensor<6x8xf32>
}
