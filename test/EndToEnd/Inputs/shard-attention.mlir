// Attention of four heads, annotated on its weights and where its heads are.
// The plain program: as in shard-mlp.mlir.
shard.grid @tp(shape = 2)
#qk = affine_map<(h, i, j, d) -> (i, h, d)>
#kk = affine_map<(h, i, j, d) -> (j, h, d)>
#ss = affine_map<(h, i, j, d) -> (h, i, j)>
#s = affine_map<(h, i, j) -> (h, i, j)>
#r = affine_map<(h, i, j) -> (h, i)>
#hd = affine_map<(h, i, d, j) -> (i, h, d)>
#sj = affine_map<(h, i, d, j) -> (h, i, j)>
#jd = affine_map<(h, i, d, j) -> (j, h, d)>
func.func @main(%x: tensor<6x8xf32> {tp.name = "x", tp.kind = "user_input"},
                %wq: tensor<8x8xf32> {tp.name = "wq", tp.kind = "parameter"},
                %wk: tensor<8x8xf32> {tp.name = "wk", tp.kind = "parameter"},
                %wv: tensor<8x8xf32> {tp.name = "wv", tp.kind = "parameter"},
                %wo: tensor<8x8xf32> {tp.name = "wo", tp.kind = "parameter"})
    -> (tensor<6x8xf32> {tp.name = "y"}) {
  %whole = shard.sharding @tp split_axes = [[]] : !shard.sharding
  %rows = shard.sharding @tp split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @tp split_axes = [[], [0]] : !shard.sharding
  %wq_s = shard.shard %wq to %columns : tensor<8x8xf32>
  %wk_s = shard.shard %wk to %columns : tensor<8x8xf32>
  %wv_s = shard.shard %wv to %columns : tensor<8x8xf32>
  %wo_s = shard.shard %wo to %rows : tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %q = linalg.matmul ins(%x, %wq_s : tensor<6x8xf32>, tensor<8x8xf32>) outs(%f : tensor<6x8xf32>) -> tensor<6x8xf32>
  %k = linalg.matmul ins(%x, %wk_s : tensor<6x8xf32>, tensor<8x8xf32>) outs(%f : tensor<6x8xf32>) -> tensor<6x8xf32>
  %v = linalg.matmul ins(%x, %wv_s : tensor<6x8xf32>, tensor<8x8xf32>) outs(%f : tensor<6x8xf32>) -> tensor<6x8xf32>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [6, 4, 2] : tensor<6x8xf32> into tensor<6x4x2xf32>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [6, 4, 2] : tensor<6x8xf32> into tensor<6x4x2xf32>
  %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [6, 4, 2] : tensor<6x8xf32> into tensor<6x4x2xf32>
  %es = tensor.empty() : tensor<4x6x6xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x6x6xf32>) -> tensor<4x6x6xf32>
  %scores = linalg.generic {indexing_maps = [#qk, #kk, #ss], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%qh, %kh : tensor<6x4x2xf32>, tensor<6x4x2xf32>) outs(%fs : tensor<4x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<4x6x6xf32>
  %scores_s = shard.shard %scores to %rows : tensor<4x6x6xf32>
  %exp = linalg.exp ins(%scores_s : tensor<4x6x6xf32>) outs(%es : tensor<4x6x6xf32>) -> tensor<4x6x6xf32>
  %er = tensor.empty() : tensor<4x6xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<4x6xf32>) -> tensor<4x6xf32>
  %sum = linalg.reduce ins(%exp : tensor<4x6x6xf32>) outs(%fr : tensor<4x6xf32>) dimensions = [2]
    (%a: f32, %o: f32) {
      %t = arith.addf %a, %o : f32
      linalg.yield %t : f32
    }
  %soft = linalg.generic {indexing_maps = [#s, #r, #s], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exp, %sum : tensor<4x6x6xf32>, tensor<4x6xf32>) outs(%es : tensor<4x6x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<4x6x6xf32>
  %eh = tensor.empty() : tensor<6x4x2xf32>
  %fh = linalg.fill ins(%zero : f32) outs(%eh : tensor<6x4x2xf32>) -> tensor<6x4x2xf32>
  %ctx = linalg.generic {indexing_maps = [#sj, #jd, #hd], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%soft, %vh : tensor<4x6x6xf32>, tensor<6x4x2xf32>) outs(%fh : tensor<6x4x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  } -> tensor<6x4x2xf32>
  %joined = tensor.collapse_shape %ctx [[0], [1, 2]] : tensor<6x4x2xf32> into tensor<6x8xf32>
  %y = linalg.matmul ins(%joined, %wo_s : tensor<6x8xf32>, tensor<8x8xf32>) outs(%f : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y_s = shard.shard %y to %whole annotate_for_users : tensor<6x8xf32>
  return %y_s : tensor<6x8xf32>
}
