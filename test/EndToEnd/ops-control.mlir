// Calls, loops of constant bounds and conditionals on 2 and 3 ranks, against
// upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 434 elements equal in 7 programs

#id = affine_map<(a, b) -> (a, b)>
func.func private @twice(%x: tensor<6x12xf32>, %by: f32) -> (tensor<6x12xf32>, f32) {
  %s = tensor.splat %by : tensor<6x12xf32>
  %y = arith.mulf %x, %s : tensor<6x12xf32>
  %more = arith.addf %by, %by : f32
  return %y, %more : tensor<6x12xf32>, f32
}
func.func private @nested(%x: tensor<6x12xf32>, %by: f32) -> tensor<6x12xf32> {
  %y, %more = call @twice(%x, %by) : (tensor<6x12xf32>, f32) -> (tensor<6x12xf32>, f32)
  %z, %most = call @twice(%y, %more) : (tensor<6x12xf32>, f32) -> (tensor<6x12xf32>, f32)
  return %z : tensor<6x12xf32>
}

func.func @main(%x: tensor<6x12xf32> {tp.name = "x"}, %w: tensor<12x12xf32> {tp.name = "w"}, %c: i1 {tp.name = "c"}, %n: index {tp.name = "n"}, %by: f32 {tp.name = "by"}) -> (tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, f32, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %0 = call @nested(%x, %by) : (tensor<6x12xf32>, f32) -> tensor<6x12xf32>
  // Three products, each of the one before.
  %1 = scf.for %k = %c0 to %c3 step %c1 iter_args(%v = %x) -> tensor<6x12xf32> {
    %e = tensor.empty() : tensor<6x12xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x12xf32>) -> tensor<6x12xf32>
    %m = linalg.matmul ins(%v, %w : tensor<6x12xf32>, tensor<12x12xf32>) outs(%f : tensor<6x12xf32>) -> tensor<6x12xf32>
    scf.yield %m : tensor<6x12xf32>
  }
  // The inner bound is the outer index.
  %sum = scf.for %i = %c0 to %c3 step %c2 iter_args(%s = %by) -> f32 {
    %t = scf.for %j = %c0 to %i step %c1 iter_args(%u = %s) -> f32 {
      %e = tensor.extract %x[%i, %j] : tensor<6x12xf32>
      %a = arith.addf %u, %e : f32
      scf.yield %a : f32
    }
    scf.yield %t : f32
  }
  %2, %3 = scf.if %c -> (tensor<6x12xf32>, f32) {
    %e = math.exp %x : tensor<6x12xf32>
    %q = arith.addf %sum, %by : f32
    scf.yield %e, %q : tensor<6x12xf32>, f32
  } else {
    // 1 / n fails where n is 0, and the slice lies outside where it is 3.
    %n64 = arith.index_cast %n : index to i64
    %hundred = arith.constant 100 : i64
    %d = arith.divsi %hundred, %n64 : i64
    %df = arith.sitofp %d : i64 to f32
    %e = tensor.extract %x[%n, %n] : tensor<6x12xf32>
    %q = arith.addf %df, %e : f32
    %ok = arith.cmpi sgt, %n, %c0 : index
    cf.assert %ok, "n is positive"
    scf.yield %1, %q : tensor<6x12xf32>, f32
  }
  %4 = scf.index_switch %n -> tensor<6x12xf32>
  case 0 {
    scf.yield %0 : tensor<6x12xf32>
  }
  case 2 {
    %s = arith.subf %x, %1 : tensor<6x12xf32>
    scf.yield %s : tensor<6x12xf32>
  }
  default {
    %s = arith.addf %x, %1 : tensor<6x12xf32>
    scf.yield %s : tensor<6x12xf32>
  }
  %init = tensor.empty() : tensor<6x12xf32>
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x12xf32>) outs(%init : tensor<6x12xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = linalg.index 0 : index
    %i64 = arith.index_cast %r : index to i64
    %seven = arith.constant 7 : i64
    %big = arith.cmpf ogt, %a, %zero : f32
    // 7 / 0 in the first row, were it computed there.
    %first = arith.cmpi eq, %r, %c0 : index
    %v = scf.if %first -> f32 {
      scf.yield %a : f32
    } else {
      %q = arith.divsi %seven, %i64 : i64
      %qf = arith.sitofp %q : i64 to f32
      %p = scf.if %big -> f32 {
        %s = math.sin %qf : f32
        scf.yield %s : f32
      } else {
        scf.yield %qf : f32
      }
      scf.yield %p : f32
    }
    %w2 = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %v) -> f32 {
      %m = arith.mulf %acc, %a : f32
      scf.yield %m : f32
    }
    linalg.yield %w2 : f32
  } -> tensor<6x12xf32>
  %6 = scf.forall (%i, %j) in (2, 3) shared_outs(%out = %x) -> tensor<6x12xf32> {
    %r = arith.muli %i, %c3 : index
    %t = tensor.extract_slice %0[%r, %j] [3, 1] [1, 1] : tensor<6x12xf32> to tensor<3x1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %out[%r, %j] [3, 1] [1, 1] : tensor<3x1xf32> into tensor<6x12xf32>
    }
  }
  %count = scf.execute_region -> i64 {
    %k = arith.constant 5 : i64
    scf.yield %k : i64
  }
  return %0, %1, %2, %3, %4, %5, %6, %count : tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, f32, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, i64
}
