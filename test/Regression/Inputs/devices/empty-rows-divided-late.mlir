func.func @main(%arg0: tensor<2x4x8x4xf32> {tp.name = "a0"}, %arg1: tensor<2x4x8x4xf32> {tp.name = "a1"}, %arg2: tensor<2x4x8x4xf32> {tp.name = "a2"}) -> (tensor<2x4x8x4xf32> {tp.name = "r0"}) {
    %v1 = arith.constant 0.0 : f32
    %v2 = tensor.empty() : tensor<2x4x8x8xf32>
    %v3 = linalg.fill ins(%v1 : f32) outs(%v2 : tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>) outs(%v3 : tensor<2x4x8x8xf32>) {
    ^bb0(%s3_0: f32, %s3_1: f32, %s3_2: f32):
      %v5 = arith.mulf %s3_0, %s3_1 : f32
      %v6 = arith.addf %s3_2, %v5 : f32
      linalg.yield %v6 : f32
    } -> tensor<2x4x8x8xf32>
    %v7 = arith.constant 0.5 : f32
    %v8 = tensor.empty() : tensor<2x4x8x8xf32>
    %v9 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v4 : tensor<2x4x8x8xf32>) outs(%v8 : tensor<2x4x8x8xf32>) {
    ^bb0(%s8_0: f32, %s8_1: f32):
      %v10 = arith.mulf %s8_0, %v7 : f32
      linalg.yield %v10 : f32
    } -> tensor<2x4x8x8xf32>
    %v11 = arith.constant dense<[[false, false, false, false, false, false, false, false], [true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false]]> : tensor<8x8xi1>
    %v12 = tensor.empty() : tensor<2x4x8x8xf32>
    %v13 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v11, %v9 : tensor<8x8xi1>, tensor<2x4x8x8xf32>) outs(%v12 : tensor<2x4x8x8xf32>) {
    ^bb0(%s12_0: i1, %s12_1: f32, %s12_2: f32):
      %v14 = arith.constant 0xFF800000 : f32
      %v15 = arith.select %s12_0, %s12_1, %v14 : f32
      linalg.yield %v15 : f32
    } -> tensor<2x4x8x8xf32>
    %v16 = arith.constant 0xFF800000 : f32
    %v17 = tensor.empty() : tensor<2x4x8xf32>
    %v18 = linalg.fill ins(%v16 : f32) outs(%v17 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v19 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v13 : tensor<2x4x8x8xf32>) outs(%v18 : tensor<2x4x8xf32>) {
    ^bb0(%s18_0: f32, %s18_1: f32):
      %v20 = arith.maximumf %s18_0, %s18_1 : f32
      linalg.yield %v20 : f32
    } -> tensor<2x4x8xf32>
    %v21 = tensor.empty() : tensor<2x4x8x8xf32>
    %v22 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v13, %v19 : tensor<2x4x8x8xf32>, tensor<2x4x8xf32>) outs(%v21 : tensor<2x4x8x8xf32>) {
    ^bb0(%s21_0: f32, %s21_1: f32, %s21_2: f32):
      %v23 = arith.subf %s21_0, %s21_1 : f32
      %v24 = math.exp %v23 : f32
      linalg.yield %v24 : f32
    } -> tensor<2x4x8x8xf32>
    %v25 = arith.constant 0.0 : f32
    %v26 = tensor.empty() : tensor<2x4x8xf32>
    %v27 = linalg.fill ins(%v25 : f32) outs(%v26 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v28 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v22 : tensor<2x4x8x8xf32>) outs(%v27 : tensor<2x4x8xf32>) {
    ^bb0(%s27_0: f32, %s27_1: f32):
      %v29 = arith.addf %s27_0, %s27_1 : f32
      linalg.yield %v29 : f32
    } -> tensor<2x4x8xf32>
    %v30 = tensor.empty() : tensor<2x4x8x8xi1>
    %v31 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v13 : tensor<2x4x8x8xf32>) outs(%v30 : tensor<2x4x8x8xi1>) {
    ^bb0(%s30_0: f32, %s30_1: i1):
      %v32 = arith.constant 0xFF800000 : f32
      %v33 = arith.cmpf oeq, %s30_0, %v32 : f32
      linalg.yield %v33 : i1
    } -> tensor<2x4x8x8xi1>
    %v34 = arith.constant true
    %v35 = tensor.empty() : tensor<2x4x8xi1>
    %v36 = linalg.fill ins(%v34 : i1) outs(%v35 : tensor<2x4x8xi1>) -> tensor<2x4x8xi1>
    %v37 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v31 : tensor<2x4x8x8xi1>) outs(%v36 : tensor<2x4x8xi1>) {
    ^bb0(%s36_0: i1, %s36_1: i1):
      %v38 = arith.andi %s36_0, %s36_1 : i1
      linalg.yield %v38 : i1
    } -> tensor<2x4x8xi1>
    %v39 = arith.constant 0.0 : f32
    %v40 = tensor.empty() : tensor<2x4x8x8xf32>
    %v41 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v37, %v22 : tensor<2x4x8xi1>, tensor<2x4x8x8xf32>) outs(%v40 : tensor<2x4x8x8xf32>) {
    ^bb0(%s40_0: i1, %s40_1: f32, %s40_2: f32):
      %v42 = arith.select %s40_0, %v39, %s40_1 : f32
      linalg.yield %v42 : f32
    } -> tensor<2x4x8x8xf32>
    %v43 = arith.constant 0.0 : f32
    %v44 = tensor.empty() : tensor<2x4x8x4xf32>
    %v45 = linalg.fill ins(%v43 : f32) outs(%v44 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
    %v46 = linalg.generic {indexing_maps = [affine_map<(b, h, i, e, j) -> (b, h, i, j)>, affine_map<(b, h, i, e, j) -> (b, h, j, e)>, affine_map<(b, h, i, e, j) -> (b, h, i, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v41, %arg2 : tensor<2x4x8x8xf32>, tensor<2x4x8x4xf32>) outs(%v45 : tensor<2x4x8x4xf32>) {
    ^bb0(%s45_0: f32, %s45_1: f32, %s45_2: f32):
      %v47 = arith.mulf %s45_0, %s45_1 : f32
      %v48 = arith.addf %s45_2, %v47 : f32
      linalg.yield %v48 : f32
    } -> tensor<2x4x8x4xf32>
    %v49 = tensor.empty() : tensor<2x4x8x4xf32>
    %v50 = linalg.generic {indexing_maps = [affine_map<(b, h, i, e) -> (b, h, i, e)>, affine_map<(b, h, i, e) -> (b, h, i)>, affine_map<(b, h, i, e) -> (b, h, i, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v46, %v28 : tensor<2x4x8x4xf32>, tensor<2x4x8xf32>) outs(%v49 : tensor<2x4x8x4xf32>) {
    ^bb0(%s49_0: f32, %s49_1: f32, %s49_2: f32):
      %v51 = arith.divf %s49_0, %s49_1 : f32
      linalg.yield %v51 : f32
    } -> tensor<2x4x8x4xf32>
    return %v50 : tensor<2x4x8x4xf32>
}
