// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-propagate --tp-materialize --tp-insert-collectives --split-input-file | FileCheck %s --check-prefix=COLLECTIVES
// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives --tp-simulate --split-input-file -o /dev/null

// A plan that splits nothing but the batch over dp asks for data parallelism: ranks keep
// their rows, however few bytes the rows are, and reduce the weight's gradient. The two
// sums over all rows are reduced too, not made of all rows.

// CHECK-LABEL: @main
// CHECK-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "x"
// CHECK: linalg.generic {{.*}}tensor<4x64xf32>{{.*}} tp.strategy = #tp.strategy<#mesh, [split<0>]>

// COLLECTIVES-LABEL: @main
// COLLECTIVES-NOT: tp.all_gather
// COLLECTIVES: tp.all_reduce {{.*}} : tensor<f32
// COLLECTIVES: tp.all_reduce {{.*}} : tensor<128x64xf32
// COLLECTIVES-NOT: tp.all_gather
// COLLECTIVES: return

#mesh = #tp.mesh<"dp" = 2>
#x = affine_map<(b, o, i) -> (b, i)>
#w = affine_map<(b, o, i) -> (o, i)>
#y = affine_map<(b, o, i) -> (b, o)>
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4x64xf32> {tp.kind = "user_input", tp.name = "x", tp.pin = {dp = #tp.placement<shard<0>>}},
                  %w: tensor<128x64xf32> {tp.kind = "parameter", tp.name = "w"})
      -> (tensor<f32> {tp.kind = "loss", tp.name = "loss", tp.pin = {dp = #tp.placement<replicate>}},
          tensor<128x64xf32> {tp.kind = "new_parameter", tp.name = "w", tp.pin = {dp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %ey = tensor.empty() : tensor<4x128xf32>
    %iy = linalg.fill ins(%zero : f32) outs(%ey : tensor<4x128xf32>) -> tensor<4x128xf32>
    %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<128x64xf32>) outs(%iy : tensor<4x128xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x128xf32>
    %el = tensor.empty() : tensor<f32>
    %il = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
    %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<4x128xf32>) outs(%il : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %p = arith.mulf %a, %a : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %eg = tensor.empty() : tensor<128x64xf32>
    %ig = linalg.fill ins(%zero : f32) outs(%eg : tensor<128x64xf32>) -> tensor<128x64xf32>
    %g = linalg.generic {indexing_maps = [#y, #x, #w], iterator_types = ["reduction", "parallel", "parallel"]} ins(%y, %x : tensor<4x128xf32>, tensor<4x64xf32>) outs(%ig : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    %eu = tensor.empty() : tensor<128x64xf32>
    %u = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %g : tensor<128x64xf32>, tensor<128x64xf32>) outs(%eu : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    return %loss, %u : tensor<f32>, tensor<128x64xf32>
  }
}

// -----

// Optimizer states may be split over dp as well: the gradient is scattered, and of what
// becomes of the weight every rank gets all. The batch stays where it is.

// CHECK-LABEL: @states
// CHECK-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "x"

// COLLECTIVES-LABEL: @states
// COLLECTIVES-NOT: tp.all_gather
// COLLECTIVES: tp.reduce_scatter {{.*}} : tensor<128x64xf32
// COLLECTIVES: tp.all_gather {{.*}} : tensor<128x64xf32
// COLLECTIVES-NOT: tp.all_gather
// COLLECTIVES: return

#mesh = #tp.mesh<"dp" = 2>
#x = affine_map<(b, o, i) -> (b, i)>
#w = affine_map<(b, o, i) -> (o, i)>
#y = affine_map<(b, o, i) -> (b, o)>
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
module attributes {tp.mesh = #mesh} {
  func.func @states(%x: tensor<4x64xf32> {tp.kind = "user_input", tp.name = "x", tp.pin = {dp = #tp.placement<shard<0>>}},
                  %w: tensor<128x64xf32> {tp.kind = "parameter", tp.name = "w"},
                    %m: tensor<128x64xf32> {tp.kind = "opt_exp_avg", tp.name = "w", tp.pin = {dp = #tp.placement<shard<0>>}})
      -> (tensor<f32> {tp.kind = "loss", tp.name = "loss", tp.pin = {dp = #tp.placement<replicate>}},
          tensor<128x64xf32> {tp.kind = "new_parameter", tp.name = "w", tp.pin = {dp = #tp.placement<replicate>}},
          tensor<128x64xf32> {tp.kind = "new_exp_avg", tp.name = "w", tp.pin = {dp = #tp.placement<shard<0>>}}) {
    %zero = arith.constant 0.0 : f32
    %ey = tensor.empty() : tensor<4x128xf32>
    %iy = linalg.fill ins(%zero : f32) outs(%ey : tensor<4x128xf32>) -> tensor<4x128xf32>
    %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<128x64xf32>) outs(%iy : tensor<4x128xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x128xf32>
    %el = tensor.empty() : tensor<f32>
    %il = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
    %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<4x128xf32>) outs(%il : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %p = arith.mulf %a, %a : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %eg = tensor.empty() : tensor<128x64xf32>
    %ig = linalg.fill ins(%zero : f32) outs(%eg : tensor<128x64xf32>) -> tensor<128x64xf32>
    %g = linalg.generic {indexing_maps = [#y, #x, #w], iterator_types = ["reduction", "parallel", "parallel"]} ins(%y, %x : tensor<4x128xf32>, tensor<4x64xf32>) outs(%ig : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    %eu = tensor.empty() : tensor<128x64xf32>
    %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %g : tensor<128x64xf32>, tensor<128x64xf32>) outs(%eu : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    %u = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %n : tensor<128x64xf32>, tensor<128x64xf32>) outs(%eu : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    return %loss, %u, %n : tensor<f32>, tensor<128x64xf32>, tensor<128x64xf32>
  }
}

// -----

// Rows that are compared with all rows have to move: columns are added up. That is no reason
// to gather them and to compute the product with all of them on every rank, though it would
// send no gradient.

// CHECK-LABEL: @compared
// CHECK: linalg.generic {{.*}}tensor<4x64xf32>, tensor<128x64xf32>{{.*}} tp.strategy = #tp.strategy<#mesh, [split<0>]>

// COLLECTIVES-LABEL: @compared
// COLLECTIVES-NOT: tp.all_gather
// COLLECTIVES-DAG: tp.all_to_all {{.*}} : tensor<4x64xf32
// COLLECTIVES-DAG: tp.all_reduce {{.*}} : tensor<f32
// COLLECTIVES-DAG: tp.all_reduce {{.*}} : tensor<128x64xf32
// COLLECTIVES: return

#mesh = #tp.mesh<"dp" = 2>
#one = affine_map<(b, o, i) -> (b, i)>
#other = affine_map<(b, o, i) -> (o, i)>
#both = affine_map<(b, o, i) -> (b, o)>
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
module attributes {tp.mesh = #mesh} {
  func.func @compared(%x: tensor<4x64xf32> {tp.kind = "user_input", tp.name = "x", tp.pin = {dp = #tp.placement<shard<0>>}},
                      %w: tensor<128x64xf32> {tp.kind = "parameter", tp.name = "w"})
      -> (tensor<f32> {tp.kind = "loss", tp.name = "loss", tp.pin = {dp = #tp.placement<replicate>}},
          tensor<128x64xf32> {tp.kind = "new_parameter", tp.name = "w", tp.pin = {dp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %ed = tensor.empty() : tensor<4x4xf32>
    %id = linalg.fill ins(%zero : f32) outs(%ed : tensor<4x4xf32>) -> tensor<4x4xf32>
    %d = linalg.generic {indexing_maps = [#one, #other, #both], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<4x64xf32>, tensor<4x64xf32>) outs(%id : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x4xf32>
    %el = tensor.empty() : tensor<f32>
    %il = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
    %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%d : tensor<4x4xf32>) outs(%il : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %ey = tensor.empty() : tensor<4x128xf32>
    %iy = linalg.fill ins(%zero : f32) outs(%ey : tensor<4x128xf32>) -> tensor<4x128xf32>
    %y = linalg.generic {indexing_maps = [#one, #other, #both], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64xf32>, tensor<128x64xf32>) outs(%iy : tensor<4x128xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x128xf32>
    %eg = tensor.empty() : tensor<128x64xf32>
    %ig = linalg.fill ins(%zero : f32) outs(%eg : tensor<128x64xf32>) -> tensor<128x64xf32>
    %g = linalg.generic {indexing_maps = [#both, #one, #other], iterator_types = ["reduction", "parallel", "parallel"]} ins(%y, %x : tensor<4x128xf32>, tensor<4x64xf32>) outs(%ig : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    %eu = tensor.empty() : tensor<128x64xf32>
    %u = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %g : tensor<128x64xf32>, tensor<128x64xf32>) outs(%eu : tensor<128x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<128x64xf32>
    return %loss, %u : tensor<f32>, tensor<128x64xf32>
  }
}
