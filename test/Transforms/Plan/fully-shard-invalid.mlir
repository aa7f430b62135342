// RUN: tp-opt %s --tp-apply-plan --split-input-file --verify-diagnostics

module {
  tp.plan @p on <"dp" = 2>["dp"] {
    // expected-error@+2 {{no module or parameter matches 'layers.*'}}
    // expected-note@+1 {{did you mean 'a.*'? (1 match)}}
    tp.fully_shard "layers.*"
  }
  func.func @f(%w: tensor<4x4xf32> {tp.name = "a.weight", tp.kind = "parameter"}, %x: tensor<4xf32> {tp.name = "b.x", tp.kind = "buffer"}) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32> loc("c"("e"))
    return %w : tensor<4x4xf32>
  }
}

// -----

module {
  tp.plan @p on <"dp" = 2>["dp"] {
    // expected-error@+1 {{module 'c' has no parameters, expected one with parameters to shard}}
    tp.fully_shard "c"
  }
  func.func @f(%w: tensor<4x4xf32> {tp.name = "a.weight", tp.kind = "parameter"}, %x: tensor<4xf32> {tp.name = "b.x", tp.kind = "buffer"}) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32> loc("c"("e"))
    return %w : tensor<4x4xf32>
  }
}

// -----

// Of several functions, too.
module {
  tp.plan @p on <"dp" = 2>["dp"] {
    // expected-error@+1 {{module '' has no parameters, expected one with parameters to shard}}
    tp.fully_shard ""
  }
  func.func @prefill(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4x4xf32> {
    return %x : tensor<4x4xf32>
  }
  func.func @decode(%x: tensor<1x4xf32> {tp.name = "x"}) -> tensor<1x4xf32> {
    return %x : tensor<1x4xf32>
  }
}

// -----

module {
  tp.plan @p on <"dp" = 2>["dp"] {
    // expected-error@+1 {{'a.weight' is fully sharded on axis 'dp' and pinned to shard<0> there, expected one of both: name modules without it, or leave the pin to another axis}}
    tp.fully_shard "a"
    // expected-note@+1 {{the pin is here}}
    tp.argument "a.weight" shard<0>
  }
  func.func @f(%w: tensor<4x4xf32> {tp.name = "a.weight", tp.kind = "parameter"}, %x: tensor<4xf32> {tp.name = "b.x", tp.kind = "buffer"}) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32> loc("c"("e"))
    return %w : tensor<4x4xf32>
  }
}

// -----

module {
  tp.plan @p on <"dp" = 2>["dp"] {
    // expected-note@+1 {{the other is here}}
    tp.fully_shard "a" {keep}
    // expected-error@+1 {{'a.weight' is fully sharded with module 'a' by two entries}}
    tp.fully_shard "[ab]"
  }
  func.func @f(%w: tensor<4x4xf32> {tp.name = "a.weight", tp.kind = "parameter"}, %x: tensor<4xf32> {tp.name = "b.x", tp.kind = "buffer"}) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32> loc("c"("e"))
    return %w : tensor<4x4xf32>
  }
}
