// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// Every attribute, printed and read again.

// CHECK-DAG: #[[TP:.*]] = #tp.mesh<"tp" = 4>
// CHECK-DAG: #[[GRID:.*]] = #tp.mesh<"dp" = 2, "tp" = 4>
// CHECK-DAG: #[[ORDERED:.*]] = #tp.mesh<"dp" = 2, "tp" = 2, devices = [0, 2, 1, 3]>
#tp = #tp.mesh<"tp" = 4>
#grid = #tp.mesh<"dp" = 2, "tp" = 4>
#ordered = #tp.mesh<"dp" = 2, "tp" = 2, devices = [0, 2, 1, 3]>

// CHECK-LABEL: func.func private @meshes()
// CHECK-SAME: attributes {a = #[[TP]], b = #[[GRID]], c = #[[ORDERED]]}
func.func private @meshes() attributes {a = #tp, b = #grid, c = #ordered}

// CHECK-LABEL: func.func private @layouts(
// CHECK-SAME: tensor<8x16xf32, #tp.layout<#[[TP]], [replicate]>>
// CHECK-SAME: tensor<8x16xf32, #tp.layout<#[[TP]], [shard<1>]>>
// CHECK-SAME: tensor<8x16xf32, #tp.layout<#[[GRID]], [shard<0>, partial<max>]>>
// CHECK-SAME: tensor<8x10xf32, #tp.layout<#[[TP]], [shard<1, unit = 5>]>>
// CHECK-SAME: tensor<8x16xf32, #tp.layout<#[[TP]], [shard<1, segments = [8, 4, 4]>]>>
func.func private @layouts(
    tensor<8x16xf32, #tp.layout<#tp, [replicate]>>,
    tensor<8x16xf32, #tp.layout<#tp, [shard<1>]>>,
    tensor<8x16xf32, #tp.layout<#grid, [shard<0>, partial<max>]>>,
    tensor<8x10xf32, #tp.layout<#tp, [shard<1, unit = 5>]>>,
    tensor<8x16xf32, #tp.layout<#tp, [shard<1, segments = [8, 4, 4]>]>>)

// Mesh order needs no names, other orders and sub-axes do.
// CHECK-LABEL: func.func private @orders(
// CHECK-SAME: #tp.layout<#[[GRID]], [shard<0>, shard<0>]>
// CHECK-SAME: #tp.layout<#[[GRID]], ["tp" = shard<0>, "dp" = shard<0>]>
// CHECK-SAME: #tp.layout<#[[TP]], ["tp":1:2 = shard<0>, "tp":2:2 = replicate]>
func.func private @orders(
    tensor<8xf32, #tp.layout<#grid, ["dp" = shard<0>, "tp" = shard<0>]>>,
    tensor<8xf32, #tp.layout<#grid, ["tp" = shard<0>, "dp" = shard<0>]>>,
    tensor<8xf32, #tp.layout<#tp, ["tp":1:2 = shard<0>, "tp":2:2 = replicate]>>)

// CHECK-LABEL: func.func private @others()
// CHECK-SAME: axes = #tp.axes<#[[GRID]], ["tp", "dp"]>
// CHECK-SAME: back = #tp.placement<shard<-1>>
// CHECK-SAME: part = #tp.axes<#[[TP]], ["tp":1:2]>
// CHECK-SAME: partial = #tp.placement<partial<avg>>
// CHECK-SAME: reduction = #tp.reduction<product>
// CHECK-SAME: strategy = #tp.strategy<#[[GRID]], [split<2>, passthrough<min, [0, 3]>]>
func.func private @others() attributes {
  axes = #tp.axes<#grid, ["tp", "dp"]>, part = #tp.axes<#tp, ["tp":1:2]>,
  back = #tp.placement<shard<-1>>, partial = #tp.placement<partial<avg>>,
  reduction = #tp.reduction<product>,
  strategy = #tp.strategy<#grid, [split<2>, passthrough<min, [0, 3]>]>}
