// RUN: tp-opt %s --tp-normalize --tp-verify-normal-form --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-normalize --split-input-file -o %t.once
// RUN: tp-opt %t.once --tp-normalize --split-input-file -o %t.twice
// RUN: diff %t.once %t.twice

// A Linear and the head split behind it: rows stay batch and sequence, the
// weight is seen as heads.

// CHECK-LABEL: func.func @linear(
// CHECK-SAME: %[[X:.*]]: tensor<3x5x7xf32>, %[[W:.*]]: tensor<22x7xf32>)
// CHECK: %[[WH:.*]] = tensor.expand_shape %[[W]] {{\[\[}}0, 1], [2]] {{.*}} into tensor<2x11x7xf32>
// CHECK: %[[WT:.*]] = linalg.generic {{.*}} ins(%[[WH]] : tensor<2x11x7xf32>) outs({{.*}} : tensor<7x2x11xf32>)
// CHECK: %[[INIT:.*]] = linalg.fill {{.*}} -> tensor<3x5x2x11xf32>
// CHECK: %[[MM:.*]] = linalg.generic {indexing_maps = [#[[A:.*]], #[[B:.*]], #[[C:.*]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%[[X]], %[[WT]] : tensor<3x5x7xf32>, tensor<7x2x11xf32>) outs(%[[INIT]] : tensor<3x5x2x11xf32>)
// CHECK-NOT: shape
// CHECK: return {{.*}} : tensor<3x2x5x11xf32>
func.func @linear(%x: tensor<3x5x7xf32>, %w: tensor<22x7xf32>) -> tensor<3x2x5x11xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<7x22xf32>
  %wt = linalg.transpose ins(%w : tensor<22x7xf32>) outs(%e0 : tensor<7x22xf32>) permutation = [1, 0]
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
  %e1 = tensor.empty() : tensor<15x22xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<15x22xf32>) -> tensor<15x22xf32>
  %mm = linalg.matmul ins(%rows, %wt : tensor<15x7xf32>, tensor<7x22xf32>) outs(%init : tensor<15x22xf32>) -> tensor<15x22xf32>
  %heads = tensor.expand_shape %mm [[0, 1], [2, 3]] output_shape [3, 5, 2, 11] : tensor<15x22xf32> into tensor<3x5x2x11xf32>
  %e2 = tensor.empty() : tensor<3x2x5x11xf32>
  %t = linalg.transpose ins(%heads : tensor<3x5x2x11xf32>) outs(%e2 : tensor<3x2x5x11xf32>) permutation = [0, 2, 1, 3]
  return %t : tensor<3x2x5x11xf32>
}

// -----

// Grouped queries: the query heads meet key/value heads times repetitions, so
// they are two dimensions everywhere, through slice and concatenation too.

#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#from = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#id5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[Q:.*]]: tensor<3x6x5x4xf32>
// CHECK: %[[Q5:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<3x2x3x5x4xf32>
// CHECK: tensor.extract_slice %[[Q5]][0, 0, 0, 0, 0] [3, 2, 3, 5, 2] [1, 1, 1, 1, 1]
// CHECK: tensor.extract_slice %[[Q5]][0, 0, 0, 0, 2] [3, 2, 3, 5, 2] [1, 1, 1, 1, 1]
// CHECK: %[[ROPE:.*]] = tensor.concat dim(4) {{.*}} -> tensor<3x2x3x5x4xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%[[ROPE]], {{.*}} : tensor<3x2x3x5x4xf32>, tensor<3x2x3x5x4xf32>)
// CHECK: %[[OUT:.*]] = tensor.collapse_shape {{.*}} : tensor<3x2x3x5x5xf32> into tensor<18x5x5xf32>
// CHECK-NEXT: return %[[OUT]]
func.func @grouped(%q: tensor<3x6x5x4xf32>, %k: tensor<3x2x5x4xf32>) -> tensor<18x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %lo = tensor.extract_slice %q[0, 0, 0, 0] [3, 6, 5, 2] [1, 1, 1, 1] : tensor<3x6x5x4xf32> to tensor<3x6x5x2xf32>
  %hi = tensor.extract_slice %q[0, 0, 0, 2] [3, 6, 5, 2] [1, 1, 1, 1] : tensor<3x6x5x4xf32> to tensor<3x6x5x2xf32>
  %rope = tensor.concat dim(3) %hi, %lo : (tensor<3x6x5x2xf32>, tensor<3x6x5x2xf32>) -> tensor<3x6x5x4xf32>
  %e0 = tensor.empty() : tensor<3x2x3x5x4xf32>
  %repeated = linalg.generic {indexing_maps = [#from, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<3x2x5x4xf32>) outs(%e0 : tensor<3x2x3x5x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x2x3x5x4xf32>
  %qs = tensor.collapse_shape %rope [[0, 1], [2], [3]] : tensor<3x6x5x4xf32> into tensor<18x5x4xf32>
  %ks = tensor.collapse_shape %repeated [[0, 1, 2], [3], [4]] : tensor<3x2x3x5x4xf32> into tensor<18x5x4xf32>
  %e1 = tensor.empty() : tensor<18x5x5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<18x5x5xf32>) -> tensor<18x5x5xf32>
  %scores = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%qs, %ks : tensor<18x5x4xf32>, tensor<18x5x4xf32>) outs(%init : tensor<18x5x5xf32>) -> tensor<18x5x5xf32>
  return %scores : tensor<18x5x5xf32>
}

