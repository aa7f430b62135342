// Complex numbers between real arguments and results, on 2 and 3 ranks, against
// upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 334 elements equal in 7 programs

#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<6x12xf32> {tp.name = "x"}, %y: tensor<6x12xf32> {tp.name = "y"}, %w: tensor<12x6xf32> {tp.name = "w"}, %by: f32 {tp.name = "by"}) -> (tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x12xf32>, tensor<6x6xf32>, tensor<f32>, tensor<3xf32>, tensor<6xi1>) {
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<6x12xcomplex<f32>>
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<6x12xf32>, tensor<6x12xf32>) outs(%e : tensor<6x12xcomplex<f32>>) {
  ^bb0(%a: f32, %b: f32, %o: complex<f32>):
    %c = complex.create %a, %b : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<6x12xcomplex<f32>>
  // Turned by a table, as rotary embeddings do.
  %k = arith.constant dense<[(1.0,0.5), (0.0,1.0), (-1.0,2.0), (0.5,0.0), (2.0,2.0), (1.0,-1.0)]> : tensor<6xcomplex<f32>>
  %f = tensor.empty() : tensor<6x12xcomplex<f32>>
  %t = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]} ins(%z, %k : tensor<6x12xcomplex<f32>>, tensor<6xcomplex<f32>>) outs(%f : tensor<6x12xcomplex<f32>>) {
  ^bb0(%a: complex<f32>, %b: complex<f32>, %o: complex<f32>):
    %m = complex.mul %a, %b : complex<f32>
    linalg.yield %m : complex<f32>
  } -> tensor<6x12xcomplex<f32>>
  %g = tensor.empty() : tensor<6x12xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<6x12xcomplex<f32>>) outs(%g, %g : tensor<6x12xf32>, tensor<6x12xf32>) {
  ^bb0(%a: complex<f32>, %o: f32, %p: f32):
    %r = complex.re %a : complex<f32>
    %i = complex.im %a : complex<f32>
    linalg.yield %r, %i : f32, f32
  } -> (tensor<6x12xf32>, tensor<6x12xf32>)
  // A product.
  %we = tensor.empty() : tensor<12x6xcomplex<f32>>
  %wc = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<12x6xf32>) outs(%we : tensor<12x6xcomplex<f32>>) {
  ^bb0(%a: f32, %o: complex<f32>):
    %c = complex.create %a, %by : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<12x6xcomplex<f32>>
  %start = complex.constant [0.0 : f32, 1.0 : f32] : complex<f32>
  %pe = tensor.empty() : tensor<6x6xcomplex<f32>>
  %init = linalg.fill ins(%start : complex<f32>) outs(%pe : tensor<6x6xcomplex<f32>>) -> tensor<6x6xcomplex<f32>>
  %p = linalg.matmul ins(%t, %wc : tensor<6x12xcomplex<f32>>, tensor<12x6xcomplex<f32>>) outs(%init : tensor<6x6xcomplex<f32>>) -> tensor<6x6xcomplex<f32>>
  %h = tensor.empty() : tensor<6x6xf32>
  %1:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<6x6xcomplex<f32>>) outs(%h, %h : tensor<6x6xf32>, tensor<6x6xf32>) {
  ^bb0(%a: complex<f32>, %o: f32, %q: f32):
    %r = complex.re %a : complex<f32>
    %i = complex.im %a : complex<f32>
    linalg.yield %r, %i : f32, f32
  } -> (tensor<6x6xf32>, tensor<6x6xf32>)
  // Functions.
  %two = complex.constant [2.0 : f32, 0.5 : f32] : complex<f32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%z : tensor<6x12xcomplex<f32>>) outs(%g : tensor<6x12xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %e1 = complex.exp %a : complex<f32>
    %s1 = complex.sqrt %e1 : complex<f32>
    %d1 = complex.div %s1, %two : complex<f32>
    %n1 = complex.conj %d1 : complex<f32>
    %u1 = complex.sub %n1, %a : complex<f32>
    %v1 = complex.neg %u1 : complex<f32>
    %l1 = complex.log %v1 : complex<f32>
    %h1 = complex.tanh %l1 : complex<f32>
    %m1 = complex.abs %h1 : complex<f32>
    %g1 = complex.angle %v1 : complex<f32>
    %r1 = arith.addf %m1, %g1 : f32
    linalg.yield %r1 : f32
  } -> tensor<6x12xf32>
  // What moves elements.
  %sl = tensor.extract_slice %t[0, 2] [6, 3] [1, 2] : tensor<6x12xcomplex<f32>> to tensor<6x3xcomplex<f32>>
  %cc = tensor.concat dim(1) %sl, %sl : (tensor<6x3xcomplex<f32>>, tensor<6x3xcomplex<f32>>) -> tensor<6x6xcomplex<f32>>
  %flat = tensor.collapse_shape %cc [[0, 1]] : tensor<6x6xcomplex<f32>> into tensor<36xcomplex<f32>>
  %fine = tensor.expand_shape %flat [[0, 1]] output_shape [6, 6] : tensor<36xcomplex<f32>> into tensor<6x6xcomplex<f32>>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%fine : tensor<6x6xcomplex<f32>>) outs(%h : tensor<6x6xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %i = linalg.index 0 : index
    %at = tensor.extract %p[%i, %c1] : tensor<6x6xcomplex<f32>>
    %s = complex.add %a, %at : complex<f32>
    %i1 = complex.im %s : complex<f32>
    linalg.yield %i1 : f32
  } -> tensor<6x6xf32>
  %one = tensor.extract %p[%c1, %c1] : tensor<6x6xcomplex<f32>>
  %re = complex.re %one : complex<f32>
  %4 = tensor.from_elements %re : tensor<f32>
  %list = tensor.from_elements %one, %two, %start : tensor<3xcomplex<f32>>
  %le = tensor.empty() : tensor<3xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%list : tensor<3xcomplex<f32>>) outs(%le : tensor<3xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %m = complex.abs %a : complex<f32>
    linalg.yield %m : f32
  } -> tensor<3xf32>
  %be = tensor.empty() : tensor<6xi1>
  %6 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%k : tensor<6xcomplex<f32>>) outs(%be : tensor<6xi1>) {
  ^bb0(%a: complex<f32>, %o: i1):
    %m = complex.eq %a, %start : complex<f32>
    linalg.yield %m : i1
  } -> tensor<6xi1>
  return %0#0, %0#1, %1#0, %1#1, %2, %3, %4, %5, %6 : tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x12xf32>, tensor<6x6xf32>, tensor<f32>, tensor<3xf32>, tensor<6xi1>
}
