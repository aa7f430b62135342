// RUN: tp-opt %s -split-input-file --tp-propagate --verify-diagnostics

// expected-error@+1 {{has no attribute 'tp.mesh', so it is not known what to split it over}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{expected a function with a body, got none}}
module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-note@+1 {{the other pin is here}}
  func.func @main(%w: tensor<4xf32> {tp.name = "w", tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) {
    return
  }
  // expected-error@+1 {{argument #0 ('w') of @other has another pin than in @main, expected one, as entries share it}}
  func.func @other(%w: tensor<4xf32> {tp.name = "w", tp.kind = "parameter", tp.pin = {tp = #tp.placement<replicate>}}) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{has no sharding rule, so it is not known how to split it; 'replicate-unknown' makes every rank do all of it, and a rule beside the plan splits it: tp.rule "tensor.cast" "_ -> _"}}
    %0 = tensor.cast %x : tensor<4xf32> to tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-error@+1 {{argument #0 of 'main': expected a plain tensor of static shape, got 'tensor<?xf32>'}}
  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    return %x : tensor<?xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-error@+1 {{argument #0 of 'main': pinned on axis 'dp', which the mesh does not have}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {dp = #tp.placement<shard<0>>}}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-error@+1 {{a tensor of 1 dimensions cannot be laid out as shard<1>: no such dimension}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-error@+1 {{attribute 'tp.pin' is a dictionary from axes to #tp.placement, got "tp"}}
  func.func @main(%x: tensor<4xf32> {tp.pin = "tp"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    // expected-error@+1 {{has a view other than the value's shape; tp-normalize has to move the reshape between them}}
    %0 = tp.constrain %x on "tp" of #mesh to replicate view [2, 3, 8] at "m" "output" : tensor<6x8xf32>
    return %0 : tensor<6x8xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#other = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
    // expected-error@+1 {{is for another mesh than the program's}}
    %0 = tp.constrain %x on "tp" of #other to replicate view [6, 8] at "m" "output" : tensor<6x8xf32>
    return %0 : tensor<6x8xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"dp" = 3, "tp" = 2>} {
  // expected-error@+1 {{argument #0 of 'main': pinned to shard<0, segments = [7, 5]> on axis 'dp' and to shard<0> on axis 'tp', but axes that shard one dimension agree on its segments}}
  func.func @main(%x: tensor<12xf32> {tp.pin = {dp = #tp.placement<shard<0, segments = [7, 5]>>, tp = #tp.placement<shard<0>>}}) -> tensor<12xf32> {
    return %x : tensor<12xf32>
  }
}
