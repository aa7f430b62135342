// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=3 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2,2 -o /dev/null 2>&1 | FileCheck %s

// Bodies in which what lies behind a rank's last element would show: several
// results, loops that are uneven on two axes, divisors and checks that padding
// does not pass, tables that are read in other ways than by rows.

// CHECK-COUNT-11: strategies hold
// CHECK-NOT: error
// CHECK-NOT: strategies hold

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#none = affine_map<(i, j) -> ()>

func.func @results(%x: tensor<5x7xf32>, %y: tensor<5x7xi32>, %sums: tensor<5xf32>, %largest: tensor<5xf32>, %i: tensor<i32>, %f: tensor<f32>) {
  // A sum and a maximum.
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x7xf32>) outs(%sums, %largest : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32):
    %sum = arith.addf %s, %a : f32
    %max = arith.maximumf %m, %a : f32
    linalg.yield %sum, %max : f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>)
  // Both loops reduce.
  %1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<5x7xi32>) outs(%i : tensor<i32>) {
  ^bb0(%a: i32, %s: i32):
    %sum = arith.addi %s, %a : i32
    linalg.yield %sum : i32
  } -> tensor<i32>
  %2 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<5x7xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %min = arith.minimumf %s, %a : f32
    linalg.yield %min : f32
  } -> tensor<f32>
  return
}

func.func @traps(%y: tensor<5x7xi32>) {
  %e = tensor.empty() : tensor<5x7xi32>
  %rows = arith.constant 5 : index
  %columns = arith.constant 7 : index
  // The divisor is 0 one column behind the last.
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<5x7xi32>) outs(%e : tensor<5x7xi32>) {
  ^bb0(%a: i32, %o: i32):
    %j = linalg.index 1 : index
    %left = arith.subi %columns, %j : index
    %d = arith.index_cast %left : index to i32
    %q = arith.divsi %a, %d : i32
    linalg.yield %q : i32
  } -> tensor<5x7xi32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<5x7xi32>) outs(%e : tensor<5x7xi32>) {
  ^bb0(%a: i32, %o: i32):
    %i = linalg.index 0 : index
    %ok = arith.cmpi slt, %i, %rows : index
    cf.assert %ok, "the row must be one of the tensor"
    linalg.yield %a : i32
  } -> tensor<5x7xi32>
  return
}

func.func @tables(%long: tensor<8xf32>, %table: tensor<6x5xf32>, %ids: tensor<5xi64>, %init: tensor<5xf32>) {
  %e = tensor.empty() : tensor<5xf32>
  // Longer than the loop that reads it.
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<5xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %long[%i] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<5xf32>
  // Not linear.
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%ids : tensor<5xi64>) outs(%e : tensor<5xf32>) {
  ^bb0(%id: i64, %o: f32):
    %r = arith.index_cast %id : i64 to index
    %i = linalg.index 0 : index
    %v = tensor.extract %table[%r, %i] : tensor<6x5xf32>
    %one = arith.constant 1.0 : f32
    %w = arith.addf %v, %one : f32
    linalg.yield %w : f32
  } -> tensor<5xf32>
  // Onto an accumulator.
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%ids : tensor<5xi64>) outs(%init : tensor<5xf32>) {
  ^bb0(%id: i64, %o: f32):
    %r = arith.index_cast %id : i64 to index
    %i = linalg.index 0 : index
    %v = tensor.extract %table[%r, %i] : tensor<6x5xf32>
    %w = arith.mulf %v, %o : f32
    linalg.yield %w : f32
  } -> tensor<5xf32>
  // By the loop's index once, by another number once.
  %3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<5xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %four = arith.constant 4 : index
    %back = arith.subi %four, %i : index
    %v = tensor.extract %init[%i] : tensor<5xf32>
    %w = tensor.extract %init[%back] : tensor<5xf32>
    %s = arith.subf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return
}

func.func @factors(%x: tensor<2x6x5xf32>, %square: tensor<6x6xf32>) {
  // The middle part of three.
  %0 = tensor.collapse_shape %x [[0, 1, 2]] : tensor<2x6x5xf32> into tensor<60xf32>
  // One loop is two dimensions of a tensor.
  %e = tensor.empty() : tensor<6xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%square : tensor<6x6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<6xf32>
  return
}
