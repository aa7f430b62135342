// RUN: tp-opt %s --split-input-file --tp-skip-rows | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-skip-rows --tp-assign-storage | FileCheck %s --check-prefix=GEMM
// RUN: tp-opt %s --split-input-file --tp-skip-rows=target=cuda | FileCheck %s --check-prefix=CUDA

// CUDA-NOT: tp.needed

// Two products of experts, and what is between them: what makes the choice moves
// before the first.
// CHECK-LABEL: func.func @experts
// CHECK:         %[[CHOICE:.*]] = linalg.generic {{.*}} ins(%arg3 : tensor<6x4xf32>)
// CHECK:         %[[BY_EXPERT:.*]] = linalg.generic {{.*}} ins(%[[CHOICE]] : tensor<6x4xi1>) outs(%{{.*}} : tensor<4x6x1xi1>)
// CHECK:         %[[UP:.*]] = linalg.batch_matmul ins(%arg0, %arg1
// CHECK-NEXT:    %[[SOME:.*]] = tp.needed %[[UP]] where %[[BY_EXPERT]] : tensor<4x6x24xf32>, tensor<4x6x1xi1>
// CHECK-NEXT:    %[[TANH:.*]] = linalg.tanh ins(%[[SOME]]
// CHECK-NEXT:    %[[INNER:.*]] = tp.needed %[[TANH]] where %[[BY_EXPERT]]
// CHECK:         %[[DOWN:.*]] = linalg.batch_matmul ins(%[[INNER]], %arg2
// CHECK-NEXT:    tp.needed %[[DOWN]] where %[[BY_EXPERT]] : tensor<4x6x16xf32>, tensor<4x6x1xi1>
// GEMM-LABEL: func.func @experts
// GEMM:         tp.gemm {{.*}} rows
// GEMM:         tp.compute {{.*}} where
// GEMM:         tp.gemm {{.*}} rows
#id = affine_map<(e, t, d) -> (e, t, d)>
#by_token = affine_map<(e, t, d) -> (t, e)>
func.func @experts(%x: tensor<4x6x16xf32>, %up: tensor<4x16x24xf32>, %down: tensor<4x24x16xf32>, %scores: tensor<6x4xf32>) -> tensor<4x6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x6x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x6x24xf32>) -> tensor<4x6x24xf32>
  %2 = linalg.batch_matmul ins(%x, %up : tensor<4x6x16xf32>, tensor<4x16x24xf32>) outs(%1 : tensor<4x6x24xf32>) -> tensor<4x6x24xf32>
  %3 = linalg.tanh ins(%2 : tensor<4x6x24xf32>) outs(%0 : tensor<4x6x24xf32>) -> tensor<4x6x24xf32>
  %4 = tensor.empty() : tensor<4x6x16xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
  %6 = linalg.batch_matmul ins(%3, %down : tensor<4x6x24xf32>, tensor<4x24x16xf32>) outs(%5 : tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
  %7 = tensor.empty() : tensor<6x4xi1>
  %8 = linalg.generic {indexing_maps = [affine_map<(t, e) -> (t, e)>, affine_map<(t, e) -> (t, e)>], iterator_types = ["parallel", "parallel"]}
    ins(%scores : tensor<6x4xf32>) outs(%7 : tensor<6x4xi1>) {
  ^bb0(%in: f32, %out: i1):
    %c = arith.cmpf ogt, %in, %zero : f32
    linalg.yield %c : i1
  } -> tensor<6x4xi1>
  %9 = linalg.generic {indexing_maps = [#by_token, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%8, %6 : tensor<6x4xi1>, tensor<4x6x16xf32>) outs(%4 : tensor<4x6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x6x16xf32>
  return %9 : tensor<4x6x16xf32>
}

// -----

// Masked where the condition holds: it is turned round. A slice and a bias are
// between the product and the select.
// CHECK-LABEL: func.func @turned
// CHECK:         %[[SEEN:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<6xi1>) outs(%{{.*}} : tensor<6x1xi1>)
// CHECK:           arith.xori
// CHECK:         %[[Y:.*]] = linalg.matmul
// CHECK-NEXT:    tp.needed %[[Y]] where %[[SEEN]] : tensor<6x32xf32>, tensor<6x1xi1>
// GEMM-LABEL: func.func @turned
// GEMM:         tp.gemm {{.*}} rows
func.func @turned(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>, %hidden: tensor<6xi1>, %bias: tensor<16xf32>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<6x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x32xf32>) -> tensor<6x32xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<6x16xf32>, tensor<16x32xf32>) outs(%1 : tensor<6x32xf32>) -> tensor<6x32xf32>
  %3 = tensor.extract_slice %2[0, 1] [6, 16] [1, 2] : tensor<6x32xf32> to tensor<6x16xf32>
  %4 = tensor.empty() : tensor<6x16xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%3, %bias, %hidden : tensor<6x16xf32>, tensor<16xf32>, tensor<6xi1>) outs(%4 : tensor<6x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: i1, %out: f32):
    %s = arith.addf %a, %b : f32
    %r = arith.select %c, %one, %s : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %5 : tensor<6x16xf32>
}

