// Two axes on one dimension, evenly and unevenly, and on different ones.

//--- positions
#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<12x5xf32> {tp.pin = {dp = #tp.placement<shard<0>>, tp = #tp.placement<shard<0>>}}) -> tensor<12x5xf32> {
    %e = tensor.empty() : tensor<12x5xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<12x5xf32>) outs(%e : tensor<12x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %r = arith.index_cast %i : index to i64
      %s = arith.sitofp %r : i64 to f32
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    } -> tensor<12x5xf32>
    return %y : tensor<12x5xf32>
  }
}

//--- rows
#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<7xi64>, %table: tensor<12x4xf32> {tp.pin = {dp = #tp.placement<shard<0>>, tp = #tp.placement<shard<0>>}}) -> tensor<7x4xf32> {
    %e = tensor.empty() : tensor<7x4xf32>
    %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<7xi64>) outs(%e : tensor<7x4xf32>) {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %column = linalg.index 1 : index
      %v = tensor.extract %table[%row, %column] : tensor<12x4xf32>
      linalg.yield %v : f32
    } -> tensor<7x4xf32>
    return %y : tensor<7x4xf32>
  }
}

//--- linear
#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4x9xf32> {tp.pin = {dp = #tp.placement<shard<0>>}}, %v: tensor<9x6xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}, %w: tensor<6x5xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<4x5xf32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %e1 = tensor.empty() : tensor<4x6xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x6xf32>) -> tensor<4x6xf32>
    %h = linalg.matmul ins(%x, %v : tensor<4x9xf32>, tensor<9x6xf32>) outs(%f1 : tensor<4x6xf32>) -> tensor<4x6xf32>
    %e2 = tensor.empty() : tensor<4x5xf32>
    %f2 = linalg.fill ins(%one : f32) outs(%e2 : tensor<4x5xf32>) -> tensor<4x5xf32>
    %y = linalg.matmul ins(%h, %w : tensor<4x6xf32>, tensor<6x5xf32>) outs(%f2 : tensor<4x5xf32>) -> tensor<4x5xf32>
    return %y : tensor<4x5xf32>
  }
}
