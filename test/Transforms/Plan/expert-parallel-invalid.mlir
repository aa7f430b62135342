// RUN: tp-opt %s --tp-apply-plan --split-input-file --verify-diagnostics

// Fewer experts than ranks.

#mesh = #tp.mesh<"ep" = 4>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{'experts.up' has 3 experts, axis 'ep' has 4 ranks: give it at most one rank for each expert}}
    tp.parallelize "experts" with expert_parallel
  }
  func.func @main(%w: tensor<3x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"}) -> tensor<3x8x4xf32> { return %w : tensor<3x8x4xf32> }
}

// -----

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{'experts.up' has 1 expert, axis 'ep' has 2 ranks: give it at most one rank for each expert}}
    tp.parallelize "experts.up" with grouped_gemm
  }
  func.func @main(%w: tensor<1x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"}) -> tensor<1x8x4xf32> { return %w : tensor<1x8x4xf32> }
}

// -----

// Ranks of all axes share them.

#mesh = #tp.mesh<"dp" = 2, "ep" = 2>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["dp", "ep"] {
    // expected-error@+1 {{'experts.up' has 3 experts, axes 'dp', 'ep' have 4 ranks: give it at most one rank for each expert}}
    tp.parallelize "experts" with expert_parallel
  }
  func.func @main(%w: tensor<3x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"}, %x: tensor<8x4xf32> {tp.name = "x"}) -> tensor<3x8x4xf32> {
    %e = tensor.empty() : tensor<3x8x4xf32>
    %y = linalg.exp ins(%w : tensor<3x8x4xf32>) outs(%e : tensor<3x8x4xf32>) -> tensor<3x8x4xf32> loc("experts"("exp"))
    return %y : tensor<3x8x4xf32>
  }
}

// -----

// A number of experts for each weight.

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{the parameters of module 'experts' have 4 and 3 experts: 'experts.up' and 'experts.down'}}
    tp.parallelize "experts" with ep_dispatch_experts
  }
  func.func @main(%u: tensor<4x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"},
                  %d: tensor<3x4x8xf32> {tp.name = "experts.down", tp.kind = "parameter"}) -> (tensor<4x8x4xf32>, tensor<3x4x8xf32>) { return %u, %d : tensor<4x8x4xf32>, tensor<3x4x8xf32> }
}

// -----

// Experts that are modules.

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "experts"}, {name = "experts.0.up"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{the experts of module 'experts' are modules of their own, such as 'experts.0': ranks share experts whose weights are stacked in one parameter, as [experts, out, in]}}
    tp.parallelize "experts" with expert_parallel
  }
  func.func @main(%w: tensor<8x4xf32> {tp.name = "experts.0.up.weight", tp.kind = "parameter"}) -> tensor<8x4xf32> { return %w : tensor<8x4xf32> }
}

// -----

// No experts at all.

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "norm"}, {name = "act"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{module 'norm' has no experts (its arguments are 'norm.weight'), style expert_parallel is for modules whose parameters are stacked over experts, as [experts, out, in]}}
    tp.parallelize "norm" with expert_parallel
  }
  func.func @main(%w: tensor<8xf32> {tp.name = "norm.weight", tp.kind = "parameter"}) -> tensor<8xf32> { return %w : tensor<8xf32> }
}

// -----

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "act"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{module 'act' has no experts, style grouped_gemm is for modules whose parameters are stacked over experts, as [experts, out, in]}}
    tp.parallelize "act" with grouped_gemm
  }
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----

// A parameter of one number.

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{'experts.scale' is one number, style grouped_gemm is for parameters whose first dimension is the experts}}
    tp.parallelize "experts.scale" with grouped_gemm
  }
  func.func @main(%s: tensor<f32> {tp.name = "experts.scale", tp.kind = "parameter"}) -> tensor<f32> { return %s : tensor<f32> }
}

// -----

// The style of a module for a parameter.

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{'experts.up' is a parameter, style ep_dispatch_experts is for modules: name module 'experts'}}
    tp.parallelize "experts.up" with ep_dispatch_experts
  }
  func.func @main(%w: tensor<4x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"}) -> tensor<4x8x4xf32> { return %w : tensor<4x8x4xf32> }
}

// -----

// Two ways to shard one parameter on one axis.

#mesh = #tp.mesh<"ep" = 2>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-note@+1 {{the other pin is here}}
    tp.parallelize "experts.up" with colwise
    // expected-error@+1 {{parameter 'experts.up' is pinned to shard<0> and to shard<1>}}
    tp.parallelize "experts" with expert_parallel
  }
  func.func @main(%w: tensor<4x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"}) -> tensor<4x8x4xf32> { return %w : tensor<4x8x4xf32> }
}

// -----

// A matrix for each token.

#mesh = #tp.mesh<"ep" = 2>
#t = affine_map<(t, o, i) -> (t)>
#all = affine_map<(t, o, i) -> (t, o, i)>
module attributes {tp.modules = [{name = "experts"}]} {
  tp.plan @p on #mesh["ep"] {
    // expected-error@+1 {{'experts.up' is looked up for each token, style expert_parallel is for products of all tokens with all experts: export the model with config._experts_implementation = "tp_products"}}
    tp.parallelize "experts" with expert_parallel
  }
  func.func @main(%w: tensor<4x8x4xf32> {tp.name = "experts.up", tp.kind = "parameter"}, %ids: tensor<3xindex>) -> tensor<3x8x4xf32> {
    %e = tensor.empty() : tensor<3x8x4xf32>
    %y = linalg.generic {indexing_maps = [#t, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : tensor<3xindex>) outs(%e : tensor<3x8x4xf32>) {
    ^bb0(%id: index, %out: f32):
      %o = linalg.index 1 : index
      %i = linalg.index 2 : index
      // expected-note@+1 {{it is looked up here}}
      %r = tensor.extract %w[%id, %o, %i] : tensor<4x8x4xf32>
      linalg.yield %r : f32
    } -> tensor<3x8x4xf32>
    return %y : tensor<3x8x4xf32>
  }
}
