// A loop that counts in i32, carries f64, i1 and a number, and transposes.
func.func @main(%x: tensor<7x3xf64> {tp.name = "x"}, %m: tensor<7x3xi1> {tp.name = "m"}) -> (tensor<7x3xf64>, tensor<7x3xi1>, i32, tensor<3x7xf64>) {
  %c0 = arith.constant 2 : i32
  %c1 = arith.constant 3 : i32
  %c40 = arith.constant 50 : i32
  %e = tensor.empty() : tensor<3x7xf64>
  %xt = linalg.transpose ins(%x : tensor<7x3xf64>) outs(%e : tensor<3x7xf64>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<7x3xf64>
  %r, %b, %n, %v = scf.for %i = %c0 to %c40 step %c1 iter_args(%a = %x, %p = %m, %k = %c0, %u = %xt) -> (tensor<7x3xf64>, tensor<7x3xi1>, i32, tensor<3x7xf64>) : i32 {
    %f = arith.sitofp %i : i32 to f64
    %sp = tensor.splat %f : tensor<7x3xf64>
    %s = arith.addf %a, %sp : tensor<7x3xf64>
    %sel = arith.select %p, %s, %a : tensor<7x3xi1>, tensor<7x3xf64>
    %cmp = arith.cmpf olt, %sel, %sp : tensor<7x3xf64>
    %kk = arith.addi %k, %i : i32
    %ut = linalg.transpose ins(%u : tensor<3x7xf64>) outs(%e2 : tensor<7x3xf64>) permutation = [1, 0]
    %g = arith.addf %ut, %sel : tensor<7x3xf64>
    %c = math.cos %g : tensor<7x3xf64>
    %o = linalg.transpose ins(%c : tensor<7x3xf64>) outs(%e : tensor<3x7xf64>) permutation = [1, 0]
    scf.yield %c, %cmp, %kk, %o : tensor<7x3xf64>, tensor<7x3xi1>, i32, tensor<3x7xf64>
  }
  return %r, %b, %n, %v : tensor<7x3xf64>, tensor<7x3xi1>, i32, tensor<3x7xf64>
}