// -----

// The result is read a second time, the condition is made of the product itself,
// or it is of single elements: all rows are made.
// CHECK-LABEL: func.func @all_rows
// CHECK-NOT:     tp.needed
// GEMM-LABEL: func.func @all_rows
// GEMM-NOT:     tp.gemm {{.*}} rows
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @all_rows(%x: tensor<6x16xf32>, %w: tensor<16x16xf32>, %rows: tensor<6xi1>, %cells: tensor<6x16xi1>) -> (tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<6x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %3 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%rows, %2 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %4 = linalg.matmul ins(%3, %w : tensor<6x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %5 = tensor.empty() : tensor<6xi1>
  %6 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 0)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%4 : tensor<6x16xf32>) outs(%5 : tensor<6xi1>) {
  ^bb0(%in: f32, %out: i1):
    %r = arith.cmpf ogt, %in, %zero : f32
    linalg.yield %r : i1
  } -> tensor<6xi1>
  %7 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%6, %4 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %8 = linalg.matmul ins(%7, %w : tensor<6x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %9 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%cells, %8 : tensor<6x16xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %2, %3, %7, %9 : tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf32>
}

// -----

// What one reader leaves out another one takes.
// CHECK-LABEL: func.func @two_conditions
// CHECK-NOT:     tp.needed
// GEMM-LABEL: func.func @two_conditions
// GEMM-NOT:     tp.gemm {{.*}} rows
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @two_conditions(%x: tensor<6x16xf32>, %w: tensor<16x16xf32>, %rows: tensor<6xi1>, %others: tensor<6xi1>) -> (tensor<6x16xf32>, tensor<6x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<6x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %3 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%rows, %2 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %4 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%others, %2 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %3, %4 : tensor<6x16xf32>, tensor<6x16xf32>
}

// -----

// What is checked is checked of all rows: the element by element op runs
// everywhere, though some of its rows are needed.
// CHECK-LABEL: func.func @checked
// GEMM-LABEL: func.func @checked
// GEMM-NOT:     where
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @checked(%x: tensor<6x16xf32>, %w: tensor<16x16xf32>, %rows: tensor<6xi1>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %ok = arith.cmpf ogt, %in, %zero : f32
    cf.assert %ok, "expected a positive number"
    %r = math.exp %in : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  %3 = linalg.matmul ins(%2, %w : tensor<6x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %4 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%rows, %3 : tensor<6xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %4 : tensor<6x16xf32>
}

// -----

// Each row of the product needs the whole right side, which is a product too.
// CHECK-LABEL: func.func @right_side
// CHECK:         %[[RIGHT:.*]] = linalg.matmul
// CHECK-NOT:     tp.needed %[[RIGHT]]
// CHECK:         %[[ALL:.*]] = linalg.matmul ins(%arg0, %[[RIGHT]]
// CHECK-NEXT:    tp.needed %[[ALL]]
// GEMM-LABEL: func.func @right_side
// GEMM:         tp.gemm %arg1, %arg1 into %{{[0-9]*}} :
// GEMM:         tp.gemm {{.*}} rows
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @right_side(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>, %rows: tensor<16xi1>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = linalg.matmul ins(%w, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = linalg.matmul ins(%x, %2 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = linalg.generic {indexing_maps = [#row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%rows, %3 : tensor<16xi1>, tensor<16x16xf32>) outs(%0 : tensor<16x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<16x16xf32>
  return %4 : tensor<16x16xf32>
}

// -----

// Columns that are not needed are no rows of C: all are made.
// CHECK-LABEL: func.func @columns
// CHECK:         tp.needed
// GEMM-LABEL: func.func @columns
// GEMM-NOT:     tp.gemm {{.*}} rows
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @columns(%x: tensor<6x16xf32>, %w: tensor<16x16xf32>, %columns: tensor<16xi1>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<6x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %3 = linalg.generic {indexing_maps = [#column, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%columns, %2 : tensor<16xi1>, tensor<6x16xf32>) outs(%0 : tensor<6x16xf32>) {
  ^bb0(%c: i1, %in: f32, %out: f32):
    %r = arith.select %c, %in, %zero : f32
    linalg.yield %r : f32
  } -> tensor<6x16xf32>
  return %3 : tensor<6x16xf32>
}
