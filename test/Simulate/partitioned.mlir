// RUN: split-file %s %t
// RUN: tp-opt %t/reference.mlir --tp-simulate=report=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFERENCE
// RUN: tp-opt %t/right.mlir --tp-simulate="reference=%t/reference.mlir report=true" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RUN: not tp-opt %t/offset.mlir --tp-simulate=reference=%t/reference.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=OFFSET
// RUN: not tp-opt %t/padding.mlir --tp-simulate=reference=%t/reference.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=PADDING
// RUN: not tp-opt %t/shape.mlir --tp-simulate=reference=%t/reference.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHAPE

// REFERENCE: 5 values agree on 2 ranks
// RIGHT: 3 values agree on 2 ranks
// OFFSET: 'linalg.generic' op result 0, element [4]: expected 4, rank 1 has 0
// OFFSET: this op made the global value
// PADDING: 'linalg.generic' op result 0: expected 0.125, the partial values of ranks 0, 1 combine to nan (sum)
// SHAPE: 'linalg.generic' op result 0 is a 'tensor<4xi64>', expected the part of 'tensor<7xf32>'

//--- reference.mlir
#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#p = #tp.layout<#mesh, [partial<sum>]>
#r = #tp.layout<#mesh, [replicate]>
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<7xf32, #s0>) -> tensor<f32, #r> {
  %zero = arith.constant dense<0.0> : tensor<f32, #p>
  %empty = tensor.empty() : tensor<7xi64, #s0>
  %positions = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<7xi64, #s0>)
      attrs = {tp.strategy = #tp.strategy<#mesh, [split<0>]>, tp.values = [{id = 1 : i64}]} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<7xi64, #s0>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<7xf32, #s0>) outs(%zero : tensor<f32, #p>)
      attrs = {tp.strategy = #tp.strategy<#mesh, [split<0>]>, tp.values = [{id = 2 : i64}]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32, #p>
  %y = tp.all_reduce sum %sum over <#mesh, ["tp"]> : tensor<f32, #p> -> tensor<f32, #r>
  return %y : tensor<f32, #r>
}

//--- right.mlir
#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#p = #tp.layout<#mesh, [partial<sum>]>
#r = #tp.layout<#mesh, [replicate]>
#id = affine_map<(i) -> (i)>
module attributes {tp.mesh = #mesh} {
func.func @main(%x: tensor<4xf32> {tp.layout = #s0, tp.global_type = tensor<7xf32>}) -> (tensor<f32> {tp.layout = #r, tp.global_type = tensor<f32>}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %f0 = arith.constant 0.0 : f32
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %rank = tp.axis_index over <#mesh, ["tp"]> : index
  %offset = arith.muli %rank, %c4 : index
  %empty = tensor.empty() : tensor<4xi64>
  %positions = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<4xi64>)
      attrs = {tp.values = [{id = 1 : i64, layout = #s0, type = tensor<7xi64>}]} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %g = arith.addi %i, %offset : index
    %0 = arith.index_cast %g : index to i64
    linalg.yield %0 : i64
  } -> tensor<4xi64>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>)
      attrs = {tp.values = [{id = 2 : i64, layout = #p, type = tensor<f32>}]} {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %g = arith.addi %i, %offset : index
    %valid = arith.cmpi slt, %g, %c7 : index
    %v = arith.select %valid, %in, %f0 : f32
    %0 = arith.addf %v, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %y = tp.all_reduce sum %sum over <#mesh, ["tp"]> : tensor<f32> -> tensor<f32>
  return %y : tensor<f32>
}
}

//--- offset.mlir
#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#r = #tp.layout<#mesh, [replicate]>
#id = affine_map<(i) -> (i)>
module attributes {tp.mesh = #mesh} {
func.func @main(%x: tensor<4xf32> {tp.layout = #s0, tp.global_type = tensor<7xf32>}) -> (tensor<f32> {tp.layout = #r, tp.global_type = tensor<f32>}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<4xi64>
  %positions = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<4xi64>)
      attrs = {tp.values = [{id = 1 : i64, layout = #s0, type = tensor<7xi64>}]} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<4xi64>
  return %zero : tensor<f32>
}
}

//--- padding.mlir
// The padding of the last rank is summed up too.
#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#p = #tp.layout<#mesh, [partial<sum>]>
#r = #tp.layout<#mesh, [replicate]>
#id = affine_map<(i) -> (i)>
module attributes {tp.mesh = #mesh} {
func.func @main(%x: tensor<4xf32> {tp.layout = #s0, tp.global_type = tensor<7xf32>}) -> (tensor<f32> {tp.layout = #r, tp.global_type = tensor<f32>}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%zero : tensor<f32>)
      attrs = {tp.values = [{id = 2 : i64, layout = #p, type = tensor<f32>}]} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}
}

//--- shape.mlir
#mesh = #tp.mesh<"tp" = 2>
#s0 = #tp.layout<#mesh, [shard<0>]>
#r = #tp.layout<#mesh, [replicate]>
#id = affine_map<(i) -> (i)>
module attributes {tp.mesh = #mesh} {
func.func @main(%x: tensor<4xf32> {tp.layout = #s0, tp.global_type = tensor<7xf32>}) -> (tensor<f32> {tp.layout = #r, tp.global_type = tensor<f32>}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<4xi64>
  %positions = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<4xi64>)
      attrs = {tp.values = [{id = 1 : i64, layout = #s0, type = tensor<7xf32>}]} {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<4xi64>
  return %zero : tensor<f32>
}
}
