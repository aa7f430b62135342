// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=3 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=4 -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=8 -o /dev/null 2>&1 | FileCheck %s

// Every op under every strategy of its rule, its sizes dividing over none of
// these numbers of ranks: the last ranks hold less, or nothing. What lies
// beyond a rank's end is poison, and must not get into a reduction, choose an
// element, divide or fail an assertion.

// CHECK-COUNT-20: strategies hold
// CHECK-NOT: error
// CHECK-NOT: strategies hold

#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>

func.func @reductions(%x: tensor<5x7xf32>, %init: tensor<5xf32>, %ix: tensor<5x7xi32>) {
  // A sum onto an init, and a largest value with its place.
  %0 = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.maximumf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %one = arith.constant 1 : i32
  %s0 = tensor.empty() : tensor<i32>
  %i0 = linalg.fill ins(%one : i32) outs(%s0 : tensor<i32>) -> tensor<i32>
  %2 = linalg.generic {indexing_maps = [#id2, #none], iterator_types = ["reduction", "reduction"]} ins(%ix : tensor<5x7xi32>) outs(%i0 : tensor<i32>) {
  ^bb0(%a: i32, %acc: i32):
    %s = arith.muli %acc, %a : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  return
}

func.func @contractions(%a: tensor<5x7xf32>, %b: tensor<7x11xf32>, %i: tensor<5x11xf32>, %f: tensor<5x7xf16>, %g: tensor<7x11xf16>) {
  %0 = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x11xf32>) outs(%i : tensor<5x11xf32>) -> tensor<5x11xf32>
  %1 = linalg.matmul ins(%f, %g : tensor<5x7xf16>, tensor<7x11xf16>) outs(%i : tensor<5x11xf32>) -> tensor<5x11xf32>
  return
}

func.func @indices(%x: tensor<5x7xf32>, %y: tensor<5x7xi64>, %out: tensor<5xi64>) {
  %e = tensor.empty() : tensor<5x7xi64>
  %0 = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<5x7xi64>) {
  ^bb0(%o: i64):
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
    %k = arith.constant 100 : index
    %m = arith.muli %r, %k : index
    %s = arith.addi %m, %c : index
    %v = arith.index_cast %s : index to i64
    linalg.yield %v : i64
  } -> tensor<5x7xi64>
  // The index is summed, padding is not.
  %1 = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<5x7xi64>) outs(%out : tensor<5xi64>) {
  ^bb0(%a: i64, %acc: i64):
    %c = linalg.index 1 : index
    %v = arith.index_cast %c : index to i64
    %p = arith.muli %a, %v : i64
    %s = arith.addi %acc, %p : i64
    linalg.yield %s : i64
  } -> tensor<5xi64>
  return
}

func.func @traps(%x: tensor<5x7xi32>, %y: tensor<5x7xi32>) {
  %e = tensor.empty() : tensor<5x7xi32>
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %zero = arith.constant 0 : i32
  // Never 0 where there is an element.
  %0 = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<5x7xi32>, tensor<5x7xi32>) outs(%e : tensor<5x7xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %n = arith.andi %b, %seven : i32
    %d = arith.addi %n, %one : i32
    %ok = arith.cmpi sgt, %d, %zero : i32
    cf.assert %ok, "the divisor must be positive"
    %q = arith.divsi %a, %d : i32
    linalg.yield %q : i32
  } -> tensor<5x7xi32>
  return
}

func.func @tables(%table: tensor<7x5xf32>, %ids: tensor<5xi64>) {
  %e = tensor.empty() : tensor<5x5xf32>
  %seven = arith.constant 7 : index
  // Read at a place that is computed, and at a loop's index.
  %0 = linalg.generic {indexing_maps = [#row, #id2], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<5xi64>) outs(%e : tensor<5x5xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %table[%i, %c] : tensor<7x5xf32>
    linalg.yield %v : f32
  } -> tensor<5x5xf32>
  // Read past the loop's own index.
  %e1 = tensor.empty() : tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e1 : tensor<5xf32>) {
  ^bb0(%o: f32):
    %r = linalg.index 0 : index
    %two = arith.constant 2 : index
    %i = arith.addi %r, %two : index
    %v = tensor.extract %table[%i, %r] : tensor<7x5xf32>
    linalg.yield %v : f32
  } -> tensor<5xf32>
  return
}

// A table that is read both ways round stays whole.
func.func @whole_tables(%square: tensor<5x5xf32>) {
  %e = tensor.empty() : tensor<5x5xf32>
  %0 = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<5x5xf32>) {
  ^bb0(%o: f32):
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
    %a = tensor.extract %square[%r, %c] : tensor<5x5xf32>
    %b = tensor.extract %square[%c, %r] : tensor<5x5xf32>
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<5x5xf32>
  return
}

func.func @movements(%x: tensor<5x21xf32>, %y: tensor<5x11xf32>, %z: tensor<5x7x3xf32>) {
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [5, 7, 3] : tensor<5x21xf32> into tensor<5x7x3xf32>
  %1 = tensor.collapse_shape %z [[0, 1], [2]] : tensor<5x7x3xf32> into tensor<35x3xf32>
  %2 = tensor.collapse_shape %z [[0], [1, 2]] : tensor<5x7x3xf32> into tensor<5x21xf32>
  %3 = tensor.extract_slice %x[0, 4] [5, 10] [1, 1] : tensor<5x21xf32> to tensor<5x10xf32>
  %4 = tensor.extract_slice %x[1, 0] [3, 21] [1, 1] : tensor<5x21xf32> to tensor<3x21xf32>
  %5 = tensor.insert_slice %y into %x[0, 5] [5, 11] [1, 1] : tensor<5x11xf32> into tensor<5x21xf32>
  %6 = tensor.concat dim(1) %y, %x, %3 : (tensor<5x11xf32>, tensor<5x21xf32>, tensor<5x10xf32>) -> tensor<5x42xf32>
  %c = arith.constant 2.0 : f32
  %7 = tensor.pad %x low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<5x21xf32> to tensor<5x24xf32>
  return
}
