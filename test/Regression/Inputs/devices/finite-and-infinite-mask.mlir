func.func @main(%arg0: tensor<2x2x4x4xf32> {tp.name = "a0"}, %arg1: tensor<2x2x4x4xf32> {tp.name = "a1"}, %arg2: tensor<2x2x4x4xf32> {tp.name = "a2"}) -> (tensor<2x2x4x4xf32> {tp.name = "r0"}) {
    %v1 = arith.constant 0.0 : f32
    %v2 = tensor.empty() : tensor<2x2x4x4xf32>
    %v3 = linalg.fill ins(%v1 : f32) outs(%v2 : tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) outs(%v3 : tensor<2x2x4x4xf32>) {
    ^bb0(%s3_0: f32, %s3_1: f32, %s3_2: f32):
      %v5 = arith.mulf %s3_0, %s3_1 : f32
      %v6 = arith.addf %s3_2, %v5 : f32
      linalg.yield %v6 : f32
    } -> tensor<2x2x4x4xf32>
    %v7 = arith.constant dense<[[-1.0e+38, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000]]> : tensor<4x4xf32>
    %v8 = tensor.empty() : tensor<2x2x4x4xf32>
    %v9 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v4, %v7 : tensor<2x2x4x4xf32>, tensor<4x4xf32>) outs(%v8 : tensor<2x2x4x4xf32>) {
    ^bb0(%s8_0: f32, %s8_1: f32, %s8_2: f32):
      %v10 = arith.addf %s8_0, %s8_1 : f32
      linalg.yield %v10 : f32
    } -> tensor<2x2x4x4xf32>
    %v11 = arith.constant 0xFF800000 : f32
    %v12 = tensor.empty() : tensor<2x2x4xf32>
    %v13 = linalg.fill ins(%v11 : f32) outs(%v12 : tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v9 : tensor<2x2x4x4xf32>) outs(%v13 : tensor<2x2x4xf32>) {
    ^bb0(%s13_0: f32, %s13_1: f32):
      %v15 = arith.maximumf %s13_0, %s13_1 : f32
      linalg.yield %v15 : f32
    } -> tensor<2x2x4xf32>
    %v16 = tensor.empty() : tensor<2x2x4x4xf32>
    %v17 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v9, %v14 : tensor<2x2x4x4xf32>, tensor<2x2x4xf32>) outs(%v16 : tensor<2x2x4x4xf32>) {
    ^bb0(%s16_0: f32, %s16_1: f32, %s16_2: f32):
      %v18 = arith.subf %s16_0, %s16_1 : f32
      %v19 = math.exp %v18 : f32
      linalg.yield %v19 : f32
    } -> tensor<2x2x4x4xf32>
    %v20 = arith.constant 0.0 : f32
    %v21 = tensor.empty() : tensor<2x2x4xf32>
    %v22 = linalg.fill ins(%v20 : f32) outs(%v21 : tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %v23 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v17 : tensor<2x2x4x4xf32>) outs(%v22 : tensor<2x2x4xf32>) {
    ^bb0(%s22_0: f32, %s22_1: f32):
      %v24 = arith.addf %s22_0, %s22_1 : f32
      linalg.yield %v24 : f32
    } -> tensor<2x2x4xf32>
    %v25 = tensor.empty() : tensor<2x2x4x4xf32>
    %v26 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v17, %v23 : tensor<2x2x4x4xf32>, tensor<2x2x4xf32>) outs(%v25 : tensor<2x2x4x4xf32>) {
    ^bb0(%s25_0: f32, %s25_1: f32, %s25_2: f32):
      %v27 = arith.divf %s25_0, %s25_1 : f32
      linalg.yield %v27 : f32
    } -> tensor<2x2x4x4xf32>
    %v28 = arith.constant 0.0 : f32
    %v29 = tensor.empty() : tensor<2x2x4x4xf32>
    %v30 = linalg.fill ins(%v28 : f32) outs(%v29 : tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %v31 = linalg.generic {indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v26, %arg2 : tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) outs(%v30 : tensor<2x2x4x4xf32>) {
    ^bb0(%s30_0: f32, %s30_1: f32, %s30_2: f32):
      %v32 = arith.mulf %s30_0, %s30_1 : f32
      %v33 = arith.addf %s30_2, %v32 : f32
      linalg.yield %v33 : f32
    } -> tensor<2x2x4x4xf32>
    return %v31 : tensor<2x2x4x4xf32>
}
