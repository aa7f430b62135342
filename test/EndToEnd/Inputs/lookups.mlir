// The lookups of ../ops-lookups.mlir, written with loops.

func.func @main(%x: tensor<6x12x4xf32> {tp.name = "x"}, %i: tensor<6x1xi32> {tp.name = "i"}, %y: tensor<3x12xf32> {tp.name = "y"}) -> (tensor<6x12x4xf32>, tensor<6x6x1x4xf32>, tensor<3x12xf32>, tensor<6x12x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  %0 = tensor.generate {
  ^bb0(%a: index, %b: index, %c: index):
    %n = tensor.extract %i[%a, %c0] : tensor<6x1xi32>
    %r = arith.index_cast %n : i32 to index
    %v = tensor.extract %x[%r, %b, %c] : tensor<6x12x4xf32>
    tensor.yield %v : f32
  } : tensor<6x12x4xf32>
  %1 = tensor.generate {
  ^bb0(%a: index, %b: index, %u: index, %c: index):
    %n = tensor.extract %i[%a, %c0] : tensor<6x1xi32>
    %r = arith.index_cast %n : i32 to index
    %v = tensor.extract %x[%b, %r, %c] : tensor<6x12x4xf32>
    tensor.yield %v : f32
  } : tensor<6x6x1x4xf32>
  %j = arith.constant dense<[[4, 2], [0, 3], [5, 0]]> : tensor<3x2xindex>
  %2 = tensor.generate {
  ^bb0(%a: index, %b: index):
    %r = tensor.extract %j[%a, %c0] : tensor<3x2xindex>
    %s = tensor.extract %j[%a, %c1] : tensor<3x2xindex>
    %v = tensor.extract %x[%r, %b, %s] : tensor<6x12x4xf32>
    tensor.yield %v : f32
  } : tensor<3x12xf32>
  %3 = scf.for %a = %c0 to %c3 step %c1 iter_args(%t = %x) -> tensor<6x12x4xf32> {
    %u = scf.for %b = %c0 to %c12 step %c1 iter_args(%v = %t) -> tensor<6x12x4xf32> {
      %r = tensor.extract %j[%a, %c0] : tensor<3x2xindex>
      %s = tensor.extract %j[%a, %c1] : tensor<3x2xindex>
      %e = tensor.extract %y[%a, %b] : tensor<3x12xf32>
      %w = tensor.insert %e into %v[%r, %b, %s] : tensor<6x12x4xf32>
      scf.yield %w : tensor<6x12x4xf32>
    }
    scf.yield %u : tensor<6x12x4xf32>
  }
  return %0, %1, %2, %3 : tensor<6x12x4xf32>, tensor<6x6x1x4xf32>, tensor<3x12xf32>, tensor<6x12x4xf32>
}
