// RUN: split-file %s %t
// RUN: tp-opt %t/model.mlir --tp-apply-plan='plan=%t/own.mlir report=-' -o %t/own.pinned | FileCheck %s --check-prefix=OWN
// RUN: tp-opt %t/model.mlir --tp-apply-plan='plan=%t/transformers.mlir report=-' -o %t/transformers.pinned | FileCheck %s --check-prefix=THEIRS
// RUN: grep -v tp.bindings %t/own.pinned > %t/own.pins
// RUN: grep -v tp.bindings %t/transformers.pinned | diff - %t/own.pins
// RUN: FileCheck %s --input-file=%t/own.pinned --check-prefix=PINNED
// RUN: tp-compile %t/model.mlir --plan=%t/own.mlir --no-implicit-collectives --verify --explain=%t/why -o %t/own.tp 2>&1 | count 1
// RUN: FileCheck %s --input-file=%t/why --check-prefix=WHY
// RUN: tp-compile %t/model.mlir --plan=%t/own.mlir --mesh=ep=3 --verify -o %t/uneven.tp 2>&1 | count 1
// RUN: tp-compile %t/model.mlir --plan=%t/both.mlir --no-implicit-collectives --verify --explain=%t/both -o %t/both.tp 2>&1 | count 1
// RUN: FileCheck %s --input-file=%t/both --check-prefix=BOTH
// RUN: tp-opt %t/model.mlir --tp-apply-plan=plan=%t/by-expert.mlir | FileCheck %s --check-prefix=BY-EXPERT

// What is stacked over the four experts is sharded, the scale of all is not.
// OWN:      ep: "mlp.experts" expert_parallel
// OWN-NEXT:   'mlp.experts'
// OWN-NEXT:     parameter   4x6x4          shard<0>    mlp.experts.up
// OWN-NEXT:     parameter   4x4x6          shard<0>    mlp.experts.down
// OWN-NEXT:     parameter   4x4            shard<0>    mlp.experts.bias
// OWN-NEXT:     output      3x4            replicate   sum

// THEIRS:      ep: "mlp.experts.up" grouped_gemm
// THEIRS-NEXT:   'mlp.experts.up'
// THEIRS-NEXT:     parameter   4x6x4          shard<0>    mlp.experts.up
// THEIRS:      ep: "mlp.experts" ep_dispatch_experts

// PINNED: "mlp.experts.scale", tp.pin = {ep = #tp.placement<replicate>}
// PINNED: tp.constrain %{{.*}} on "ep" of #mesh to replicate view [3, 4] lazy at "mlp.experts" "output"

// WHY: all_reduce over ep at mlp.experts sum: f32, 72 bytes
// WHY-NEXT: for output of mlp.experts
// WHY: 1 0 72 {{.*}} in all

// The inner width is sharded on another axis; both sums are added up at once.
// BOTH: all_reduce over ep, tp at mlp.experts sum: f32, 72 bytes
// BOTH: 1 0 72 {{.*}} in all

// BY-EXPERT: tp.constrain %{{.*}} on "ep" of #mesh to shard<1> view [3, 4] at "mlp.experts" "input" : tensor<3x4xf32>
// BY-EXPERT: tp.constrain %{{.*}} on "ep" of #mesh to shard<0> view [3, 4] at "mlp.experts" "output" : tensor<3x4xf32>