// -----

// Dimensions of size 1 go, with the constant-0 maps that reach them; the dead
// argmax goes too, and the splat becomes a scalar of the body.

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func @softmax_max(
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<3x5xf32>) outs({{.*}} : tensor<3xf32>) {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: linalg.yield
// CHECK: %[[SCALE:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[MAX]] : tensor<3x5xf32>, tensor<3xf32>)
// CHECK: arith.mulf {{.*}}, %[[SCALE]]
// CHECK-NOT: shape
// CHECK: return
func.func @softmax_max(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %zero = arith.constant 0 : i64
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant dense<2.0> : tensor<3x5xf32>
  %e0 = tensor.empty() : tensor<3xf32>
  %e1 = tensor.empty() : tensor<3xi64>
  %i0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<3xf32>) -> tensor<3xf32>
  %i1 = linalg.fill ins(%zero : i64) outs(%e1 : tensor<3xi64>) -> tensor<3xi64>
  %max:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x5xf32>) outs(%i0, %i1 : tensor<3xf32>, tensor<3xi64>) {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %here = linalg.index 1 : index
    %here64 = arith.index_cast %here : index to i64
    %m = arith.maximumf %in, %out : f32
    %greater = arith.cmpf ogt, %in, %out : f32
    %arg = arith.select %greater, %here64, %at : i64
    linalg.yield %m, %arg : f32, i64
  } -> (tensor<3xf32>, tensor<3xi64>)
  %column = tensor.expand_shape %max#0 [[0, 1]] output_shape [3, 1] : tensor<3xf32> into tensor<3x1xf32>
  %e2 = tensor.empty() : tensor<3x5xf32>
  %result = linalg.generic {indexing_maps = [#all, #one, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %column, %scale : tensor<3x5xf32>, tensor<3x1xf32>, tensor<3x5xf32>) outs(%e2 : tensor<3x5xf32>) {
  ^bb0(%in: f32, %m: f32, %s: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %r = arith.mulf %d, %s : f32
    linalg.yield %r : f32
  } -> tensor<3x5xf32>
  return %result : tensor<3x5xf32>
}

// -----

// A captured table and an index of the merged loop: the loop's index is that
// of its factors, the table is read at them directly.

#id2 = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @picked(
// CHECK-SAME: %[[LOGITS:.*]]: tensor<3x5x7xf32>, %[[LABELS:.*]]: tensor<3x5xi64>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[LABELS]] : tensor<3x5xi64>) outs({{.*}} : tensor<3x5xf32>)
// CHECK: %[[AT:.*]] = arith.index_cast
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: tensor.extract %[[LOGITS]][%[[I]], %[[J]], %[[AT]]] : tensor<3x5x7xf32>
func.func @picked(%logits: tensor<3x5x7xf32>, %labels: tensor<3x5xi64>) -> tensor<15xf32> {
  %table = tensor.collapse_shape %logits [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
  %ids = tensor.collapse_shape %labels [[0, 1]] : tensor<3x5xi64> into tensor<15xi64>
  %e = tensor.empty() : tensor<15xf32>
  %r = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel"]} ins(%ids : tensor<15xi64>) outs(%e : tensor<15xf32>) {
  ^bb0(%in: i64, %out: f32):
    %row = linalg.index 0 : index
    %at = arith.index_cast %in : i64 to index
    %x = tensor.extract %table[%row, %at] : tensor<15x7xf32>
    linalg.yield %x : f32
  } -> tensor<15xf32>
  return %r : tensor<15xf32>
}

// -----

// Slices of a packed dimension: the cut lies between heads, so that the packed
// dimension is heads too.

// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %[[X:.*]]: tensor<5x42xf32>)
// CHECK: %[[H:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] {{.*}} into tensor<5x6x7xf32>
// CHECK: tensor.extract_slice %[[H]][0, 4, 0] [5, 2, 7] [1, 1, 1] : tensor<5x6x7xf32> to tensor<5x2x7xf32>
#e3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @packed(%x: tensor<5x42xf32>) -> tensor<5x2x7xf32> {
  %v = tensor.extract_slice %x[0, 28] [5, 14] [1, 1] : tensor<5x42xf32> to tensor<5x14xf32>
  %heads = tensor.expand_shape %v [[0], [1, 2]] output_shape [5, 2, 7] : tensor<5x14xf32> into tensor<5x2x7xf32>
  %e = tensor.empty() : tensor<5x2x7xf32>
  %r = linalg.generic {indexing_maps = [#e3, #e3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%heads : tensor<5x2x7xf32>) outs(%e : tensor<5x2x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<5x2x7xf32>
  return %r : tensor<5x2x7xf32>
}

// -----

// Appending one row: the joined dimension stays where it has size 1.

// CHECK-LABEL: func.func @append(
// CHECK: %[[ROW:.*]] = tensor.expand_shape {{.*}} : tensor<5xf32> into tensor<1x5xf32>
// CHECK: tensor.concat dim(0) %arg0, %[[ROW]] : (tensor<3x5xf32>, tensor<1x5xf32>) -> tensor<4x5xf32>
#id1 = affine_map<(d0, d1) -> (d0, d1)>
func.func @append(%cache: tensor<3x5xf32>, %x: tensor<1x5xf32>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<1x5xf32>
  %r = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x5xf32>) outs(%e : tensor<1x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<1x5xf32>
  %c = tensor.concat dim(0) %cache, %r : (tensor<3x5xf32>, tensor<1x5xf32>) -> tensor<4x5xf32>
  return %c : tensor<4x5xf32>
}

// -----

// Pins move to the finer shape; shard<2> of the module's own shape is the
// major part, the heads, or what else the dimension was made into.

#mesh = #tp.mesh<"tp" = 2>
// CHECK-LABEL: func.func @pinned(
// CHECK: tp.constrain {{.*}} on "tp" of #mesh to shard<2> view [3, 5, 2, 11] dims [2, 3] at "wq" "output" : tensor<3x5x2x11xf32>
func.func @pinned(%x: tensor<15x22xf32>) -> tensor<3x5x2x11xf32> {
  %p = tp.constrain %x on "tp" of #mesh to shard<2> view [3, 5, 22] at "wq" "output" : tensor<15x22xf32>
  %heads = tensor.expand_shape %p [[0, 1], [2, 3]] output_shape [3, 5, 2, 11] : tensor<15x22xf32> into tensor<3x5x2x11xf32>
  return %heads : tensor<3x5x2x11xf32>
}

// -----

// Cuts that do not nest: the first stays, the reshape to the other too.

// CHECK-LABEL: func.func @crossing(
// CHECK: %[[TWO:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<2x3xf32>)
// CHECK: %[[SIX:.*]] = tensor.collapse_shape %[[TWO]]
// CHECK: tensor.expand_shape %[[SIX]] {{.*}} into tensor<3x2xf32>
#m = affine_map<(d0, d1) -> (d0, d1)>
func.func @crossing(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<2x3xf32>
  %six = tensor.collapse_shape %r [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %other = tensor.expand_shape %six [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
  %e2 = tensor.empty() : tensor<3x2xf32>
  %s = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]} ins(%other : tensor<3x2xf32>) outs(%e2 : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<3x2xf32>
  return %s : tensor<3x2xf32>
}

// -----

// The index of a merged loop is computed from those of its factors, and a
// computed index of a table dimension that is cut is taken apart.

#line = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @indices(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %[[FIVE]]
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[LINE:.*]] = arith.addi %[[ROW]], %[[J]]
// CHECK: %[[BACK:.*]] = arith.subi %{{.*}}, %[[LINE]]
// CHECK: %[[SIZE:.*]] = arith.constant 5 : index
// CHECK: %[[MINOR:.*]] = arith.remui %[[BACK]], %[[SIZE]]
// CHECK: %[[MAJOR:.*]] = arith.divui %[[BACK]], %[[SIZE]]
// CHECK: tensor.extract %arg0[%[[MAJOR]], %[[MINOR]]] : tensor<3x5xf32>
func.func @indices(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %last = arith.constant 14 : index
  %table = tensor.collapse_shape %x [[0, 1]] : tensor<3x5xf32> into tensor<15xf32>
  %e = tensor.empty() : tensor<15xf32>
  %reversed = linalg.generic {indexing_maps = [#line], iterator_types = ["parallel"]} outs(%e : tensor<15xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %back = arith.subi %last, %i : index
    %v = tensor.extract %table[%back] : tensor<15xf32>
    linalg.yield %v : f32
  } -> tensor<15xf32>
  %r = tensor.expand_shape %reversed [[0, 1]] output_shape [3, 5] : tensor<15xf32> into tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

// Softmax is its loops. Of bf16 all is f32 until the shares are rounded.

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:.*]]: tensor<6x12xbf16>
// CHECK: linalg.fill ins({{.*}} : f32) outs({{.*}} : tensor<12xf32>)
// CHECK: %[[MAX:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[X]] : tensor<6x12xbf16>)
// CHECK: arith.maximumf {{.*}} : f32
// CHECK: %[[EXP:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MAX]] : tensor<6x12xbf16>, tensor<12xf32>)
// CHECK: math.exp {{.*}} : f32
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[EXP]] : tensor<6x12xf32>)
// CHECK: arith.addf {{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[EXP]], %[[SUM]] : tensor<6x12xf32>, tensor<12xf32>)
// CHECK: arith.divf {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @softmax(%x: tensor<6x12xbf16>) -> tensor<6x12xbf16> {
  %0 = linalg.softmax dimension(0) ins(%x : tensor<6x12xbf16>) outs(%x : tensor<6x12xbf16>) -> tensor<6x12xbf16>
  return %0 : tensor<6x12xbf16>
}

