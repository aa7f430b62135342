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
    %v7 = arith.constant dense<[[-3.0e+38, -3.0e+38, -3.0e+38, -3.0e+38], [0.0, -3.0e+38, -3.0e+38, -3.0e+38], [0.0, 0.0, -3.0e+38, -3.0e+38], [0.0, 0.0, 0.0, -3.0e+38]]> : tensor<4x4xf32>
    %v8 = tensor.empty() : tensor<2x2x4x4xf32>
    %v9 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v4, %v7 : tensor<2x2x4x4xf32>, tensor<4x4xf32>) outs(%v8 : tensor<2x2x4x4xf32>) {
    ^bb0(%s8_0: f32, %s8_1: f32, %s8_2: f32):
      %v10 = arith.addf %s8_0, %s8_1 : f32
      linalg.yield %v10 : f32
    } -> tensor<2x2x4x4xf32>
    %v11 = tensor.empty() : tensor<2x2x4x4xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v9 : tensor<2x2x4x4xf32>) outs(%v11 : tensor<2x2x4x4xf32>) {
    ^bb0(%s11_0: f32, %s11_1: f32):
      %v13 = arith.constant 8.0 : f32
      %v14 = arith.mulf %s11_0, %v13 : f32
      linalg.yield %v14 : f32
    } -> tensor<2x2x4x4xf32>
    %v15 = arith.constant 0xFF800000 : f32
    %v16 = tensor.empty() : tensor<2x2x4xf32>
    %v17 = linalg.fill ins(%v15 : f32) outs(%v16 : tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v12 : tensor<2x2x4x4xf32>) outs(%v17 : tensor<2x2x4xf32>) {
    ^bb0(%s17_0: f32, %s17_1: f32):
      %v19 = arith.maximumf %s17_0, %s17_1 : f32
      linalg.yield %v19 : f32
    } -> tensor<2x2x4xf32>
    %v20 = tensor.empty() : tensor<2x2x4x4xf32>
    %v21 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v12, %v18 : tensor<2x2x4x4xf32>, tensor<2x2x4xf32>) outs(%v20 : tensor<2x2x4x4xf32>) {
    ^bb0(%s20_0: f32, %s20_1: f32, %s20_2: f32):
      %v22 = arith.subf %s20_0, %s20_1 : f32
      %v23 = math.exp %v22 : f32
      linalg.yield %v23 : f32
    } -> tensor<2x2x4x4xf32>
    %v24 = arith.constant 0.0 : f32
    %v25 = tensor.empty() : tensor<2x2x4xf32>
    %v26 = linalg.fill ins(%v24 : f32) outs(%v25 : tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
    %v27 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v21 : tensor<2x2x4x4xf32>) outs(%v26 : tensor<2x2x4xf32>) {
    ^bb0(%s26_0: f32, %s26_1: f32):
      %v28 = arith.addf %s26_0, %s26_1 : f32
      linalg.yield %v28 : f32
    } -> tensor<2x2x4xf32>
    %v29 = tensor.empty() : tensor<2x2x4x4xf32>
    %v30 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v21, %v27 : tensor<2x2x4x4xf32>, tensor<2x2x4xf32>) outs(%v29 : tensor<2x2x4x4xf32>) {
    ^bb0(%s29_0: f32, %s29_1: f32, %s29_2: f32):
      %v31 = arith.divf %s29_0, %s29_1 : f32
      linalg.yield %v31 : f32
    } -> tensor<2x2x4x4xf32>
    %v32 = tensor.empty() : tensor<2x2x4x4xf32>
    %v33 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v18, %v30 : tensor<2x2x4xf32>, tensor<2x2x4x4xf32>) outs(%v32 : tensor<2x2x4x4xf32>) {
    ^bb0(%s32_0: f32, %s32_1: f32, %s32_2: f32):
      %v34 = arith.constant 0xFF800000 : f32
      %v35 = arith.cmpf oeq, %s32_0, %v34 : f32
      %v36 = arith.constant 0.0 : f32
      %v37 = arith.select %v35, %v36, %s32_1 : f32
      linalg.yield %v37 : f32
    } -> tensor<2x2x4x4xf32>
    %v38 = arith.constant 0.0 : f32
    %v39 = tensor.empty() : tensor<2x2x4x4xf32>
    %v40 = linalg.fill ins(%v38 : f32) outs(%v39 : tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %v41 = linalg.generic {indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v33, %arg2 : tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) outs(%v40 : tensor<2x2x4x4xf32>) {
    ^bb0(%s40_0: f32, %s40_1: f32, %s40_2: f32):
      %v42 = arith.mulf %s40_0, %s40_1 : f32
      %v43 = arith.addf %s40_2, %v42 : f32
      linalg.yield %v43 : f32
    } -> tensor<2x2x4x4xf32>
    return %v41 : tensor<2x2x4x4xf32>
}
