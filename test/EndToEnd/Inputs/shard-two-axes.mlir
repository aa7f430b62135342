// Data parallel along one axis of the grid and tensor parallel along the other.
// The second result is resharded. The plain program: as in shard-mlp.mlir.
shard.grid @mesh(shape = 2x2)
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"},
                %w1: tensor<16x8xf32> {tp.name = "w1.weight", tp.kind = "parameter"},
                %w2: tensor<8x16xf32> {tp.name = "w2.weight", tp.kind = "parameter"})
    -> (tensor<4x8xf32> {tp.name = "y"}, tensor<4x16xf32> {tp.name = "hidden"}) {
  %batch = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %rows = shard.sharding @mesh split_axes = [[1]] : !shard.sharding
  %columns = shard.sharding @mesh split_axes = [[], [1]] : !shard.sharding
  %both = shard.sharding @mesh split_axes = [[0, 1]] : !shard.sharding
  %x_s = shard.shard %x to %batch : tensor<4x8xf32>
  %w1_s = shard.shard %w1 to %rows : tensor<16x8xf32>
  %w2_s = shard.shard %w2 to %columns : tensor<8x16xf32>
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8x16xf32>
  %t1 = linalg.transpose ins(%w1_s : tensor<16x8xf32>) outs(%e1 : tensor<8x16xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<4x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %h = linalg.matmul ins(%x_s, %t1 : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f2 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e3 = tensor.empty() : tensor<16x8xf32>
  %t2 = linalg.transpose ins(%w2_s : tensor<8x16xf32>) outs(%e3 : tensor<16x8xf32>) permutation = [1, 0]
  %e4 = tensor.empty() : tensor<4x8xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%h, %t2 : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f4 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y_s = shard.shard %y to %batch : tensor<4x8xf32>
  %h_s = shard.shard %h to %both annotate_for_users : tensor<4x16xf32>
  return %y_s, %h_s : tensor<4x8xf32>, tensor<4x16xf32>
}