// -----

// Sums and products of bf16 are f32 until they are whole, and so are the products of a
// contraction; a maximum stays as it is.

// CHECK-LABEL: func.func @narrow_sums(
// CHECK: linalg.fill ins(%{{.*}} : f32) outs({{.*}} : tensor<6xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<6x12xbf16>) outs(%{{.*}} : tensor<6xf32>)
// CHECK: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.addf %{{.*}}, %[[W]] : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[INIT:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<6x10xf16>) outs({{.*}} : tensor<6x10xf32>)
// CHECK: linalg.generic {{.*}} outs(%[[INIT]] : tensor<6x10xf32>)
// CHECK-NOT: arith.mulf {{.*}} : f16
// CHECK: arith.mulf {{.*}} : f32
// CHECK-NEXT: arith.addf {{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.maximumf {{.*}} : bf16
// CHECK-NOT: arith.truncf
func.func @narrow_sums(%x: tensor<6x12xbf16>, %a: tensor<6x12xf16>, %b: tensor<12x10xf16>, %c: tensor<6x10xf16>) -> (tensor<6xbf16>, tensor<6x10xf16>, tensor<6xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<6xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%e : tensor<6xbf16>) -> tensor<6xbf16>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<6x12xbf16>) outs(%init : tensor<6xbf16>) dimensions = [1]
  %product = linalg.matmul ins(%a, %b : tensor<6x12xf16>, tensor<12x10xf16>) outs(%c : tensor<6x10xf16>) -> tensor<6x10xf16>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<6x12xbf16>) outs(%init : tensor<6xbf16>) dimensions = [1]
  return %sum, %product, %max : tensor<6xbf16>, tensor<6x10xf16>, tensor<6xbf16>
}

