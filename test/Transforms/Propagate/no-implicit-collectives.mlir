// RUN: tp-opt %s -split-input-file --tp-propagate=no-implicit-collectives --verify-diagnostics

// Without implicit collectives only pins may change layouts.

#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>, %z: tensor<16x8xf32>) -> tensor<16x8xf32> {
    // expected-note@+1 {{output of 'a' is pinned to shard<0>}}
    %a = tp.constrain %x on "tp" of #mesh to shard<0> view [16, 8] at "a" "output" : tensor<16x8xf32>
    // expected-note@+2 {{output of 'b' is pinned to shard<1>}}
    // expected-note@+1 {{to ask for it, write 'tp.parallelize "b" with prepare_module_output {output_layouts = [shard<1>], desired_output_layouts = [shard<0>]}' in the plan}}
    %b = tp.constrain %z on "tp" of #mesh to shard<1> view [16, 8] at "b" "output" : tensor<16x8xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    // expected-error@+1 {{'linalg.generic' takes operand #1 from shard<1> to shard<0> on axis 'tp' by all_to_all, 96 bytes per rank, which no plan entry asks for}}
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x8xf32>
    return %s : tensor<16x8xf32>
  }
}

// -----

// A pinned argument that its only use has to gather.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // expected-note@+2 {{argument #0 ('w') is pinned to shard<1>}}
  // expected-note@+1 {{to ask for it, write 'tp.argument "w" shard<0>' in the plan}}
  func.func @main(%w: tensor<8x8xf32> {tp.name = "w", tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<8x4xf32> {
    // expected-error@+1 {{'tensor.extract_slice' takes operand #0 from shard<1> to shard<0> on axis 'tp' by all_to_all, 48 bytes per rank, which no plan entry asks for}}
    %0 = tensor.extract_slice %w[0, 0] [8, 4] [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// What pins ask for is allowed: a gather at a constrain, the all_reduce of a
// lazily replicated partial, a pinned result.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}},
                  %w: tensor<8x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %a = tp.constrain %x on "tp" of #mesh to shard<1> view [16, 8] at "w" "input" : tensor<16x8xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %b = linalg.matmul ins(%a, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %c = tp.constrain %b on "tp" of #mesh to replicate view [16, 8] lazy at "w" "output" : tensor<16x8xf32>
    return %c : tensor<16x8xf32>
  }
}

// -----

// A pin that says what is expected asks for nothing.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh, tp.bindings = [{module = "w", values = [{port = "input", dims = array<i64: 16, 8>}]}]} {
  // expected-note@+1 {{argument #0 ('x') is pinned to shard<2>}}
  func.func @main(%x: tensor<2x8x8xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<2>>}}) -> (tensor<2x8x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    // expected-error@+3 {{input of 'w' takes its value from shard<2> to replicate on axis 'tp' by all_gather, 384 bytes per rank, which no plan entry asks for}}
    // expected-note@+2 {{input of 'w' is pinned to replicate}}
    // expected-note@+1 {{to ask for it, write 'input_layouts = [shard<1>]' at this entry}}
    %a = tp.constrain %x on "tp" of #mesh to replicate view [2, 8, 8] at "w" "input" {tp.expected} : tensor<2x8x8xf32>
    return %a : tensor<2x8x8xf32>
  }
}

// -----

// A list of layouts has one for each positional input of the module.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh, tp.bindings = [{module = "w", values = [{port = "input", dims = array<i64: 8, 8>}]}],
                   tp.modules = [{name = "w", inputs = ["x", ""], input_names = ["x", "mask"], positional = ["x", "mask"]}]} {
  // expected-note@+1 {{argument #0 ('x') is pinned to shard<1>}}
  func.func @main(%x: tensor<8x8xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<8x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    // expected-error@+3 {{input of 'w' takes its value from shard<1> to replicate on axis 'tp' by all_gather, 192 bytes per rank, which no plan entry asks for}}
    // expected-note@+2 {{input of 'w' is pinned to replicate}}
    // expected-note@+1 {{to ask for it, write 'input_layouts = [shard<1>, none]' at this entry}}
    %a = tp.constrain %x on "tp" of #mesh to replicate view [8, 8] at "w" "input" {tp.expected} : tensor<8x8xf32>
    return %a : tensor<8x8xf32>
  }
}

