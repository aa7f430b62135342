// RUN: tp-opt %s --tp-verify-bound --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a module with 'tp.mesh'}}
module {
}

// -----

// expected-error@+1 {{expected a module with 'tp.bindings'}}
module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{the plan is still in the module}}
  tp.plan @p on <"tp" = 2>["tp"] {
  }
}

// -----

// expected-error@+1 {{an entry ended neither as bound, overridden nor without effect}}
module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = [{entry = "wq", status = "bound", values = []}]} {
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{argument 0 has no 'tp.pin'}}
  func.func @main(%x: tensor<4xf32>) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"dp" = 2, "tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{argument 0 is not pinned on axis 'dp'}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{argument 0 cannot be shard<1>, it is a 'tensor<4xf32>'}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{argument 0: expected a placement on an axis of}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {pp = #tp.placement<replicate>}}) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  func.func @main(%x: tensor<4xf32> {tp.pin = {tp = #tp.placement<replicate>}}) -> tensor<4xf32> {
    // expected-error@+1 {{is of mesh #tp.mesh<"tp" = 4>, the module's is #tp.mesh<"tp" = 2>}}
    %y = tp.constrain %x on "tp" of <"tp" = 4> to shard<0> view [4] at "fc" "input" : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{argument 0 cannot be partial<sum>: files have one array of a port of kind 'parameter': write replicate or shard<d>}}
  func.func @main(%w: tensor<4xf32> {tp.name = "w", tp.kind = "parameter", tp.pin = {tp = #tp.placement<partial<sum>>}}) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"dp" = 2, "tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{argument 0 cannot be partial<sum>: on axis 'tp' it is partial<max>: expected one reduction kind on all axes on which it is partial}}
  func.func @main(%x: tensor<4xf32> {tp.pin = {dp = #tp.placement<partial<sum>>, tp = #tp.placement<partial<max>>}}) {
    return
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  func.func @main(%x: tensor<4xf32> {tp.pin = {tp = #tp.placement<partial<avg>>}})
      -> (tensor<4xf32> {tp.pin = {tp = #tp.placement<partial<sum>>}}) {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
  // expected-error@+1 {{has 'tp.recompute', expected tp-recompute to have run behind tp-apply-plan}}
  func.func @main() attributes {tp.recompute = ["layers.0"]} {
    return
  }
}
