// RUN: tp-opt %s --tp-legalize --tp-verify-legal --split-input-file -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --implicit-check-not='func.func private' --implicit-check-not=ml_program --implicit-check-not='scf.'

// Elementwise ops keep their attributes and their place in the model.
// CHECK-LABEL: func.func @elementwise
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>{{.*}}, tensor<2x3xf32>
// CHECK:           arith.addf %{{.*}}, %{{.*}} : f32 loc("layers.0"("add"))
// CHECK:         } -> tensor<2x3xf32> loc("layers.0"("add"))
// A scalar condition is captured.
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>{{.*}}, tensor<2x3xf32>
// CHECK:           arith.select %extracted, %{{.*}}, %{{.*}} : f32
func.func @elementwise(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %c: i1) -> tensor<2x3xf32> {
  %0 = arith.addf %x, %y fastmath<contract> : tensor<2x3xf32> loc("layers.0"("add"))
  %1 = arith.select %c, %0, %y : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// Each call brings the callee's ops, at the call's module where they name none.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%arg0: tensor<4xf32> {tp.name = "x"}
// CHECK:         math.exp {{.*}} loc(fused["layers.0"("call"),
// CHECK:         math.sin {{.*}} loc("own"("sin"))
// CHECK:         math.exp {{.*}} loc(fused["layers.1"("call"),
// CHECK:         math.sin {{.*}} loc("own"("sin"))
// CHECK-NOT:     call
// CHECK:         return
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  %1 = call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x : tensor<4xf32> loc("own"("sin"))
  return %0 : tensor<4xf32>
}
func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("layers.0"("call"))
  %1 = call @layer(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("layers.1"("call"))
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @scalar_ports
// CHECK-SAME:    (%arg0: tensor<index> {tp.name = "n"} {{.*}}, %arg1: tensor<f32> {{.*}}) -> (tensor<f32>, tensor<index> {tp.name = "m"})
// CHECK:         %[[N:.*]] = tensor.extract %arg0[] : tensor<index>
// CHECK:         %[[M:.*]] = tensor.from_elements %[[N]] : tensor<index>
// CHECK:         return %{{.*}}, %[[M]]
func.func @scalar_ports(%n: index {tp.name = "n"}, %x: f32) -> (f32, index {tp.name = "m"}) {
  return %x, %n : f32, index
}

// -----

ml_program.global private @table(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
// CHECK-LABEL: func.func @globals
// CHECK:         arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
func.func @globals() -> tensor<2xf32> {
  %0 = ml_program.global_load_const @table : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Bounds are folded before they are asked for.
// CHECK-LABEL: func.func @loop
// CHECK-COUNT-2: math.exp
// CHECK-NOT:     math.exp
// CHECK:         return
func.func @loop(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %columns = tensor.dim %x, %c1 : tensor<4x2xf32>
  %0 = scf.for %i = %c0 to %columns step %c1 iter_args(%v = %x) -> tensor<4x2xf32> {
    %e = math.exp %v : tensor<4x2xf32>
    scf.yield %e : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}

// -----

// A loop that does not run gives its init; a known condition its side.
// CHECK-LABEL: func.func @known
// CHECK-NOT:     math.exp
// CHECK:         return %arg0
func.func @known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c1 to %c0 step %c1 iter_args(%v = %x) -> tensor<4xf32> {
    %e = math.exp %v : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  %1 = scf.if %true -> tensor<4xf32> {
    scf.yield %0 : tensor<4xf32>
  } else {
    %e = math.exp %0 : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// -----

// Nothing fails on the side that is not taken.
// CHECK-LABEL: func.func @guarded
// CHECK:         %[[N:.*]] = tensor.extract %arg1[]
// CHECK:         %[[C:.*]] = tensor.extract %arg2[]
// CHECK:         %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         %[[DIVISOR:.*]] = arith.select %[[C]], %[[N]], %[[ONE]] : index
// CHECK:         arith.divsi %{{.*}}, %[[DIVISOR]] : index
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         %[[AT:.*]] = arith.select %[[C]], %[[N]], %[[ZERO]] : index
// CHECK:         tensor.extract %arg0[%[[AT]]]
// CHECK:         %[[IDLE:.*]] = arith.xori %[[C]], %true
// CHECK:         %[[HOLDS:.*]] = arith.ori %{{.*}}, %[[IDLE]]
// CHECK:         cf.assert %[[HOLDS]], "n is small"
// CHECK:         arith.select %[[C]], %{{.*}}, %{{.*}} : f32
func.func @guarded(%x: tensor<4xf32>, %n: index, %c: i1, %y: f32) -> f32 {
  %c4 = arith.constant 4 : index
  %0 = scf.if %c -> f32 {
    %d = arith.divsi %c4, %n : index
    %v = tensor.extract %x[%n] : tensor<4xf32>
    %ok = arith.cmpi slt, %d, %c4 : index
    cf.assert %ok, "n is small"
    scf.yield %v : f32
  } else {
    scf.yield %y : f32
  }
  return %0 : f32
}

// -----

// CHECK-LABEL: func.func @runtime_offset
// CHECK:         %[[N:.*]] = tensor.extract %arg1[]
// CHECK:         %[[END:.*]] = arith.constant 4 : index
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[N]], %[[END]] : index
// CHECK:         cf.assert %[[INSIDE]], "tensor.extract_slice reaches outside the tensor"
// CHECK:         tensor.extract_slice %arg0[0, %[[N]]] [6, 5] [1, 2]
func.func @runtime_offset(%x: tensor<6x12xf32>, %n: index) -> tensor<6x5xf32> {
  %0 = tensor.extract_slice %x[0, %n] [6, 5] [1, 2] : tensor<6x12xf32> to tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}

// -----

// What is clamped, as JAX does, cannot be outside. A slice that has all of a
// dimension begins at 0, which needs no clamping to be known.

// CHECK-LABEL: func.func @clamped_offsets
// CHECK-NOT:     cf.assert
// CHECK:         %[[AT:.*]] = arith.minsi
// CHECK-NOT:     cf.assert
// CHECK:         tensor.extract_slice %arg0[%[[AT]], 0] [1, 12] [1, 1]
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @clamped_offsets(%x: tensor<6x12xf32>, %n: index, %m: index) -> tensor<1x12xf32> {
  %zero = arith.constant 0 : index
  %last = arith.constant 5 : index
  %1 = arith.maxsi %n, %zero : index
  %2 = arith.minsi %1, %last : index
  %3 = arith.minsi %m, %zero : index
  %4 = arith.maxsi %3, %zero : index
  %0 = tensor.extract_slice %x[%2, %4] [1, 12] [1, 1] : tensor<6x12xf32> to tensor<1x12xf32>
  return %0 : tensor<1x12xf32>
}

// -----

// Clamped to one row too many, and from one side alone: checked.

// CHECK-LABEL: func.func @clamped_beyond
// CHECK-COUNT-2: cf.assert %{{.*}}, "tensor.extract_slice reaches outside the tensor"
func.func @clamped_beyond(%x: tensor<6x12xf32>, %n: index, %m: index) -> tensor<1x4xf32> {
  %zero = arith.constant 0 : index
  %end = arith.constant 6 : index
  %1 = arith.maxsi %n, %zero : index
  %2 = arith.minsi %1, %end : index
  %3 = arith.maxsi %m, %zero : index
  %0 = tensor.extract_slice %x[%2, %3] [1, 4] [1, 1] : tensor<6x12xf32> to tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// CHECK-LABEL: func.func @gather
// CHECK:         linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "parallel"]
// CHECK:           %[[I:.*]] = linalg.index 0
// CHECK:           %[[J:.*]] = linalg.index 1
// CHECK:           %[[ROW:.*]] = tensor.extract %arg1[%[[I]], %{{.*}}] : tensor<3x1xi32>
// CHECK:           %[[AT:.*]] = arith.index_cast %[[ROW]]
// CHECK:           cf.assert %{{.*}}, "coordinate lies outside the tensor"
// CHECK:           tensor.extract %arg0[%[[AT]], %[[J]]] : tensor<6x4xf32>
func.func @gather(%x: tensor<6x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32> {
  %0 = tensor.gather %x[%i] gather_dims([0]) : (tensor<6x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @scatter
// CHECK:         linalg.generic
// CHECK-SAME:      affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-SAME:      affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-SAME:      ["parallel", "parallel", "reduction"]
// CHECK-SAME:      ins(%arg1 : {{.*}}) outs(%arg0 :
func.func @scatter(%x: tensor<6x4xf32>, %y: tensor<3x4xf32>, %i: tensor<3x1xi32>) -> tensor<6x4xf32> {
  %0 = tensor.scatter %y into %x[%i] scatter_dims([0]) unique : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<3x1xi32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @reshape
// CHECK:         tensor.collapse_shape %arg0 {{.*}} into tensor<6xf32>
// CHECK:         tensor.expand_shape %{{.*}} into tensor<3x2xf32>
func.func @reshape(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %shape = arith.constant dense<[3, 2]> : tensor<2xindex>
  %0 = tensor.reshape %x(%shape) : (tensor<2x3xf32>, tensor<2xindex>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// Sizes that a cast forgets are known behind the next one, and to tensor.dim.
// CHECK-LABEL: func.func @casts
// CHECK-NOT:     tensor.cast
// CHECK:         %[[SIZE:.*]] = arith.constant 2 : index
// CHECK:         %[[M:.*]] = tensor.from_elements %[[SIZE]]
// CHECK:         return %arg0, %[[M]]
func.func @casts(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, index) {
  %c0 = arith.constant 0 : index
  %0 = tensor.cast %x : tensor<2x3xf32> to tensor<?x3xf32>
  %rows = tensor.dim %0, %c0 : tensor<?x3xf32>
  %1 = tensor.cast %0 : tensor<?x3xf32> to tensor<2x3xf32>
  return %1, %rows : tensor<2x3xf32>, index
}

// -----

// CHECK-LABEL: func.func @without_elements
// CHECK-SAME:    (%arg0: tensor<0x4xf32> {{.*}}, %arg1: tensor<2x4xf32> {{.*}})
// CHECK-NEXT:    %[[NONE:.*]] = tensor.empty() : tensor<0x4xf32>
// CHECK-NEXT:    return %arg1, %[[NONE]]
func.func @without_elements(%x: tensor<0x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<0x4xf32>) {
  %0 = tensor.concat dim(0) %x, %y : (tensor<0x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = math.exp %x : tensor<0x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<0x4xf32>
}

// -----

// CHECK-LABEL: func.func @two_results
// CHECK:         arith.muli
// CHECK:         arith.shrui
// CHECK:         arith.trunci %{{.*}} : i64 to i32
// CHECK:         math.sin
// CHECK:         math.cos
func.func @two_results(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %low, %high = arith.mulsi_extended %x, %x : tensor<4xi32>
  %s, %c = math.sincos %y : tensor<4xf32>
  return %high, %c : tensor<4xi32>, tensor<4xf32>
}

// -----

// Complex arguments and results have a last dimension of 2.
// CHECK-LABEL: func.func @complex
// CHECK-SAME:    (%arg0: tensor<4x2xf32> {{.*}}) -> tensor<4x2xf32>
// CHECK-DAG:     tensor.extract_slice %arg0[0, 0] [4, 1] [1, 1] : tensor<4x2xf32> to tensor<4xf32>
// CHECK-DAG:     tensor.extract_slice %arg0[0, 1] [4, 1] [1, 1] : tensor<4x2xf32> to tensor<4xf32>
// CHECK-NOT:     complex
// CHECK:         linalg.index 1
// CHECK:         return
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) {
  ^bb0(%a: complex<f32>, %o: complex<f32>):
    %c = complex.conj %a : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// Each part of a complex number is kept.
// CHECK-LABEL: func.func @kept_complex
// CHECK-COUNT-2: tp.kept %{{.*}} : tensor<4xf32>
// CHECK-NOT:     complex
func.func @kept_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = tp.kept %x : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// What all iterations read needs no selection; a side that none takes may read a
// tensor without elements.
// CHECK-LABEL: func.func @known_side
// CHECK:         %[[READ:.*]] = tensor.extract %arg0[%{{.*}}] : tensor<4xf32>
// CHECK-NEXT:    linalg.yield %[[READ]]
func.func @known_side(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c4 = arith.constant 4 : index
  %none = tensor.extract_slice %x[0] [0] [1] : tensor<4xf32> to tensor<0xf32>
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %c = arith.cmpi ult, %i, %c4 : index
    %v = scf.if %c -> (f32) {
      %a = tensor.extract %x[%i] : tensor<4xf32>
      scf.yield %a : f32
    } else {
      %j = arith.subi %i, %c4 : index
      %b = tensor.extract %none[%j] : tensor<0xf32>
      scf.yield %b : f32
    }
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Types lose their signs; a file of what is unsigned outside says so.
// CHECK-LABEL: func.func @signs
// CHECK-SAME:    %arg0: tensor<4xi8> {tp.unsigned}
// CHECK-SAME:    %arg1: tensor<4xi8>
// CHECK-SAME:    -> (tensor<4xi8> {tp.unsigned}, tensor<4xi8>, tensor<i16> {tp.unsigned})
// CHECK-NEXT:    arith.constant dense<-56> : tensor<4xi8>
// CHECK-NOT:     cast
// CHECK:         return
func.func @signs(%x: tensor<4xui8>, %y: tensor<4xsi8>) -> (tensor<4xui8>, tensor<4xsi8>, ui16) {
  %c = arith.constant dense<200> : tensor<4xui8>
  %a = builtin.unrealized_conversion_cast %c : tensor<4xui8> to tensor<4xi8>
  %b = builtin.unrealized_conversion_cast %a : tensor<4xi8> to tensor<4xsi8>
  %n = arith.constant 7 : i16
  %m = builtin.unrealized_conversion_cast %n : i16 to ui16
  return %c, %b, %m : tensor<4xui8>, tensor<4xsi8>, ui16
}

// -----

// Sizes that constants tell are static.
// CHECK-LABEL: func.func @sizes
// CHECK-SAME:    %arg0: tensor<2x6xf32>
// CHECK-SAME:    -> tensor<2x8xf32>
// CHECK:         tensor.extract_slice %arg0[0, 4] [2, 2] [1, 1] : tensor<2x6xf32> to tensor<2x2xf32>
// CHECK:         tensor.concat dim(1) %arg0, %{{.*}} : (tensor<2x6xf32>{{.*}}, tensor<2x2xf32>{{.*}}) -> tensor<2x8xf32>
func.func @sizes(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = tensor.cast %x : tensor<2x?xf32> to tensor<2x6xf32>
  %d = tensor.cast %s : tensor<2x6xf32> to tensor<2x?xf32>
  %n = tensor.dim %d, %c1 : tensor<2x?xf32>
  %m = arith.subi %n, %c4 : index
  %p = tensor.extract_slice %d[0, %c4] [2, %m] [1, 1] : tensor<2x?xf32> to tensor<2x?xf32>
  %y = tensor.concat dim(1) %d, %p : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return %y : tensor<2x?xf32>
}

// -----

// Rows that are numbered one by one are loops: those over the first and the last
// dimension are the result's.
// CHECK-LABEL: func.func @scatter
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, 0, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME:      ins(%{{.*}} : tensor<2x3x4x1x1x1xf32>
// CHECK:           %[[PLACE:.*]] = tensor.extract %arg2[%{{.*}}] : tensor<3xi64>
// CHECK:           cf.assert %{{.*}}, "tm_tensor.scatter writes outside the tensor"
// CHECK:           arith.addf
// CHECK:           arith.select
func.func @scatter(%cache: tensor<2x9x4xf32>, %new: tensor<2x3x4xf32>, %at: tensor<3xi64>) -> tensor<2x9x4xf32> {
  %e = tensor.empty() : tensor<2x3x4xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<2x3x4xi64>) {
  ^bb0(%o: i64):
    %n = linalg.index 0 : index
    %m = arith.index_cast %n : index to i64
    linalg.yield %m : i64
  } -> tensor<2x3x4xi64>
  %j = linalg.broadcast ins(%at : tensor<3xi64>) outs(%e : tensor<2x3x4xi64>) dimensions = [0, 2]
  %k = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<2x3x4xi64>) {
  ^bb0(%o: i64):
    %n = linalg.index 2 : index
    %m = arith.index_cast %n : index to i64
    linalg.yield %m : i64
  } -> tensor<2x3x4xi64>
  %ci = tensor.collapse_shape %i [[0, 1, 2]] : tensor<2x3x4xi64> into tensor<24xi64>
  %cj = tensor.collapse_shape %j [[0, 1, 2]] : tensor<2x3x4xi64> into tensor<24xi64>
  %ck = tensor.collapse_shape %k [[0, 1, 2]] : tensor<2x3x4xi64> into tensor<24xi64>
  %zero = arith.constant dense<0> : tensor<24x3xi64>
  %wi = tensor.insert_slice %ci into %zero[0, 0] [24, 1] [1, 1] : tensor<24xi64> into tensor<24x3xi64>
  %wj = tensor.insert_slice %cj into %wi[0, 1] [24, 1] [1, 1] : tensor<24xi64> into tensor<24x3xi64>
  %w = tensor.insert_slice %ck into %wj[0, 2] [24, 1] [1, 1] : tensor<24xi64> into tensor<24x3xi64>
  %flat = tensor.collapse_shape %new [[0, 1, 2]] : tensor<2x3x4xf32> into tensor<24xf32>
  %slices = tensor.expand_shape %flat [[0, 1, 2, 3]] output_shape [24, 1, 1, 1] : tensor<24xf32> into tensor<24x1x1x1xf32>
  %y = tm_tensor.scatter {dimension_map = array<i64: 0, 1, 2>} unique_indices(false) ins(%slices, %w : tensor<24x1x1x1xf32>, tensor<24x3xi64>) outs(%cache : tensor<2x9x4xf32>) {
  ^bb0(%update: f32, %old: f32):
    %s = arith.addf %update, %old : f32
    tm_tensor.yield %s : f32
  } -> tensor<2x9x4xf32>
  return %y : tensor<2x9x4xf32>
}

// -----

// CHECK-LABEL: func.func @resource
// CHECK:         arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK:         arith.constant dense<[true, false, true, true]> : tensor<4xi1>
func.func @resource() -> (tensor<3xf32>, tensor<4xi1>) {
  %0 = arith.constant dense_resource<floats> : tensor<3xf32>
  %1 = arith.constant dense_resource<flags> : tensor<4xi1>
  return %0, %1 : tensor<3xf32>, tensor<4xi1>
}
{-#
  dialect_resources: {
    builtin: {
      floats: "0x040000000000803F0000004000004040",
      flags: "0x0100000001000101"
    }
  }
#-}

// -----

// Ops of affine are arithmetic: what is no index of a loop may be negative.
// CHECK-LABEL: func.func @affine
// CHECK:         %[[I:.*]] = linalg.index 0
// CHECK-NOT:     affine.
// CHECK:         arith.remui %[[I]]
// CHECK:         %[[GAP:.*]] = arith.addi
// CHECK:         arith.ceildivsi %[[GAP]]
// CHECK:         arith.minsi
// CHECK-NOT:     affine.
func.func @affine(%o: tensor<9xindex>, %n: tensor<index>) -> tensor<9xindex> {
  %k = tensor.extract %n[] : tensor<index>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%o : tensor<9xindex>) {
  ^bb0(%b: index):
    %i = linalg.index 0 : index
    %rest = affine.apply affine_map<(d0) -> (d0 mod 2)>(%i)
    %gap = affine.apply affine_map<(d0)[s0] -> (d0 - s0)>(%rest)[%k]
    %least = affine.min affine_map<(d0, d1) -> (d0 ceildiv 3, d1)>(%gap, %i)
    linalg.yield %least : index
  } -> tensor<9xindex>
  return %y : tensor<9xindex>
}
