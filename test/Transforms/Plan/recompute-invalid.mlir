// RUN: tp-opt %s --tp-apply-plan --split-input-file --verify-diagnostics

tp.plan @p on <"tp" = 2>["tp"] {
  // expected-error@+2 {{no module or parameter matches 'blocks.*'}}
  // expected-note@+1 {{did you mean 'block.*'? (1 match)}}
  tp.recompute "blocks.*"
}
func.func @main(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp"))
  return %y : tensor<8xf32>
}

// -----

tp.plan @p on <"tp" = 2>["tp"] {
  // expected-remark@+1 {{nothing is computed again: no op of the backward pass, located in 'bwd:block', reads what the forward pass of 'block' computes}}
  tp.recompute "block"
}
func.func @inference(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp"))
  return %y : tensor<8xf32>
}

// -----

// A backward pass that reads nothing of the module is worth a warning.
tp.plan @p on <"tp" = 2>["tp"] {
  // expected-warning@+1 {{nothing is computed again: no op of the backward pass, located in 'bwd:block', reads what the forward pass of 'block' computes}}
  tp.recompute "block"
}
func.func @training(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp"))
  %f = tensor.empty() : tensor<8xf32>
  %g = linalg.exp ins(%x : tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32> loc("bwd:head"("exp"))
  return %y, %g : tensor<8xf32>, tensor<8xf32>
}

// -----

// Of several functions, too.
tp.plan @p on <"tp" = 2>["tp"] {
  // expected-remark@+1 {{nothing is computed again: no op of the backward pass, located in 'bwd:block', reads what the forward pass of 'block' computes}}
  tp.recompute "block"
}
func.func @prefill(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp"))
  return %y : tensor<8xf32>
}
func.func @decode(%x: tensor<1xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<1xf32> {
  %e = tensor.empty() : tensor<1xf32>
  %y = linalg.exp ins(%x : tensor<1xf32>) outs(%e : tensor<1xf32>) -> tensor<1xf32> loc("block.act"("exp"))
  return %y : tensor<1xf32>
}

// -----

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
tp.plan @p on #mesh["dp"] {
  // expected-note@+1 {{the other entry is here}}
  tp.recompute "block"
}
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'block' is computed again by two entries}}
  tp.recompute "block"
}
func.func @twice(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp"))
  %d = linalg.mul ins(%y, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:block.act"("mul"))
  return %d : tensor<8xf32>
}

// -----

tp.plan @p on <"tp" = 2>["tp"] {
  // expected-note@+1 {{the other entry is here}}
  tp.recompute "block.act"
  // expected-error@+1 {{module 'block.act' is computed again with module 'block', which it lies in, expected one of the two}}
  tp.recompute "block"
}
func.func @nested(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp"))
  %d = linalg.mul ins(%y, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:block.act"("mul"))
  return %d : tensor<8xf32>
}
