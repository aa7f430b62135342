// RUN: tp-opt %s --tp-legalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @upward
// CHECK:         %[[NEAREST:.*]] = arith.truncf %[[X:.*]] : f32 to f16
// CHECK-DAG:     %[[BITS:.*]] = arith.bitcast %[[NEAREST]] : f16 to i16
// CHECK-DAG:     %[[BACK:.*]] = arith.extf %[[NEAREST]] : f16 to f32
// CHECK-DAG:     arith.cmpf olt, %[[X]]
// CHECK:         %[[MOVED:.*]] = arith.bitcast %{{.*}} : i16 to f16
// CHECK:         arith.select %{{.*}}, %[[MOVED]], %[[NEAREST]] : f16
// CHECK-NOT:     upward
func.func @upward(%x: tensor<4xf32>) -> tensor<4xf16> {
  %y = arith.truncf %x upward : tensor<4xf32> to tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// CHECK-LABEL: func.func @nearest
// CHECK:         arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:    linalg.yield
func.func @nearest(%x: tensor<4xf32>) -> tensor<4xf16> {
  %y = arith.truncf %x to_nearest_even : tensor<4xf32> to tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

// What only permits other results goes.
// CHECK-LABEL: func.func @permissions
// CHECK:         arith.addf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
// CHECK:         arith.addi %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i32
// CHECK:         arith.shrui %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i32
// CHECK:         math.exp %{{[a-z0-9_]+}} : f32
// CHECK:         arith.truncf %{{[a-z0-9_]+}} : f32 to f16
func.func @permissions(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf16>) {
  %a = arith.addf %x, %x fastmath<fast> : tensor<4xf32>
  %b = arith.addi %n, %n overflow<nsw, nuw> : tensor<4xi32>
  %c = arith.shrui %b, %n exact : tensor<4xi32>
  %e = math.exp %a fastmath<nnan> : tensor<4xf32>
  %h = arith.truncf %e fastmath<ninf> : tensor<4xf32> to tensor<4xf16>
  return %c, %h : tensor<4xi32>, tensor<4xf16>
}