// -----

// A pack is a view; where tiles do not divide, a padded one.

// CHECK-LABEL: func.func @pack(
// CHECK-NOT: tensor.pad
// CHECK: tensor.expand_shape {{.*}} : tensor<12x15xf32> into tensor<3x4x3x5xf32>
// CHECK: linalg.generic
// CHECK: tensor.pad {{.*}} high[1, 2]
// CHECK: linalg.generic
func.func @pack(%x: tensor<12x15xf32>, %a: tensor<3x3x4x5xf32>, %z: tensor<11x13xf32>) -> (tensor<3x3x4x5xf32>, tensor<3x3x4x5xf32>) {
  %seven = arith.constant 7.0 : f32
  %0 = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [4, 5] into %a : tensor<12x15xf32> -> tensor<3x3x4x5xf32>
  %1 = linalg.pack %z padding_value(%seven : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 5] into %a : tensor<11x13xf32> -> tensor<3x3x4x5xf32>
  return %0, %1 : tensor<3x3x4x5xf32>, tensor<3x3x4x5xf32>
}

// -----

// Queries in groups beside keys that are not: the packed dimension is cut into
// heads, which all its parts have, and the queries' groups after the slice.

// CHECK-LABEL: func.func @grouped_packed(
// CHECK-SAME: %[[X:.*]]: tensor<5x42xf32>)
// CHECK: %[[H:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] {{.*}} into tensor<5x6x7xf32>
// CHECK: %[[QS:.*]] = tensor.extract_slice %[[H]][0, 0, 0] [5, 4, 7] [1, 1, 1]
// CHECK: tensor.expand_shape %[[QS]] {{.*}} into tensor<5x2x2x7xf32>
// CHECK: tensor.extract_slice %[[H]][0, 4, 0] [5, 2, 7] [1, 1, 1]
#q4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#k4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
func.func @grouped_packed(%x: tensor<5x42xf32>) -> tensor<5x2x2x7xf32> {
  %q = tensor.extract_slice %x[0, 0] [5, 28] [1, 1] : tensor<5x42xf32> to tensor<5x28xf32>
  %k = tensor.extract_slice %x[0, 28] [5, 14] [1, 1] : tensor<5x42xf32> to tensor<5x14xf32>
  %qs = tensor.expand_shape %q [[0], [1, 2, 3]] output_shape [5, 2, 2, 7] : tensor<5x28xf32> into tensor<5x2x2x7xf32>
  %ks = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 2, 7] : tensor<5x14xf32> into tensor<5x2x7xf32>
  %e = tensor.empty() : tensor<5x2x2x7xf32>
  %r = linalg.generic {indexing_maps = [#q4, #k4, #q4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%qs, %ks : tensor<5x2x2x7xf32>, tensor<5x2x7xf32>) outs(%e : tensor<5x2x2x7xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<5x2x2x7xf32>
  return %r : tensor<5x2x2x7xf32>
}

// -----

// Two dimensions that are numbered by the same indices are two: the vocabulary
// stays whole, although the positions are a grid.

#id1 = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @shared_indices(
// CHECK: linalg.index 0
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<15xi64>, tensor<15xi64>) outs({{.*}} : tensor<15xi64>)
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<3x5xi64>, tensor<3x5xi64>) outs({{.*}} : tensor<3x5xi64>)
// CHECK: return {{.*}} : tensor<15xi64>, tensor<3x5xi64>
func.func @shared_indices(%vocabulary: tensor<15xi64>, %grid: tensor<3x5xi64>) -> (tensor<15xi64>, tensor<3x5xi64>) {
  %e = tensor.empty() : tensor<15xi64>
  %indices = linalg.generic {indexing_maps = [#id1], iterator_types = ["parallel"]} outs(%e : tensor<15xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    linalg.yield %n : i64
  } -> tensor<15xi64>
  %a = linalg.add ins(%vocabulary, %indices : tensor<15xi64>, tensor<15xi64>) outs(%e : tensor<15xi64>) -> tensor<15xi64>
  %positions = tensor.collapse_shape %grid [[0, 1]] : tensor<3x5xi64> into tensor<15xi64>
  %b = linalg.add ins(%positions, %indices : tensor<15xi64>, tensor<15xi64>) outs(%e : tensor<15xi64>) -> tensor<15xi64>
  %made = tensor.expand_shape %b [[0, 1]] output_shape [3, 5] : tensor<15xi64> into tensor<3x5xi64>
  return %a, %made : tensor<15xi64>, tensor<3x5xi64>
}