//--- model.mlir
#ti = affine_map<(t, e, o, i) -> (t, i)>
#eoi = affine_map<(t, e, o, i) -> (e, o, i)>
#teo = affine_map<(t, e, o, i) -> (t, e, o)>
#tei = affine_map<(t, e, o, i) -> (t, e, i)>
#all = affine_map<(t, e, o) -> (t, e, o)>
#eo = affine_map<(t, e, o) -> (e, o)>
#te = affine_map<(t, e, o) -> (t, e)>
#to = affine_map<(t, e, o) -> (t, o)>
#one = affine_map<(t, e, o) -> (0)>
module attributes {tp.modules = [
    {name = "mlp", class = "Mixture", inputs = ["x"], outputs = ["sum"], input_names = ["x"]},
    {name = "mlp.experts", class = "Experts", inputs = ["x", "r"], outputs = ["sum"], input_names = ["x", "r"]}]} {
  func.func @main(%up: tensor<4x6x4xf32> {tp.name = "mlp.experts.up", tp.kind = "parameter"},
                  %down: tensor<4x4x6xf32> {tp.name = "mlp.experts.down", tp.kind = "parameter"},
                  %bias: tensor<4x4xf32> {tp.name = "mlp.experts.bias", tp.kind = "parameter"},
                  %scale: tensor<1xf32> {tp.name = "mlp.experts.scale", tp.kind = "parameter"},
                  %x: tensor<3x4xf32> {tp.name = "x", tp.kind = "user_input"},
                  %r: tensor<3x4xf32> {tp.name = "r", tp.kind = "user_input"}) -> (tensor<3x4xf32> {tp.name = "y"}) {
    %zero = arith.constant 0.0 : f32
    %e6 = tensor.empty() : tensor<3x4x6xf32>
    %i6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
    %h = linalg.generic {indexing_maps = [#ti, #eoi, #teo], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %up : tensor<3x4xf32>, tensor<4x6x4xf32>) outs(%i6 : tensor<3x4x6xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x4x6xf32> loc("mlp.experts"("up"))
    %a6 = linalg.exp ins(%h : tensor<3x4x6xf32>) outs(%e6 : tensor<3x4x6xf32>) -> tensor<3x4x6xf32> loc("mlp.experts"("exp"))
    %e4 = tensor.empty() : tensor<3x4x4xf32>
    %i4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
    %m = linalg.generic {indexing_maps = [#tei, #eoi, #teo], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a6, %down : tensor<3x4x6xf32>, tensor<4x4x6xf32>) outs(%i4 : tensor<3x4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    } -> tensor<3x4x4xf32> loc("mlp.experts"("down"))
    %w = linalg.generic {indexing_maps = [#all, #eo, #te, #one, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%m, %bias, %r, %scale : tensor<3x4x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<1xf32>) outs(%e4 : tensor<3x4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %q: f32, %f: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      %p = arith.mulf %s, %q : f32
      %t = arith.mulf %p, %f : f32
      linalg.yield %t : f32
    } -> tensor<3x4x4xf32> loc("mlp.experts"("weighted"))
    %e = tensor.empty() : tensor<3x4xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
    %y = linalg.generic {indexing_maps = [#all, #to], iterator_types = ["parallel", "reduction", "parallel"]} ins(%w : tensor<3x4x4xf32>) outs(%i : tensor<3x4xf32>) {
    ^bb0(%a: f32, %c: f32):
      %s = arith.addf %c, %a : f32
      linalg.yield %s : f32
    } -> tensor<3x4xf32> loc("mlp.experts"("sum"))
    return %y : tensor<3x4xf32>
  }
}
//--- own.mlir
#mesh = #tp.mesh<"ep" = 4>
tp.plan @p on #mesh["ep"] {
  tp.parallelize "mlp.experts" with expert_parallel
  tp.result 0 replicate
}
//--- transformers.mlir
#mesh = #tp.mesh<"ep" = 4>
tp.plan @p on #mesh["ep"] {
  tp.parallelize "mlp.experts.up" with grouped_gemm
  tp.parallelize "mlp.experts.down" with grouped_gemm
  tp.parallelize "mlp.experts.bias" with grouped_gemm
  tp.parallelize "mlp.experts" with ep_dispatch_experts
  tp.result 0 replicate
}
//--- both.mlir
#mesh = #tp.mesh<"ep" = 2, "tp" = 2>
tp.plan @e on #mesh["ep"] {
  tp.parallelize "mlp.experts" with expert_parallel
  tp.result 0 replicate
}
tp.plan @t on #mesh["tp"] {
  tp.parallelize "mlp.experts.up" with colwise
  tp.parallelize "mlp.experts.down" with rowwise
  tp.parallelize "mlp.experts" with moe_tp_experts
  tp.result 0 replicate
}
//--- by-expert.mlir
#mesh = #tp.mesh<"ep" = 4>
tp.plan @p on #mesh["ep"] {
  tp.parallelize "mlp.experts" with expert_parallel {input_layouts = shard<1>, output_layouts = shard<0>}
}
