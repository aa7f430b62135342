// Sizes that three ranks do not divide: a product whose summed dimension is 3 3 1 and
// whose result is scattered, an annotated constant, an op of two results, and one value
// for uses of two layouts. The plain program: as in shard-mlp.mlir.
#id = affine_map<(d0, d1) -> (d0, d1)>
shard.grid @tp(shape = 3)
func.func @main(%x: tensor<5x7xf32> {tp.name = "x"}, %w: tensor<7x4xf32> {tp.name = "w"})
    -> (tensor<5x4xf32> {tp.name = "y"}, tensor<5x4xf32> {tp.name = "z"}) {
  %whole = shard.sharding @tp split_axes = [[]] : !shard.sharding
  %rows = shard.sharding @tp split_axes = [[0]] : !shard.sharding
  %chunks = shard.sharding @tp split_axes = [[0]] sharded_dims_offsets = [0, 2, 4, 5] : !shard.sharding
  %columns = shard.sharding @tp split_axes = [[], [0]] : !shard.sharding
  %x_s = shard.shard %x to %columns : tensor<5x7xf32>
  %w_s = shard.shard %w to %rows annotate_for_users : tensor<7x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>
  %p = linalg.matmul ins(%x_s, %w_s : tensor<5x7xf32>, tensor<7x4xf32>) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  %p_s = shard.shard %p to %chunks : tensor<5x4xf32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0]]> : tensor<5x4xf32>
  %c_s = shard.shard %c to %rows : tensor<5x4xf32>
  %both:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p_s, %c_s : tensor<5x4xf32>, tensor<5x4xf32>) outs(%e, %e : tensor<5x4xf32>, tensor<5x4xf32>) {
  ^bb0(%a: f32, %b: f32, %q: f32, %r: f32):
    %sum = arith.addf %a, %b : f32
    %product = arith.mulf %a, %b : f32
    linalg.yield %sum, %product : f32, f32
  } -> (tensor<5x4xf32>, tensor<5x4xf32>)
  %first = shard.shard %both#0 to %whole : tensor<5x4xf32>
  %second = shard.shard %both#1 to %columns : tensor<5x4xf32>
  return %both#0, %both#1 : tensor<5x4xf32>, tensor<5x4xf32>
}
