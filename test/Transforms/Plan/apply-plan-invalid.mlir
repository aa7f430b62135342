// RUN: tp-opt %s --tp-apply-plan=strict=true --split-input-file --verify-diagnostics

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [
    {name = "layers.0.attention.wq"}, {name = "layers.1.attention.wq"}, {name = "norm"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{no module or parameter matches 'layers.*.attn.wq'}}
    // expected-note@+1 {{did you mean 'layers.*.attention.wq'? (2 matches)}}
    tp.parallelize "layers.*.attn.wq" with colwise
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

// Weights that are stacked over layers have no number in their names.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "blocks"}, {name = "blocks.attn.wq"}, {name = "attn.wq"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+3 {{no module or parameter matches 'blocks.*.attn.wq'}}
    // expected-note@+2 {{did you mean 'blocks.attn.wq'? (1 match)}}
    // expected-note@+1 {{did you mean 'attn.wq'? (1 match)}}
    tp.parallelize "blocks.*.attn.wq" with colwise
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

// A star stays within its segment.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "layers.0.attention.wq"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{no module or parameter matches 'layers.*.wq'}}
    // expected-note@+1 {{did you mean 'layers.*.attention.wq'? (1 match)}}
    tp.parallelize "layers.*.wq" with colwise
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

// Stars in a segment, and a name that almost matches.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "layer12x.wq"}, {name = "layer3.wq"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{the entry has no effect on module 'layer12x.wq'}}
    tp.parallelize "l*1*x.w*" with sequence_parallel
    tp.parallelize "layer*.*q" with prepare_module_input
    tp.parallelize "***.wq" with prepare_module_input
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "layer12x.wq"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{no module or parameter matches 'l*1*y.wq'}}
    // expected-note@+1 {{did you mean 'layer12x.wq'? (1 match)}}
    tp.parallelize "l*1*y.wq" with sequence_parallel
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "wq"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-note@+1 {{the other is here; 'override = true' lets the later one win}}
    tp.parallelize "wq" with colwise
    // expected-error@+1 {{module 'wq' has two parameter styles, colwise and rowwise}}
    tp.parallelize "*" with rowwise
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

// A style of parameters that finds none.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "dropout", class = "Dropout"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{module 'dropout' has no weight, style colwise is for Linear, Conv1D and Embedding}}
    tp.parallelize "dropout" with colwise
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

// A module the table knows and no op stands in.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "dropout", class = "Dropout"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{the entry has no effect on module 'dropout'}}
    tp.parallelize "dropout" with sequence_parallel
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'act' has no weight, style colwise is for Linear, Conv1D and Embedding}}
  tp.parallelize "act" with colwise
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("act"("exp"))
  return %y : tensor<4xf32>
}

// -----

// Convolutions: what works is an entry for each argument, by its channels.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{'conv.weight' is the weight of a convolution, style colwise is for Linear, Embedding and transformers' Conv1D: write 'tp.argument "conv.weight" shard<0>' and 'tp.argument "conv.bias" shard<0>'}}
  tp.parallelize "conv" with colwise
}
func.func @main(%w: tensor<6x4x3xf32> {tp.name = "conv.weight", tp.kind = "parameter"}, %b: tensor<6xf32> {tp.name = "conv.bias", tp.kind = "parameter"}, %x: tensor<2x4x8xf32>) -> tensor<2x6x6xf32> {
  %e = tensor.empty() : tensor<2x6x6xf32>
  %bias = linalg.broadcast ins(%b : tensor<6xf32>) outs(%e : tensor<2x6x6xf32>) dimensions = [0, 2]
  %y = linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<2x4x8xf32>, tensor<6x4x3xf32>) outs(%bias : tensor<2x6x6xf32>) -> tensor<2x6x6xf32> loc("conv"("convolution"))
  return %y : tensor<2x6x6xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{style rowwise is for Linear, Embedding and transformers' Conv1D: write 'tp.argument "conv.weight" shard<1>'}}
  tp.parallelize "conv" with rowwise
}
func.func @main(%w: tensor<6x4x3x3xf32> {tp.name = "conv.weight", tp.kind = "parameter"}, %b: tensor<6xf32> {tp.name = "conv.bias", tp.kind = "parameter"}, %x: tensor<2x4x8x8xf32>) -> tensor<2x6x6x6xf32> {
  %e = tensor.empty() : tensor<2x6x6x6xf32>
  %bias = linalg.broadcast ins(%b : tensor<6xf32>) outs(%e : tensor<2x6x6x6xf32>) dimensions = [0, 2, 3]
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) outs(%bias : tensor<2x6x6x6xf32>) -> tensor<2x6x6x6xf32> loc("conv"("convolution"))
  return %y : tensor<2x6x6x6xf32>
}

