// Every op of math on tensors, on 2 and 3 ranks, against upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 270 elements equal in 5 programs

func.func @main(%x: tensor<6xf32> {tp.name = "x"}, %i: tensor<6xi32> {tp.name = "i"}) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi1>, tensor<6xi1>, tensor<6xf32>, tensor<6xf32>) {
  %k0 = math.absf %x : tensor<6xf32>
  %k1 = arith.constant dense<0.125> : tensor<6xf32>
  %k2 = arith.constant dense<0.1> : tensor<6xf32>
  %k3 = arith.mulf %x, %k1 : tensor<6xf32>
  %k4 = math.sin %x : tensor<6xf32>
  %k5 = arith.addf %k0, %k2 : tensor<6xf32>
  %k6 = arith.constant dense<1.0> : tensor<6xf32>
  %k7 = arith.addf %k0, %k6 : tensor<6xf32>
  %v8 = math.absf %x : tensor<6xf32>
  %v9 = math.atan %x : tensor<6xf32>
  %v10 = math.asinh %x : tensor<6xf32>
  %v11 = math.cbrt %x : tensor<6xf32>
  %v12 = math.ceil %x : tensor<6xf32>
  %v13 = math.cos %x : tensor<6xf32>
  %v14 = math.cosh %x : tensor<6xf32>
  %v15 = math.erf %x : tensor<6xf32>
  %v16 = math.erfc %x : tensor<6xf32>
  %v17 = math.exp %x : tensor<6xf32>
  %v18 = math.exp2 %x : tensor<6xf32>
  %v19 = math.expm1 %x : tensor<6xf32>
  %v20 = math.floor %x : tensor<6xf32>
  %v21 = math.round %x : tensor<6xf32>
  %v22 = math.roundeven %x : tensor<6xf32>
  %v23 = math.sin %x : tensor<6xf32>
  %v24 = math.sinh %x : tensor<6xf32>
  %v25 = math.tan %x : tensor<6xf32>
  %v26 = math.tanh %x : tensor<6xf32>
  %v27 = math.trunc %x : tensor<6xf32>
  %v28 = math.log %k5 : tensor<6xf32>
  %v29 = math.log10 %k5 : tensor<6xf32>
  %v30 = math.log1p %k5 : tensor<6xf32>
  %v31 = math.log2 %k5 : tensor<6xf32>
  %v32 = math.rsqrt %k5 : tensor<6xf32>
  %v33 = math.sqrt %k5 : tensor<6xf32>
  %v34 = math.acosh %k7 : tensor<6xf32>
  %v35 = math.acos %k3 : tensor<6xf32>
  %v36 = math.asin %k3 : tensor<6xf32>
  %v37 = math.atanh %k3 : tensor<6xf32>
  %v38 = math.atan2 %x, %k5 : tensor<6xf32>
  %v39 = math.powf %k5, %x : tensor<6xf32>
  %v40 = math.copysign %k5, %x : tensor<6xf32>
  %v41 = math.fma %x, %k5, %k2 : tensor<6xf32>
  %v42 = math.clampf %x to [%k3, %k5] : tensor<6xf32>
  %v43 = math.fpowi %x, %i : tensor<6xf32>, tensor<6xi32>
  %v44 = math.ipowi %i, %i : tensor<6xi32>
  %v45 = math.absi %i : tensor<6xi32>
  %v46 = math.ctlz %i : tensor<6xi32>
  %v47 = math.cttz %i : tensor<6xi32>
  %v48 = math.ctpop %i : tensor<6xi32>
  %k49 = arith.divf %k2, %k3 : tensor<6xf32>
  %v50 = math.isfinite %k49 : tensor<6xf32>
  %v52 = math.isnan %k49 : tensor<6xf32>
  %sine, %cosine = math.sincos %x : tensor<6xf32>
  return %v8, %v9, %v10, %v11, %v12, %v13, %v14, %v15, %v16, %v17, %v18, %v19, %v20, %v21, %v22, %v23, %v24, %v25, %v26, %v27, %v28, %v29, %v30, %v31, %v32, %v33, %v34, %v35, %v36, %v37, %v38, %v39, %v40, %v41, %v42, %v43, %v44, %v45, %v46, %v47, %v48, %v50, %v52, %sine, %cosine : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi1>, tensor<6xi1>, tensor<6xf32>, tensor<6xf32>
}
