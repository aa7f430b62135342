// RUN: tp-opt %s --tp-legalize | FileCheck %s

// What a position can be is found in as many steps as ops compute it, though each reads the
// one before twice.

// CHECK: cf.assert %{{.*}}, "tensor.extract_slice reaches outside the tensor"
func.func @main(%x: tensor<6x12xf32>, %n: index) -> tensor<1x4xf32> {
  %zero = arith.constant 0 : index
  %v0 = arith.maxsi %n, %zero : index
  %v1 = arith.addi %v0, %v0 : index
  %v2 = arith.maxsi %v1, %v1 : index
  %v3 = arith.subi %v2, %v2 : index
  %v4 = arith.addi %v3, %v3 : index
  %v5 = arith.maxsi %v4, %v4 : index
  %v6 = arith.subi %v5, %v5 : index
  %v7 = arith.addi %v6, %v6 : index
  %v8 = arith.maxsi %v7, %v7 : index
  %v9 = arith.subi %v8, %v8 : index
  %v10 = arith.addi %v9, %v9 : index
  %v11 = arith.maxsi %v10, %v10 : index
  %v12 = arith.subi %v11, %v11 : index
  %v13 = arith.addi %v12, %v12 : index
  %v14 = arith.maxsi %v13, %v13 : index
  %v15 = arith.subi %v14, %v14 : index
  %v16 = arith.addi %v15, %v15 : index
  %v17 = arith.maxsi %v16, %v16 : index
  %v18 = arith.subi %v17, %v17 : index
  %v19 = arith.addi %v18, %v18 : index
  %v20 = arith.maxsi %v19, %v19 : index
  %v21 = arith.subi %v20, %v20 : index
  %v22 = arith.addi %v21, %v21 : index
  %v23 = arith.maxsi %v22, %v22 : index
  %v24 = arith.subi %v23, %v23 : index
  %v25 = arith.addi %v24, %v24 : index
  %v26 = arith.maxsi %v25, %v25 : index
  %v27 = arith.subi %v26, %v26 : index
  %v28 = arith.addi %v27, %v27 : index
  %v29 = arith.maxsi %v28, %v28 : index
  %v30 = arith.subi %v29, %v29 : index
  %v31 = arith.addi %v30, %v30 : index
  %v32 = arith.maxsi %v31, %v31 : index
  %v33 = arith.subi %v32, %v32 : index
  %v34 = arith.addi %v33, %v33 : index
  %v35 = arith.maxsi %v34, %v34 : index
  %v36 = arith.subi %v35, %v35 : index
  %v37 = arith.addi %v36, %v36 : index
  %v38 = arith.maxsi %v37, %v37 : index
  %v39 = arith.subi %v38, %v38 : index
  %v40 = arith.addi %v39, %v39 : index
  %v41 = arith.maxsi %v40, %v40 : index
  %v42 = arith.subi %v41, %v41 : index
  %v43 = arith.addi %v42, %v42 : index
  %v44 = arith.maxsi %v43, %v43 : index
  %v45 = arith.subi %v44, %v44 : index
  %v46 = arith.addi %v45, %v45 : index
  %v47 = arith.maxsi %v46, %v46 : index
  %v48 = arith.subi %v47, %v47 : index
  %v49 = arith.addi %v48, %v48 : index
  %v50 = arith.maxsi %v49, %v49 : index
  %v51 = arith.subi %v50, %v50 : index
  %v52 = arith.addi %v51, %v51 : index
  %v53 = arith.maxsi %v52, %v52 : index
  %v54 = arith.subi %v53, %v53 : index
  %v55 = arith.addi %v54, %v54 : index
  %v56 = arith.maxsi %v55, %v55 : index
  %v57 = arith.subi %v56, %v56 : index
  %v58 = arith.addi %v57, %v57 : index
  %v59 = arith.maxsi %v58, %v58 : index
  %v60 = arith.subi %v59, %v59 : index
  %s = tensor.extract_slice %x[0, %v60] [1, 4] [1, 1] : tensor<6x12xf32> to tensor<1x4xf32>
  return %s : tensor<1x4xf32>
}