// -----

// The style has no such option: another entry states how the input comes.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh, tp.bindings = [{module = "w", axis = "tp", style = "sequence_parallel", values = [{port = "input", dims = array<i64: 8, 8>}]},
                                                   {module = "v", axis = "tp", style = "rowwise", values = [{port = "input", dims = array<i64: 8, 8>}]}]} {
  // expected-note@+1 {{argument #0 ('x') is pinned to shard<1>}}
  func.func @main(%x: tensor<8x8xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<8x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    // expected-error@+3 {{input of 'w' takes its value from shard<1> to shard<0> on axis 'tp' by all_to_all, 48 bytes per rank, which no plan entry asks for}}
    // expected-note@+2 {{input of 'w' is pinned to shard<0>}}
    // expected-note@+1 {{to ask for it, write 'tp.parallelize "w" with prepare_module_input {input_layouts = [shard<1>], desired_input_layouts = [shard<0>]}' in the plan}}
    %a = tp.constrain %x on "tp" of #mesh to shard<0> view [8, 8] at "w" "input" {tp.expected} : tensor<8x8xf32>
    return %a : tensor<8x8xf32>
  }
}

// -----

// No entry names a value inside of a module.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh, tp.bindings = [{module = "attention", axis = "tp", style = "context_parallel", values = [{port = "keys", dims = array<i64: 8, 8>}]}]} {
  // expected-note@+1 {{argument #0 ('x') is pinned to shard<1>}}
  func.func @main(%x: tensor<8x8xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<8x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    // expected-error@+2 {{keys of 'attention' takes its value from shard<1> to shard<0> on axis 'tp' by all_to_all, 48 bytes per rank, which no plan entry asks for}}
    // expected-note@+1 {{keys of 'attention' is pinned to shard<0>}}
    %a = tp.constrain %x on "tp" of #mesh to shard<0> view [8, 8] at "attention" "keys" {tp.expected} : tensor<8x8xf32>
    return %a : tensor<8x8xf32>
  }
}

// -----

// And one for each of its results.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh, tp.modules = [{name = "b", outputs = ["z", ""], output_sizes = array<i64: 1, 1>}]} {
  func.func @main(%x: tensor<16x8xf32>, %z: tensor<16x8xf32>) -> tensor<16x8xf32> {
    // expected-note@+1 {{output of 'a' is pinned to shard<0>}}
    %a = tp.constrain %x on "tp" of #mesh to shard<0> view [16, 8] at "a" "output" : tensor<16x8xf32>
    // expected-note@+2 {{output of 'b' is pinned to shard<1>}}
    // expected-note@+1 {{to ask for it, write 'tp.parallelize "b" with prepare_module_output {output_layouts = [shard<1>, none], desired_output_layouts = [shard<0>, none]}' in the plan}}
    %b = tp.constrain %z on "tp" of #mesh to shard<1> view [16, 8] at "b" "output" : tensor<16x8xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    // expected-error@+1 {{'linalg.add' takes operand #1 from shard<1> to shard<0> on axis 'tp' by all_to_all, 96 bytes per rank, which no plan entry asks for}}
    %s = linalg.add ins(%a, %b : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %s : tensor<16x8xf32>
  }
}

// -----

// A copy that a pin asks for serves other uses too.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}, tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %a = tp.constrain %x on "tp" of #mesh to replicate view [16, 8] at "a" "input" : tensor<16x8xf32>
    %b = tp.constrain %x on "tp" of #mesh to replicate view [16, 8] at "b" "input" {tp.expected} : tensor<16x8xf32>
    return %a, %b : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

// -----

// A result that nobody pins, and cannot stay partial.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // expected-note@+1 {{argument #0 is pinned to shard<0>}}
  func.func @main(%x: tensor<16x6xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce { arith.addf } ins(%x : tensor<16x6xf32>) outs(%f : tensor<6xf32>) dimensions = [0]
    // expected-error@+2 {{result #0 takes its value from partial<sum> to shard<0> on axis 'tp' by reduce_scatter, 24 bytes per rank, which no plan entry asks for}}
    // expected-note@+1 {{to ask for it, write 'tp.result 0 shard<0>' in the plan}}
    return %s : tensor<6xf32>
  }
}
