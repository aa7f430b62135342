// RUN: tp-opt %s --tp-simulate=report=true -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-insert-collectives --tp-partition -o %t
// RUN: tp-opt %t --tp-simulate="reference=%s report=true" -o /dev/null 2>&1 | FileCheck %s

// 10 rows over 2 x 3 ranks: chunks of 5, and of 2 in each of them; the last
// chunk of the first 5 must not reach into the next 5.

// CHECK: 3 values agree on 6 ranks

#mesh = #tp.mesh<"dp" = 2, "tp" = 3>
#r = #tp.layout<#mesh, [replicate, replicate]>
#s = #tp.layout<#mesh, [shard<0>, shard<0>]>
#p = #tp.layout<#mesh, [partial<sum>, partial<sum>]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<40xi64, #r>, %table: tensor<10x6xf32, #s>) -> tensor<40x6xf32, #r> {
    %empty = tensor.empty() {tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>, passthrough<sum, []>]>, tp.values = [{id = 0 : i64}]} : tensor<40x6xf32, #p>
    %y = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]}
        ins(%ids : tensor<40xi64, #r>) outs(%empty : tensor<40x6xf32, #p>) attrs = {tp.strategy = #tp.strategy<#mesh, [split<2>, split<2>]>, tp.values = [{id = 1 : i64}]} {
    ^bb0(%in: i64, %out: f32):
      %row = arith.index_cast %in : i64 to index
      %column = linalg.index 1 : index
      %0 = tensor.extract %table[%row, %column] : tensor<10x6xf32, #s>
      linalg.yield %0 : f32
    } -> tensor<40x6xf32, #p>
    %z = tp.redistribute %y : tensor<40x6xf32, #p> to tensor<40x6xf32, #r>
    return %z : tensor<40x6xf32, #r>
  }
}
