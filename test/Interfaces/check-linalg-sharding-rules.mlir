// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 -verify-diagnostics
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=3 -verify-diagnostics

// Every strategy that the rules allow, on all ranks, before and after the
// partition, against the unsharded op. Sizes differ pairwise; inits are not
// zero, so that what is counted twice shows.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
#rowOnly = affine_map<(d0, d1) -> (d0)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

func.func @contractions(%a: tensor<6x12xf32>, %b: tensor<12x18xf32>, %c: tensor<6x18xf32>,
                        %p: tensor<2x6x12xf32>, %q: tensor<2x12x18xf32>, %r: tensor<2x6x18xf32>) {
  // expected-remark@+1 {{strategies hold}}
  %0 = linalg.matmul ins(%a, %b : tensor<6x12xf32>, tensor<12x18xf32>) outs(%c : tensor<6x18xf32>) -> tensor<6x18xf32>
  // expected-remark@+1 {{strategies hold}}
  %1 = linalg.batch_matmul ins(%p, %q : tensor<2x6x12xf32>, tensor<2x12x18xf32>) outs(%r : tensor<2x6x18xf32>) -> tensor<2x6x18xf32>
  return
}

func.func @maxnum(%a: tensor<6x12xf32>, %e: tensor<6xf32>) {
  %most = arith.constant 0x7F800000 : f32
  // expected-remark@+1 {{strategies hold}}
  %init = linalg.fill ins(%most : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  // Replicated, by rows, by columns.
  // expected-remark@+1 {{3 strategies hold}}
  %0 = linalg.generic {indexing_maps = [#id, #rowOnly], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<6x12xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.minnumf %o, %x : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  return
}

func.func @reductions(%a: tensor<6x12xf32>, %s: tensor<6xf32>, %b: tensor<6x12xi1>, %t: tensor<6xi1>, %i: tensor<6x12xi32>, %u: tensor<6xi32>, %k: tensor<6x1xf32>) {
  // expected-remark@+1 {{strategies hold}}
  %0 = linalg.generic {indexing_maps = [#id, #rowOnly], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<6x12xf32>) outs(%s : tensor<6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.addf %x, %o : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  // expected-remark@+1 {{strategies hold}}
  %2 = linalg.generic {indexing_maps = [#id, #rowOnly], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<6x12xf32>) outs(%s : tensor<6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.maximumf %o, %x : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  // expected-remark@+1 {{strategies hold}}
  %3 = linalg.generic {indexing_maps = [#id, #rowOnly], iterator_types = ["parallel", "reduction"]} ins(%b : tensor<6x12xi1>) outs(%t : tensor<6xi1>) {
  ^bb0(%x: i1, %o: i1):
    %1 = arith.andi %x, %o : i1
    linalg.yield %1 : i1
  } -> tensor<6xi1>
  // expected-remark@+1 {{strategies hold}}
  %4 = linalg.generic {indexing_maps = [#id, #rowOnly], iterator_types = ["parallel", "reduction"]} ins(%i : tensor<6x12xi32>) outs(%u : tensor<6xi32>) {
  ^bb0(%x: i32, %o: i32):
    %1 = arith.minsi %x, %o : i32
    linalg.yield %1 : i32
  } -> tensor<6xi32>
  // A kept dimension, and an index inside the reduction.
  // expected-remark@+1 {{strategies hold}}
  %5 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<6x12xf32>) outs(%k : tensor<6x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = linalg.index 1 : index
    %m = arith.index_cast %n : index to i32
    %f = arith.sitofp %m : i32 to f32
    %w = arith.mulf %x, %f : f32
    %1 = arith.addf %o, %w : f32
    linalg.yield %1 : f32
  } -> tensor<6x1xf32>
  return
}

func.func @elementwise(%a: tensor<6x12xf32>, %b: tensor<6x1xf32>, %c: tensor<6x12xf32>, %m: tensor<6x12xi1>, %t: tensor<12x6xf32>) {
  // expected-remark@+1 {{strategies hold}}
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<6x12xf32>, tensor<6x1xf32>) outs(%c : tensor<6x12xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %1 = arith.addf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{strategies hold}}
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %c : tensor<6x12xf32>, tensor<6x12xf32>) outs(%c : tensor<6x12xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %1 = arith.subf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{strategies hold}}
  %3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %a, %c : tensor<6x12xi1>, tensor<6x12xf32>, tensor<6x12xf32>) outs(%c : tensor<6x12xf32>) {
  ^bb0(%w: i1, %x: f32, %y: f32, %o: f32):
    %1 = arith.select %w, %x, %y : f32
    %4 = arith.negf %1 : f32
    linalg.yield %4 : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{strategies hold}}
  %5 = linalg.transpose ins(%a : tensor<6x12xf32>) outs(%t : tensor<12x6xf32>) permutation = [1, 0]
  // Both operands are one value.
  // expected-remark@+1 {{strategies hold}}
  %6 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %a : tensor<6x12xf32>, tensor<6x12xf32>) outs(%c : tensor<6x12xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %1 = arith.mulf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  return
}

// What keeps the order of floats, and what turns it around.
func.func @order(%a: tensor<6x12xf32>, %b: tensor<6x12xf32>, %e: tensor<6x12xf32>, %i: tensor<6x12xi32>, %j: tensor<6x12xi32>, %s: tensor<6xf32>) {
  %two = arith.constant 2.0 : f32
  %half = arith.constant -0.5 : f32
  // Replicated, both loops, and avg, max, min; sums.
  // expected-remark@+1 {{7 strategies hold}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<6x12xf32>) outs(%e : tensor<6x12xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.mulf %two, %x : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{7 strategies hold}}
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<6x12xf32>) outs(%e : tensor<6x12xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.mulf %x, %half : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{7 strategies hold}}
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<6x12xf32>) outs(%e : tensor<6x12xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.divf %x, %half : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  // Maxima of either operand and of both, minima of either.
  // expected-remark@+1 {{8 strategies hold}}
  %4 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<6x12xf32>, tensor<6x12xf32>) outs(%e : tensor<6x12xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %1 = arith.maximumf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{8 strategies hold}}
  %5 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%i, %j : tensor<6x12xi32>, tensor<6x12xi32>) outs(%j : tensor<6x12xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %1 = arith.minsi %x, %y : i32
    linalg.yield %1 : i32
  } -> tensor<6x12xi32>
  // Minima of what a maximum starts from.
  // expected-remark@+1 {{6 strategies hold}}
  %6 = linalg.generic {indexing_maps = [#id, #rowOnly], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<6x12xf32>) outs(%s : tensor<6xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.maximumf %o, %x : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  return
}

#ids = affine_map<(d0, d1) -> (d0)>

// Rows of a table, even and not, at computed indices; and a table read at a
// loop's own index.
func.func @tables(%even: tensor<30x12xf32>, %uneven: tensor<31x12xf32>, %own: tensor<6xf32>, %i: tensor<6xi64>, %c: tensor<6x12xf32>) {
  // expected-remark@+1 {{strategies hold}}
  %0 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<6xi64>) outs(%c : tensor<6x12xf32>) {
  ^bb0(%n: i64, %o: f32):
    %row = arith.index_cast %n : i64 to index
    %col = linalg.index 1 : index
    %v = tensor.extract %even[%row, %col] : tensor<30x12xf32>
    linalg.yield %v : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{strategies hold}}
  %1 = linalg.generic {indexing_maps = [#ids, #id], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<6xi64>) outs(%c : tensor<6x12xf32>) {
  ^bb0(%n: i64, %o: f32):
    %row = arith.index_cast %n : i64 to index
    %col = linalg.index 1 : index
    %v = tensor.extract %uneven[%row, %col] : tensor<31x12xf32>
    linalg.yield %v : f32
  } -> tensor<6x12xf32>
  // expected-remark@+1 {{strategies hold}}
  %2 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%c : tensor<6x12xf32>) {
  ^bb0(%o: f32):
    %row = linalg.index 0 : index
    %v = tensor.extract %own[%row] : tensor<6xf32>
    %w = arith.mulf %v, %v : f32
    linalg.yield %w : f32
  } -> tensor<6x12xf32>
  return
}
