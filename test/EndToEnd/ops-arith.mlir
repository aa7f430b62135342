// Every op of arith on tensors, along every dimension on 2 and 3 ranks, against
// upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 5256 elements equal in 7 programs

func.func @main(%x: tensor<6x12xf32> {tp.name = "x"}, %y: tensor<6x12xf32> {tp.name = "y"}, %i: tensor<6x12xi32> {tp.name = "i"}, %j: tensor<6x12xi32> {tp.name = "j"}, %b: tensor<6x12xi1> {tp.name = "b"}, %n: tensor<6x12xindex> {tp.name = "n"}) -> (tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xf32>, tensor<6x12xi64>, tensor<6x12xi64>, tensor<6x12xi8>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xf64>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xindex>, tensor<6x12xi32>, tensor<6x12xi1>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>) {
  %k0 = arith.constant dense<0.5> : tensor<6x12xf32>
  %k1 = arith.constant dense<5> : tensor<6x12xi32>
  %k2 = arith.constant dense<1> : tensor<6x12xi32>
  %k3 = arith.addi %j, %k2 : tensor<6x12xi32>
  %k4 = arith.subi %i, %k2 : tensor<6x12xi32>
  %v5 = arith.addf %x, %y : tensor<6x12xf32>
  %v6 = arith.subf %x, %y : tensor<6x12xf32>
  %v7 = arith.mulf %x, %y : tensor<6x12xf32>
  %v8 = arith.maximumf %x, %y : tensor<6x12xf32>
  %v9 = arith.minimumf %x, %y : tensor<6x12xf32>
  %v10 = arith.maxnumf %x, %y : tensor<6x12xf32>
  %v11 = arith.minnumf %x, %y : tensor<6x12xf32>
  %k12 = arith.select %b, %x, %k0 : tensor<6x12xi1>, tensor<6x12xf32>
  %v13 = arith.divf %x, %k0 : tensor<6x12xf32>
  %v14 = arith.remf %x, %k0 : tensor<6x12xf32>
  %v15 = arith.negf %x : tensor<6x12xf32>
  %v16 = arith.addi %k4, %j : tensor<6x12xi32>
  %v17 = arith.subi %k4, %j : tensor<6x12xi32>
  %v18 = arith.muli %k4, %j : tensor<6x12xi32>
  %v19 = arith.andi %k4, %j : tensor<6x12xi32>
  %v20 = arith.ori %k4, %j : tensor<6x12xi32>
  %v21 = arith.xori %k4, %j : tensor<6x12xi32>
  %v22 = arith.maxsi %k4, %j : tensor<6x12xi32>
  %v23 = arith.maxui %k4, %j : tensor<6x12xi32>
  %v24 = arith.minsi %k4, %j : tensor<6x12xi32>
  %v25 = arith.minui %k4, %j : tensor<6x12xi32>
  %v26 = arith.divsi %k4, %k3 : tensor<6x12xi32>
  %v27 = arith.divui %k4, %k3 : tensor<6x12xi32>
  %v28 = arith.ceildivsi %k4, %k3 : tensor<6x12xi32>
  %v29 = arith.ceildivui %k4, %k3 : tensor<6x12xi32>
  %v30 = arith.floordivsi %k4, %k3 : tensor<6x12xi32>
  %v31 = arith.remsi %k4, %k3 : tensor<6x12xi32>
  %v32 = arith.remui %k4, %k3 : tensor<6x12xi32>
  %v33 = arith.shli %k4, %k3 : tensor<6x12xi32>
  %v34 = arith.shrsi %k4, %k3 : tensor<6x12xi32>
  %v35 = arith.shrui %k4, %k3 : tensor<6x12xi32>
  %v36 = arith.cmpf oeq, %x, %y : tensor<6x12xf32>
  %v37 = arith.cmpf ogt, %x, %y : tensor<6x12xf32>
  %v38 = arith.cmpf oge, %x, %y : tensor<6x12xf32>
  %v39 = arith.cmpf olt, %x, %y : tensor<6x12xf32>
  %v40 = arith.cmpf ole, %x, %y : tensor<6x12xf32>
  %v41 = arith.cmpf one, %x, %y : tensor<6x12xf32>
  %v42 = arith.cmpf ord, %x, %y : tensor<6x12xf32>
  %v43 = arith.cmpf ueq, %x, %y : tensor<6x12xf32>
  %v44 = arith.cmpf ugt, %x, %y : tensor<6x12xf32>
  %v45 = arith.cmpf uge, %x, %y : tensor<6x12xf32>
  %v46 = arith.cmpf ult, %x, %y : tensor<6x12xf32>
  %v47 = arith.cmpf ule, %x, %y : tensor<6x12xf32>
  %v48 = arith.cmpf une, %x, %y : tensor<6x12xf32>
  %v49 = arith.cmpf uno, %x, %y : tensor<6x12xf32>
  %v50 = arith.cmpi eq, %k4, %j : tensor<6x12xi32>
  %v51 = arith.cmpi ne, %k4, %j : tensor<6x12xi32>
  %v52 = arith.cmpi slt, %k4, %j : tensor<6x12xi32>
  %v53 = arith.cmpi sle, %k4, %j : tensor<6x12xi32>
  %v54 = arith.cmpi sgt, %k4, %j : tensor<6x12xi32>
  %v55 = arith.cmpi sge, %k4, %j : tensor<6x12xi32>
  %v56 = arith.cmpi ult, %k4, %j : tensor<6x12xi32>
  %v57 = arith.cmpi ule, %k4, %j : tensor<6x12xi32>
  %v58 = arith.cmpi ugt, %k4, %j : tensor<6x12xi32>
  %v59 = arith.cmpi uge, %k4, %j : tensor<6x12xi32>
  %v60 = arith.select %b, %x, %y : tensor<6x12xi1>, tensor<6x12xf32>
  %v61 = arith.extsi %k4 : tensor<6x12xi32> to tensor<6x12xi64>
  %v62 = arith.extui %k4 : tensor<6x12xi32> to tensor<6x12xi64>
  %v63 = arith.trunci %k4 : tensor<6x12xi32> to tensor<6x12xi8>
  %v64 = arith.sitofp %k4 : tensor<6x12xi32> to tensor<6x12xf32>
  %v65 = arith.uitofp %k4 : tensor<6x12xi32> to tensor<6x12xf32>
  %v66 = arith.fptosi %x : tensor<6x12xf32> to tensor<6x12xi32>
  %k67 = arith.mulf %x, %x : tensor<6x12xf32>
  %v68 = arith.fptoui %k67 : tensor<6x12xf32> to tensor<6x12xi32>
  %v69 = arith.extf %x : tensor<6x12xf32> to tensor<6x12xf64>
  %v70 = arith.truncf %v69 : tensor<6x12xf64> to tensor<6x12xf32>
  %v71 = arith.bitcast %x : tensor<6x12xf32> to tensor<6x12xi32>
  %v72 = arith.index_cast %n : tensor<6x12xindex> to tensor<6x12xi32>
  %v73 = arith.index_castui %i : tensor<6x12xi32> to tensor<6x12xindex>
  %sum, %carry = arith.addui_extended %k4, %k3 : tensor<6x12xi32>, tensor<6x12xi1>
  %slow, %shigh = arith.mulsi_extended %k4, %k3 : tensor<6x12xi32>
  %ulow, %uhigh = arith.mului_extended %k4, %k3 : tensor<6x12xi32>
  return %v5, %v6, %v7, %v8, %v9, %v10, %v11, %v13, %v14, %v15, %v16, %v17, %v18, %v19, %v20, %v21, %v22, %v23, %v24, %v25, %v26, %v27, %v28, %v29, %v30, %v31, %v32, %v33, %v34, %v35, %v36, %v37, %v38, %v39, %v40, %v41, %v42, %v43, %v44, %v45, %v46, %v47, %v48, %v49, %v50, %v51, %v52, %v53, %v54, %v55, %v56, %v57, %v58, %v59, %v60, %v61, %v62, %v63, %v64, %v65, %v66, %v68, %v69, %v70, %v71, %v72, %v73, %sum, %carry, %slow, %shigh, %ulow, %uhigh : tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xi1>, tensor<6x12xf32>, tensor<6x12xi64>, tensor<6x12xi64>, tensor<6x12xi8>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xf64>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xindex>, tensor<6x12xi32>, tensor<6x12xi1>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6x12xi32>
}
