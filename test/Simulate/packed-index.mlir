// RUN: tp-opt %s --tp-simulate=report=true -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-insert-collectives --tp-partition -o %t
// RUN: tp-opt %t --tp-simulate="reference=%s report=true" -o /dev/null 2>&1 | FileCheck %s

// 11 rows in segments of 4 and 7, each of them over 3 ranks: chunks of 2 and 3,
// and the last rank has nothing of the first segment. Indices are those of the
// whole, and what lies behind the end of either segment is in no sum.

// CHECK: values agree on 3 ranks

#mesh = #tp.mesh<"tp" = 3>
#r = #tp.layout<#mesh, [replicate]>
#s = #tp.layout<#mesh, [shard<0, segments = [4, 7]>]>
#p = #tp.layout<#mesh, [partial<sum>]>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<11x2xf32, #s>) -> (tensor<11x2xf32, #s>, tensor<2xf32, #p>) {
    %empty = tensor.empty() {tp.strategy = #tp.strategy<#mesh, [split<0, segments = [4, 7]>]>, tp.values = [{id = 0 : i64}]} : tensor<11x2xf32, #s>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<11x2xf32, #s>) outs(%empty : tensor<11x2xf32, #s>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<0, segments = [4, 7]>]>, tp.values = [{id = 1 : i64}]} {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %int = arith.index_cast %i : index to i32
      %number = arith.sitofp %int : i32 to f32
      %b = arith.addf %a, %number : f32
      linalg.yield %b : f32
    } -> tensor<11x2xf32, #s>
    %zero = arith.constant 0.0 : f32
    %none = tensor.empty() {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>, tp.values = [{id = 2 : i64}]} : tensor<2xf32, #p>
    %init = linalg.fill {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>, tp.values = [{id = 3 : i64}]} ins(%zero : f32) outs(%none : tensor<2xf32, #p>) -> tensor<2xf32, #p>
    %z = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
        ins(%x : tensor<11x2xf32, #s>) outs(%init : tensor<2xf32, #p>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<0, segments = [4, 7]>]>, tp.values = [{id = 4 : i64}]} {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %int = arith.index_cast %i : index to i32
      %number = arith.sitofp %int : i32 to f32
      %b = arith.mulf %a, %number : f32
      %sum = arith.addf %o, %b : f32
      linalg.yield %sum : f32
    } -> tensor<2xf32, #p>
    return %y, %z : tensor<11x2xf32, #s>, tensor<2xf32, #p>
  }
}
