func.func @main(%arg0: tensor<2x4x8x4xbf16> {tp.name = "a0"}, %arg1: tensor<2x4x8x4xbf16> {tp.name = "a1"}, %arg2: tensor<2x4x8x4xbf16> {tp.name = "a2"}, %arg3: tensor<2x8xi1> {tp.name = "a3"}) -> (tensor<2x4x8x4xbf16> {tp.name = "r0"}) {
    %v1 = arith.constant 0.0 : f32
    %v2 = tensor.empty() : tensor<2x4x8x8xf32>
    %v3 = linalg.fill ins(%v1 : f32) outs(%v2 : tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x8x4xbf16>, tensor<2x4x8x4xbf16>) outs(%v3 : tensor<2x4x8x8xf32>) {
    ^bb0(%s3_0: bf16, %s3_1: bf16, %s3_2: f32):
      %v5 = arith.extf %s3_0 : bf16 to f32
      %v6 = arith.extf %s3_1 : bf16 to f32
      %v7 = arith.mulf %v5, %v6 : f32
      %v8 = arith.addf %s3_2, %v7 : f32
      linalg.yield %v8 : f32
    } -> tensor<2x4x8x8xf32>
    %v9 = tensor.empty() : tensor<2x4x8x8xbf16>
    %v10 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v4 : tensor<2x4x8x8xf32>) outs(%v9 : tensor<2x4x8x8xbf16>) {
    ^bb0(%s9_0: f32, %s9_1: bf16):
      %v11 = arith.truncf %s9_0 : f32 to bf16
      linalg.yield %v11 : bf16
    } -> tensor<2x4x8x8xbf16>
    %v12 = arith.constant 0.5 : bf16
    %v13 = tensor.empty() : tensor<2x4x8x8xbf16>
    %v14 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v10 : tensor<2x4x8x8xbf16>) outs(%v13 : tensor<2x4x8x8xbf16>) {
    ^bb0(%s13_0: bf16, %s13_1: bf16):
      %v15 = arith.mulf %s13_0, %v12 : bf16
      linalg.yield %v15 : bf16
    } -> tensor<2x4x8x8xbf16>
    %v16 = tensor.empty() : tensor<2x8xf32>
    %v17 = linalg.generic {indexing_maps = [affine_map<(b, j) -> (b, j)>, affine_map<(b, j) -> (b, j)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<2x8xi1>) outs(%v16 : tensor<2x8xf32>) {
    ^bb0(%s16_0: i1, %s16_1: f32):
      %v18 = arith.constant 0.0 : f32
      %v19 = arith.constant -3.40282347E+38 : f32
      %v20 = arith.select %s16_0, %v18, %v19 : f32
      linalg.yield %v20 : f32
    } -> tensor<2x8xf32>
    %v21 = tensor.empty() : tensor<2x8xbf16>
    %v22 = linalg.generic {indexing_maps = [affine_map<(b, j) -> (b, j)>, affine_map<(b, j) -> (b, j)>], iterator_types = ["parallel", "parallel"]} ins(%v17 : tensor<2x8xf32>) outs(%v21 : tensor<2x8xbf16>) {
    ^bb0(%s21_0: f32, %s21_1: bf16):
      %v23 = arith.truncf %s21_0 : f32 to bf16
      linalg.yield %v23 : bf16
    } -> tensor<2x8xbf16>
    %v24 = tensor.empty() : tensor<2x4x8x8xbf16>
    %v25 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v14, %v22 : tensor<2x4x8x8xbf16>, tensor<2x8xbf16>) outs(%v24 : tensor<2x4x8x8xbf16>) {
    ^bb0(%s24_0: bf16, %s24_1: bf16, %s24_2: bf16):
      %v26 = arith.addf %s24_0, %s24_1 : bf16
      linalg.yield %v26 : bf16
    } -> tensor<2x4x8x8xbf16>
    %v27 = tensor.empty() : tensor<2x4x8x8xf32>
    %v28 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v25 : tensor<2x4x8x8xbf16>) outs(%v27 : tensor<2x4x8x8xf32>) {
    ^bb0(%s27_0: bf16, %s27_1: f32):
      %v29 = arith.extf %s27_0 : bf16 to f32
      linalg.yield %v29 : f32
    } -> tensor<2x4x8x8xf32>
    %v30 = arith.constant 0xFF800000 : f32
    %v31 = tensor.empty() : tensor<2x4x8xf32>
    %v32 = linalg.fill ins(%v30 : f32) outs(%v31 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v33 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v28 : tensor<2x4x8x8xf32>) outs(%v32 : tensor<2x4x8xf32>) {
    ^bb0(%s32_0: f32, %s32_1: f32):
      %v34 = arith.maximumf %s32_0, %s32_1 : f32
      linalg.yield %v34 : f32
    } -> tensor<2x4x8xf32>
    %v35 = tensor.empty() : tensor<2x4x8x8xf32>
    %v36 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v28, %v33 : tensor<2x4x8x8xf32>, tensor<2x4x8xf32>) outs(%v35 : tensor<2x4x8x8xf32>) {
    ^bb0(%s35_0: f32, %s35_1: f32, %s35_2: f32):
      %v37 = arith.subf %s35_0, %s35_1 : f32
      %v38 = math.exp %v37 : f32
      linalg.yield %v38 : f32
    } -> tensor<2x4x8x8xf32>
    %v39 = arith.constant 0.0 : f32
    %v40 = tensor.empty() : tensor<2x4x8xf32>
    %v41 = linalg.fill ins(%v39 : f32) outs(%v40 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v42 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v36 : tensor<2x4x8x8xf32>) outs(%v41 : tensor<2x4x8xf32>) {
    ^bb0(%s41_0: f32, %s41_1: f32):
      %v43 = arith.addf %s41_0, %s41_1 : f32
      linalg.yield %v43 : f32
    } -> tensor<2x4x8xf32>
    %v44 = tensor.empty() : tensor<2x4x8x8xf32>
    %v45 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v36, %v42 : tensor<2x4x8x8xf32>, tensor<2x4x8xf32>) outs(%v44 : tensor<2x4x8x8xf32>) {
    ^bb0(%s44_0: f32, %s44_1: f32, %s44_2: f32):
      %v46 = arith.divf %s44_0, %s44_1 : f32
      linalg.yield %v46 : f32
    } -> tensor<2x4x8x8xf32>
    %v47 = tensor.empty() : tensor<2x4x8x8xi1>
    %v48 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v28 : tensor<2x4x8x8xf32>) outs(%v47 : tensor<2x4x8x8xi1>) {
    ^bb0(%s47_0: f32, %s47_1: i1):
      %v49 = arith.constant 0xFF800000 : f32
      %v50 = arith.cmpf oeq, %s47_0, %v49 : f32
      linalg.yield %v50 : i1
    } -> tensor<2x4x8x8xi1>
    %v51 = arith.constant true
    %v52 = tensor.empty() : tensor<2x4x8xi1>
    %v53 = linalg.fill ins(%v51 : i1) outs(%v52 : tensor<2x4x8xi1>) -> tensor<2x4x8xi1>
    %v54 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v48 : tensor<2x4x8x8xi1>) outs(%v53 : tensor<2x4x8xi1>) {
    ^bb0(%s53_0: i1, %s53_1: i1):
      %v55 = arith.andi %s53_0, %s53_1 : i1
      linalg.yield %v55 : i1
    } -> tensor<2x4x8xi1>
    %v56 = arith.constant 0.0 : f32
    %v57 = tensor.empty() : tensor<2x4x8x8xf32>
    %v58 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v54, %v45 : tensor<2x4x8xi1>, tensor<2x4x8x8xf32>) outs(%v57 : tensor<2x4x8x8xf32>) {
    ^bb0(%s57_0: i1, %s57_1: f32, %s57_2: f32):
      %v59 = arith.select %s57_0, %v56, %s57_1 : f32
      linalg.yield %v59 : f32
    } -> tensor<2x4x8x8xf32>
    %v60 = tensor.empty() : tensor<2x4x8x8xbf16>
    %v61 = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v58 : tensor<2x4x8x8xf32>) outs(%v60 : tensor<2x4x8x8xbf16>) {
    ^bb0(%s60_0: f32, %s60_1: bf16):
      %v62 = arith.truncf %s60_0 : f32 to bf16
      linalg.yield %v62 : bf16
    } -> tensor<2x4x8x8xbf16>
    %v63 = arith.constant 0.0 : f32
    %v64 = tensor.empty() : tensor<2x4x8x4xf32>
    %v65 = linalg.fill ins(%v63 : f32) outs(%v64 : tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
    %v66 = linalg.generic {indexing_maps = [affine_map<(b, h, i, e, j) -> (b, h, i, j)>, affine_map<(b, h, i, e, j) -> (b, h, j, e)>, affine_map<(b, h, i, e, j) -> (b, h, i, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v61, %arg2 : tensor<2x4x8x8xbf16>, tensor<2x4x8x4xbf16>) outs(%v65 : tensor<2x4x8x4xf32>) {
    ^bb0(%s65_0: bf16, %s65_1: bf16, %s65_2: f32):
      %v67 = arith.extf %s65_0 : bf16 to f32
      %v68 = arith.extf %s65_1 : bf16 to f32
      %v69 = arith.mulf %v67, %v68 : f32
      %v70 = arith.addf %s65_2, %v69 : f32
      linalg.yield %v70 : f32
    } -> tensor<2x4x8x4xf32>
    %v71 = tensor.empty() : tensor<2x4x8x4xbf16>
    %v72 = linalg.generic {indexing_maps = [affine_map<(b, h, i, e) -> (b, h, i, e)>, affine_map<(b, h, i, e) -> (b, h, i, e)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v66 : tensor<2x4x8x4xf32>) outs(%v71 : tensor<2x4x8x4xbf16>) {
    ^bb0(%s71_0: f32, %s71_1: bf16):
      %v73 = arith.truncf %s71_0 : f32 to bf16
      linalg.yield %v73 : bf16
    } -> tensor<2x4x8x4xbf16>
    return %v72 : tensor<2x4x8x4xbf16>
}