// -----

// With groups both styles shard these.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{style rowwise is for Linear, Embedding and transformers' Conv1D: write 'tp.argument "conv.weight" shard<0>' and 'tp.argument "conv.bias" shard<0>'}}
  tp.parallelize "conv" with rowwise
}
func.func @main(%w: tensor<4x1x3x3xf32> {tp.name = "conv.weight", tp.kind = "parameter"}, %b: tensor<4xf32> {tp.name = "conv.bias", tp.kind = "parameter"}, %x: tensor<2x4x8x8xf32>) -> tensor<2x4x6x6xf32> {
  %e = tensor.empty() : tensor<2x4x6x6xf32>
  %bias = linalg.broadcast ins(%b : tensor<4xf32>) outs(%e : tensor<2x4x6x6xf32>) dimensions = [0, 2, 3]
  %groups = tensor.collapse_shape %w [[0, 1], [2], [3]] : tensor<4x1x3x3xf32> into tensor<4x3x3xf32>
  %y = linalg.depthwise_conv_2d_nchw_chw ins(%x, %groups : tensor<2x4x8x8xf32>, tensor<4x3x3xf32>) outs(%bias : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32> loc("conv"("convolution"))
  return %y : tensor<2x4x6x6xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{no contraction and no lookup reads 'norm.weight', style rowwise is for Linear, Conv1D and Embedding}}
  tp.parallelize "norm" with rowwise
}
func.func @main(%w: tensor<4xf32> {tp.name = "norm.weight", tp.kind = "parameter"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.mul ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("norm"("mul"))
  return %y : tensor<4xf32>
}

// -----

// A parameter that no product reads has neither rows nor columns.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{no product and no lookup reads 'blocks.norm', which would tell the dimension that style colwise shards: write 'tp.argument "blocks.norm" shard<1>' with the dimension to shard}}
  tp.parallelize "blocks.norm" with colwise
}
func.func @main(%w: tensor<3x4xf32> {tp.name = "blocks.norm", tp.kind = "parameter"}) -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.exp ins(%w : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{the product that reads 'blocks.w' has no dimension of it that style colwise shards: write 'tp.argument "blocks.w" shard<1>' with the dimension to shard}}
  tp.parallelize "blocks.w" with colwise
}
func.func @main(%w: tensor<3x8xf32> {tp.name = "blocks.w", tp.kind = "parameter"}, %x: tensor<4x3x8xf32>, %i: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{it is read here}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, l, d) -> (b, l, d)>, affine_map<(b, l, d) -> (l, d)>, affine_map<(b, l, d) -> (b)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %w : tensor<4x3x8xf32>, tensor<3x8xf32>) outs(%i : tensor<4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A module of several weights: what to write for each.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'blocks.mlp' has no weight (its arguments are 'blocks.mlp.down', 'blocks.mlp.up'), style colwise is for Linear, Conv1D and Embedding: write an entry for each of its weights, as 'tp.argument "blocks.mlp.down" shard<2>', 'tp.argument "blocks.mlp.up" shard<2>'}}
  tp.parallelize "blocks.mlp" with colwise
}
func.func @main(%down: tensor<3x6x8xf32> {tp.name = "blocks.mlp.down", tp.kind = "parameter"}, %up: tensor<3x8x6xf32> {tp.name = "blocks.mlp.up", tp.kind = "parameter"}, %x: tensor<4x8xf32>, %i: tensor<4x6xf32>, %j: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %u = tensor.extract_slice %up[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %d = tensor.extract_slice %down[1, 0, 0] [1, 6, 8] [1, 1, 1] : tensor<3x6x8xf32> to tensor<6x8xf32>
  %h = linalg.matmul ins(%x, %u : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%h, %d : tensor<4x6xf32>, tensor<6x8xf32>) outs(%j : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Weights that are stacked over layers: styles are for the weight of one module.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{'up.kernel' is stacked over layers, style colwise is for the weight of one module: write 'tp.argument "up.kernel" shard<2>' instead}}
  tp.parallelize "up" with colwise
}
func.func @main(%w: tensor<3x8x6xf32> {tp.name = "up.kernel", tp.kind = "parameter"}, %x: tensor<4x8xf32>, %i: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = tensor.extract_slice %w[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<8x6xf32>
  %y = linalg.matmul ins(%x, %s : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{write 'tp.argument "down.kernel" shard<1>' instead}}
  tp.parallelize "down" with rowwise
}
func.func @main(%w: tensor<3x8x6xf32> {tp.name = "down.kernel", tp.kind = "parameter"}, %x: tensor<4x8xf32>, %i: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = tensor.extract_slice %w[1, 0, 0] [1, 8, 6] [1, 1, 1] : tensor<3x8x6xf32> to tensor<1x8x6xf32>
  %m = tensor.collapse_shape %s [[0, 1], [2]] : tensor<1x8x6xf32> into tensor<8x6xf32>
  %y = linalg.matmul ins(%x, %m : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// Two letters in the other order are near.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+2 {{the function has no argument 'pso', it has 1 arguments}}
  // expected-note@+1 {{did you mean 'pos'?}}
  tp.argument "pso" shard<0>
}
// expected-note@+1 {{the function is here}}
func.func @main(%w: tensor<4xf32> {tp.name = "pos"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// A dead weight is a warning, and --strict makes it an error.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-warning@+2 {{nothing reads 'pooler.weight', the entry has no effect on module 'pooler'}}
  // expected-error@+1 {{the entry has no effect on module 'pooler'}}
  tp.parallelize "pooler" with colwise
}
func.func @main(%w: tensor<4x4xf32> {tp.name = "pooler.weight", tp.kind = "parameter"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{shard<2> needs that dimension, the output of module 'fc' has shape [4, 8]}}
  tp.parallelize "fc" with colwise {output_layouts = shard<2>}
}
func.func @main(%w: tensor<6x8xf32> {tp.name = "fc.weight", tp.kind = "parameter"}, %x: tensor<4x6xf32>, %i: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Replicate without parameters: of a module that has none, of one whose
// parameters are those of modules in it, of one that has dead ones only.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'act' has no parameters of its own, style replicate is for modules with parameters}}
  tp.parallelize "act" with replicate
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("act"("exp"))
  return %y : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'block' has no parameters of its own, style replicated_with_grad_allreduce is for modules with parameters}}
  tp.parallelize "block" with replicated_with_grad_allreduce
}
func.func @main(%w: tensor<4xf32> {tp.name = "block.norm.weight", tp.kind = "parameter"}, %b: tensor<4xf32> {tp.name = "block.mask", tp.kind = "buffer"},
                %x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.mul ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("block.norm"("mul"))
  %z = linalg.mul ins(%y, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("block"("mul_1"))
  return %z : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-warning@+2 {{nothing reads the parameters of module 'pooler', the entry has no effect on it}}
  // expected-error@+1 {{the entry has no effect on module 'pooler'}}
  tp.parallelize "pooler" with replicate
}
func.func @main(%w: tensor<4x4xf32> {tp.name = "pooler.weight", tp.kind = "parameter"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// A parameter style and replicate on one module, and on tied weights.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-note@+1 {{the other is here; 'override = true' lets the later one win}}
  tp.parallelize "fc" with rowwise
  // expected-error@+1 {{module 'fc' has two parameter styles, rowwise and replicate}}
  tp.parallelize "fc" with replicate
}
func.func @main(%w: tensor<4x4xf32> {tp.name = "fc.weight", tp.kind = "parameter"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-note@+1 {{the other pin is here}}
  tp.parallelize "fc" with rowwise
  // expected-error@+1 {{parameter 'fc.weight' is pinned to replicate and to shard<0>}}
  tp.parallelize "head" with replicate
}
func.func @main(%w: tensor<6x6xf32> {tp.name = "fc.weight", tp.kind = "parameter"}, %dead: tensor<6x6xf32> {tp.name = "head.weight", tp.kind = "parameter"},
                %x: tensor<4x6xf32>, %i: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32> loc("fc"("mm"))
  %z = linalg.matmul ins(%y, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32> loc("head"("mm_1"))
  return %z : tensor<4x6xf32>
}

// -----

// Two explicit layouts of one boundary.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-note@+1 {{the other pin is here}}
  tp.parallelize "a" with colwise {output_layouts = shard<1>}
  // expected-error@+1 {{the input of module 'b' is pinned to replicate, but it is the output of module 'a', pinned to shard<1>}}
  tp.parallelize "b" with rowwise {input_layouts = replicate}
}
func.func @main(%w: tensor<6x8xf32> {tp.name = "a.weight", tp.kind = "parameter"}, %v: tensor<8x6xf32> {tp.name = "b.weight", tp.kind = "parameter"},
                %x: tensor<4x6xf32>, %i: tensor<4x8xf32>, %j: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = linalg.matmul ins(%y, %v : tensor<4x8xf32>, tensor<8x6xf32>) outs(%j : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}

// -----

// One tensor under two entries: agreeing pins merge, others do not.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-note@+1 {{the other pin is here}}
  tp.parallelize "head" with colwise
  // expected-error@+1 {{parameter 'head.weight' is pinned to shard<1> and to shard<0>}}
  tp.parallelize "wte" with colwise
}
#ids = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mk = affine_map<(m, n, k) -> (m, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @main(%w: tensor<8x6xf32> {tp.name = "head.weight", tp.kind = "parameter"}, %dead: tensor<8x6xf32> {tp.name = "wte.weight", tp.kind = "parameter"},
                %x: tensor<4xi64>, %i: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %rows = linalg.generic {indexing_maps = [#ids, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4xi64>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%id: i64, %o: f32):
    %at = arith.index_cast %id : i64 to index
    %col = linalg.index 1 : index
    %v = tensor.extract %w[%at, %col] : tensor<8x6xf32>
    linalg.yield %v : f32
  } -> tensor<4x6xf32> loc("wte"("embedding"))
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%rows, %w : tensor<4x6xf32>, tensor<8x6xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32> loc("head"("mm"))
  return %y : tensor<4x8xf32>
}

// -----

// Without a table a module with two inputs by location is ambiguous.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+3 {{input 0 of module 'sum' may be any of 2 values, and the model file has no row of it that tells: write the layout as input_layouts in the entries of modules inside of it that have one input}}
  // expected-note@+2 {{a candidate: node 'exp' of module 'pre', a 'tensor<4x6xf32>'}}
  // expected-note@+1 {{a candidate: node 'neg' of module 'pre', a 'tensor<4x6xf32>'}}
  tp.parallelize "sum" with sequence_parallel {sequence_dim = 0}
}
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %a = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("pre"("exp"))
  %b = linalg.negf ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("pre"("neg"))
  %y = linalg.add ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("sum"("add"))
  return %y : tensor<4x6xf32>
}

// -----

// A candidate is named by its op, not by the pin of its module. The table's node
// is none of them where the module reads what was made of it elsewhere.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "sum", inputs = ["view"], outputs = ["add"]}]} {
  tp.plan @p on #mesh["tp"] {
    tp.parallelize "pre" with prepare_module_output {output_layouts = shard<0>, desired_output_layouts = replicate}
    // expected-error@+3 {{input 0 of module 'sum' may be any of 2 values, and node 'view', which the model file names, is none of them: write the layout as input_layouts in the entries of modules inside of it that have one input}}
    // expected-note@+2 {{a candidate: argument 0, a 'tensor<4x6xf32>'}}
    // expected-note@+1 {{a candidate: node 'exp' of module 'pre', a 'tensor<4x6xf32>'}}
    tp.parallelize "sum" with prepare_module_input {input_layouts = shard<0>, desired_input_layouts = replicate}
  }
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %e = tensor.empty() : tensor<4x6xf32>
    %a = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("pre"("exp"))
    %y = linalg.add ins(%a, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("sum"("add"))
    return %y : tensor<4x6xf32>
  }
}

// -----

// The first input, which is pinned already, does not stand in for the second.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", "mask"], outputs = ["exp"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{found no value that is input 1 of module 'attn'}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = [replicate, replicate], desired_input_layouts = [replicate, shard<0>]}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", ""], outputs = ["exp"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{module 'attn' has no input named 'mask'}}
    // expected-note@+1 {{the module table gives no names of its inputs: write their positions in input_layouts, or input_layouts in the entries of modules inside of it}}
    tp.parallelize "attn" with prepare_module_input {input_kwarg_layouts = {mask = replicate}, desired_input_kwarg_layouts = {mask = shard<0>}}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", "m"], outputs = ["add"], input_names = ["x", "mask"], positional = ["x", "mask"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{expected 2 'input_layouts', one for each positional input of module 'attn' ('x', 'mask'), got 1: write none for an input that stays as it is}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = [replicate], desired_input_layouts = [shard<0>]}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %m: tensor<4xf32> {tp.name = "m"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.add ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("add"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", "m"], outputs = ["add"], input_names = ["pair", "pair"], positional = ["pair"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{input 0 of module 'attn', 'pair', has 2 parts, expected one tensor; its layout is none}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = replicate, desired_input_layouts = shard<0>}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %m: tensor<4xf32> {tp.name = "m"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.add ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("add"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", "m"], outputs = ["add"], input_names = ["pair", "pair"], positional = []}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{input 0 of module 'attn', 'pair', has 2 parts, expected one tensor; its layout is none}}
    tp.parallelize "attn" with prepare_module_input {input_kwarg_layouts = {pair = replicate}, desired_input_kwarg_layouts = {pair = shard<0>}}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %m: tensor<4xf32> {tp.name = "m"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.add ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("add"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x"], outputs = ["exp", "tanh"], output_sizes = array<i64: 1, 1>}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{expected 2 'output_layouts', one for each output of module 'attn', got 1: write none for an output that stays as it is}}
    tp.parallelize "attn" with prepare_module_output {output_layouts = shard<0>, desired_output_layouts = replicate}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    %z = linalg.tanh ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("tanh"))
    return %y, %z : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x"], outputs = ["exp", "tanh"], output_sizes = array<i64: 2>}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{output 0 of module 'attn' has 2 parts, expected one tensor; its layout is none}}
    tp.parallelize "attn" with prepare_module_output {output_layouts = shard<0>, desired_output_layouts = replicate}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    %z = linalg.tanh ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("tanh"))
    return %y, %z : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x"], outputs = ["exp", "tanh"], output_sizes = array<i64: 1, 0, 1>}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{output 1 of module 'attn' is no tensor; its layout is none}}
    tp.parallelize "attn" with prepare_module_output {output_layouts = [none, shard<0>, none], desired_output_layouts = [none, replicate, none]}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    %z = linalg.tanh ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("tanh"))
    return %y, %z : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// An empty list has no tensor, and a position.
#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", "m"], outputs = ["add"], input_names = ["x", "mask"], positional = ["states", "x", "mask"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{input 0 of module 'attn' is no tensor; its layout is none}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = [replicate, none, none], desired_input_layouts = [shard<0>, none, none]}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %m: tensor<4xf32> {tp.name = "m"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.add ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("add"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x", ""], outputs = ["exp"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+1 {{input 1 of module 'attn' is no tensor; its layout is none}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = [none, replicate], desired_input_layouts = [none, replicate]}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "attn", inputs = ["x"], outputs = ["exp"]}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-note@+1 {{the other pin is here}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = replicate, desired_input_layouts = shard<0>}
    // expected-error@+1 {{the input of module 'attn' is pinned to replicate and to shard<0>}}
    tp.parallelize "attn" with prepare_module_input {input_layouts = replicate, desired_input_layouts = replicate}
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("attn"("exp"))
    return %y : tensor<4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+2 {{the function has no argument 'token', it has 1 arguments}}
  // expected-note@+1 {{did you mean 'tokens'?}}
  tp.argument "token" shard<0>
}
// expected-note@+1 {{the function is here}}
func.func @main(%x: tensor<4xf32> {tp.name = "tokens"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
// expected-note@+1 {{the first is}}
tp.plan @a on #mesh["tp"] {
}
// expected-error@+1 {{plans of one file are for one mesh, got}}
tp.plan @b on <"tp" = 2>["tp"] {
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
// expected-note@+1 {{it is here}}
tp.plan @a on #mesh["tp"] {
}
// expected-error@+1 {{axis 'tp' has a plan already}}
tp.plan @b on #mesh["tp"] {
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
// expected-note@+1 {{it is here}}
tp.plan @a on #mesh["dp", "tp"] {
}
tp.plan @b on #mesh["tp"] {
}
// expected-error@+1 {{axes 'dp', 'tp' have a plan already}}
tp.plan @c on #mesh[0, 1] {
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
// expected-note@+1 {{the other is here}}
tp.plan @a on #mesh["dp", "tp"] {
}
// expected-error@+1 {{axis 'tp' is in a plan with 'auto' and in one without, expected it in all plans for the axis or in none}}
tp.plan @b on #mesh["tp"] auto {
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Entries of all plans for an axis are those of one plan.
#mesh = #tp.mesh<"dp" = 2, "tp" = 2>
tp.plan @a on #mesh["dp", "tp"] {
  // expected-note@+1 {{the other pin is here}}
  tp.argument "x" shard<0>
}
tp.plan @b on #mesh["tp"] {
  // expected-error@+1 {{argument 'x' is pinned to shard<1> and to shard<0>}}
  tp.argument "x" shard<1>
}
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @a on #mesh["tp"] {
}
// expected-error@+1 {{expected static shapes, got 'tensor<?xf32>'}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// Parameters that do not have PyTorch's names.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'fc1' has no weight (its arguments are 'fc1.W', 'fc1.b'), style colwise is for Linear, Conv1D and Embedding}}
  tp.parallelize "fc*" with colwise
}
func.func @main(%x: tensor<4xf32> {tp.name = "fc1.x", tp.kind = "user_input"},
                %w1: tensor<4x4xf32> {tp.name = "fc1.W", tp.kind = "parameter"},
                %b1: tensor<4xf32> {tp.name = "fc1.b", tp.kind = "parameter"},
                %m1: tensor<4xf32> {tp.name = "fc1.b", tp.kind = "opt_exp_avg"},
                %w2: tensor<4x4xf32> {tp.name = "fc2.W", tp.kind = "parameter"},
                %inner: tensor<4xf32> {tp.name = "fc1.inner.weight", tp.kind = "parameter"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{module 'fc' has no weight (its arguments are 'fc.scale'), style rowwise is for Linear, Conv1D and Embedding}}
  tp.parallelize "fc" with rowwise
}
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {tp.name = "fc.scale", tp.kind = "parameter"}) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.mul ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("fc"("mul"))
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected a plan file or a tp.plan in the module, got neither}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// Between the product and its bias is another sum: x + h @ w + b.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{found no sum of the result of module 'down' and its bias: add the bias before anything else, as in x + (h @ weight + bias)}}
  tp.parallelize "down" with rowwise
}
#row = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%w: tensor<6x6xf32> {tp.name = "down.kernel", tp.kind = "parameter"}, %b: tensor<6xf32> {tp.name = "down.b", tp.kind = "parameter"},
                %x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-note@+1 {{the result is made here}}
  %m = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.add ins(%x, %m : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %b : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// A pattern that no argument matches.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+2 {{the function has no argument 'layers.*.wk', it has 1 arguments}}
  // expected-note@+1 {{did you mean 'layers.0.wq'?}}
  tp.argument "layers.*.wk" shard<0>
}
// expected-note@+1 {{the function is here}}
func.func @main(%x: tensor<4xf32> {tp.name = "layers.0.wq", tp.kind = "parameter"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// A pattern and a name that do not agree.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-note@+1 {{the other pin is here}}
  tp.argument "layers.*.wq" shard<0>
  // expected-error@+1 {{argument 'layers.0.wq' is pinned to replicate and to shard<0>}}
  tp.argument "layers.0.wq" replicate
}
func.func @main(%x: tensor<4xf32> {tp.name = "layers.0.wq", tp.kind = "parameter"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// What one of several functions reads is no weight that nothing reads.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "pooler" with colwise
  tp.parallelize "norm" with replicate
}
func.func @prefill(%w: tensor<4x4xf32> {tp.name = "pooler.weight", tp.kind = "parameter"}, %n: tensor<4xf32> {tp.name = "norm.weight", tp.kind = "parameter"}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}
func.func @decode(%w: tensor<4x4xf32> {tp.name = "pooler.weight", tp.kind = "parameter"}, %n: tensor<4xf32> {tp.name = "norm.weight", tp.kind = "parameter"}, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("pooler"("mm"))
  %b = linalg.broadcast ins(%n : tensor<4xf32>) outs(%e : tensor<4x4xf32>) dimensions = [0]
  %z = linalg.mul ins(%y, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("norm"("mul"))
  return %z : tensor<4x4xf32>
}

// -----

// A lookup of experts tells nothing of the rows of their weights.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  // expected-error@+1 {{the lookup that reads 'up' has no dimension of it that style colwise shards: write 'tp.argument "up" shard<2>' with the dimension to shard}}
  tp.parallelize "up" with colwise
}
func.func @main(%up: tensor<4x6x8xf32> {tp.name = "up", tp.kind = "parameter"}, %expert: tensor<3xindex> {tp.name = "expert"}) -> tensor<3x6x8xf32> {
  %e = tensor.empty() : tensor<3x6x8xf32>
  // expected-note@+1 {{it is read here}}
  %y = linalg.generic {indexing_maps = [affine_map<(n, i, j) -> (n)>, affine_map<(n, i, j) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expert : tensor<3xindex>) outs(%e : tensor<3x6x8xf32>) {
  ^bb0(%n: index, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %v = tensor.extract %up[%n, %i, %j] : tensor<4x6x8xf32>
    linalg.yield %v : f32
  } -> tensor<3x6x8xf32>
  return %y : tensor<3x6x8xf32>
}

// -----

// An argument that begins alike, and a style on what is nearly an input.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "norm"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{the function has no argument 'token', it has 2 arguments}}
    // expected-note@+1 {{did you mean 'token_ids'?}}
    tp.argument "token" shard<0>
  }
  // expected-note@+1 {{the function is here}}
  func.func @main(%ids: tensor<4xf32> {tp.name = "token_ids", tp.kind = "user_input"}, %x: tensor<4xf32> {tp.name = "token_ids_of_next", tp.kind = "user_input"}) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "norm"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{no module or parameter matches 'tokens_id'}}
    // expected-note@+1 {{did you mean the argument 'tokens_ids'? pin it by tp.argument "tokens_ids", in Python by 'argument tokens_ids'}}
    tp.parallelize "tokens_id" with colwise
  }
  func.func @main(%x: tensor<4xf32> {tp.name = "tokens_ids", tp.kind = "user_input"}) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.modules = [{name = "norm"}]} {
  tp.plan @p on #mesh["tp"] {
    // expected-error@+2 {{the function has no argument 'batch', it has 2 arguments}}
    // expected-note@+1 {{its inputs are 'x', 'mask'}}
    tp.argument "batch" shard<0>
  }
  // expected-note@+1 {{the function is here}}
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.kind = "user_input"}, %m: tensor<4xf32> {tp.name = "mask", tp.kind = "user_input"}) -> tensor<4xf32> { return %x : tensor<4xf32> }
}
