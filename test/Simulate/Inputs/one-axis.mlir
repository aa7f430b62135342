// Small programs in which wrong rules pay off: with a rule that allows too
// much, less has to be exchanged. Sizes differ pairwise.

//--- colwise
// Columns split: a bias, positions along the split dimension, and rows of
// them.
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x10xf32>, %w: tensor<10x24xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}, %b: tensor<24xf32>) -> tensor<6x24xf32> {
    %e = tensor.empty() : tensor<6x24xf32>
    %init = linalg.broadcast ins(%b : tensor<24xf32>) outs(%e : tensor<6x24xf32>) dimensions = [0]
    %h = linalg.matmul ins(%x, %w : tensor<6x10xf32>, tensor<10x24xf32>) outs(%init : tensor<6x24xf32>) -> tensor<6x24xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<6x24xf32>) outs(%e : tensor<6x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %p = arith.muli %j, %j : index
      %q = arith.addi %p, %i : index
      %r = arith.index_cast %q : index to i64
      %s = arith.sitofp %r : i64 to f32
      %t = arith.addf %in, %s : f32
      linalg.yield %t : f32
    } -> tensor<6x24xf32>
    return %y : tensor<6x24xf32>
  }
}

//--- bias
// Partial sums through a bias, then fewer numbers.
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x10xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}, %b: tensor<10xf32>) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<6x20xf32>, tensor<20x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    %q = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<6x10xf32>, tensor<10xf32>) outs(%e : tensor<6x10xf32>) {
    ^bb0(%in: f32, %bias: f32, %out: f32):
      %0 = arith.addf %in, %bias : f32
      linalg.yield %0 : f32
    } -> tensor<6x10xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%q : tensor<6x10xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- square
// Partial sums and what is not linear, then fewer numbers.
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x10xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<6x20xf32>, tensor<20x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.mulf %in, %in : f32
      linalg.yield %0 : f32
    } -> tensor<6x10xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%q : tensor<6x10xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- relu
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x10xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<6x2xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<6x20xf32>, tensor<20x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.maximumf %in, %zero : f32
      linalg.yield %0 : f32
    } -> tensor<6x10xf32>
    %half = tensor.extract_slice %q[0, 0] [6, 2] [1, 1] : tensor<6x10xf32> to tensor<6x2xf32>
    return %half : tensor<6x2xf32>
  }
}

//--- quotient
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x10xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}, %n: tensor<6x10xf32>) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<6x20xf32>, tensor<20x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%n, %p : tensor<6x10xf32>, tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<6x10xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%q : tensor<6x10xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- maximum
// A maximum over a split dimension, negated, then fewer numbers.
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<12x20xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<2xf32> {
    %lowest = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<12xf32>
    %init = linalg.fill ins(%lowest : f32) outs(%e : tensor<12xf32>) -> tensor<12xf32>
    %m = linalg.reduce {arith.maximumf} ins(%x : tensor<12x20xf32>) outs(%init : tensor<12xf32>) dimensions = [1]
    %n = linalg.negf ins(%m : tensor<12xf32>) outs(%e : tensor<12xf32>) -> tensor<12xf32>
    %y = tensor.extract_slice %n[3] [2] [1] : tensor<12xf32> to tensor<2xf32>
    return %y : tensor<2xf32>
  }
}

//--- init
// An init that is no identity.
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x10xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<6x10xf32> {
    %one = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%one : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<6x20xf32>, tensor<20x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    return %p : tensor<6x10xf32>
  }
}

//--- two_results
// Two results that combine differently. Long, so that reducing both costs less
// than one gather.
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x40000xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<6xf32>, tensor<6xf32>) {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %g = linalg.fill ins(%lowest : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %y:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x40000xf32>) outs(%f, %g : tensor<6xf32>, tensor<6xf32>) {
    ^bb0(%in: f32, %sum: f32, %max: f32):
      %0 = arith.addf %in, %sum : f32
      %1 = arith.maximumf %in, %max : f32
      linalg.yield %0, %1 : f32, f32
    } -> (tensor<6xf32>, tensor<6xf32>)
    return %y#0, %y#1 : tensor<6xf32>, tensor<6xf32>
  }
}

//--- slice
// Slices, concatenations and merged dimensions along what is split.
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x24xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %h = tensor.extract_slice %x[0, 0] [6, 16] [1, 1] : tensor<6x24xf32> to tensor<6x16xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%h : tensor<6x16xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- concat
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x24xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %h = tensor.concat dim(1) %x, %x : (tensor<6x24xf32>, tensor<6x24xf32>) -> tensor<6x48xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%h : tensor<6x48xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- pad
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x24xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %h = tensor.pad %x low[0, 0] high[0, 16] {
    ^bb0(%i: index, %j: index):
      tensor.yield %two : f32
    } : tensor<6x24xf32> to tensor<6x40xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%h : tensor<6x40xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- pad_partial
// Partial sums padded with what is no zero, then fewer numbers.
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x10xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<6x2xf32> {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<6x20xf32>, tensor<20x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    %h = tensor.pad %p low[0, 1] high[0, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %two : f32
    } : tensor<6x10xf32> to tensor<6x11xf32>
    %half = tensor.extract_slice %h[0, 0] [6, 2] [1, 1] : tensor<6x11xf32> to tensor<6x2xf32>
    return %half : tensor<6x2xf32>
  }
}

//--- pad_between
// Padding on both sides of what is split, read by a product that is split too.
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x24xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}, %w: tensor<40x10xf32> {tp.pin = {tp = #tp.placement<shard<0, segments = [5, 24, 11]>>}}) -> tensor<6x10xf32> {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %h = tensor.pad %x low[0, 5] high[0, 11] {
    ^bb0(%i: index, %j: index):
      tensor.yield %two : f32
    } : tensor<6x24xf32> to tensor<6x40xf32>
    %e = tensor.empty() : tensor<6x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
    %p = linalg.matmul ins(%h, %w : tensor<6x40xf32>, tensor<40x10xf32>) outs(%init : tensor<6x10xf32>) -> tensor<6x10xf32>
    return %p : tensor<6x10xf32>
  }
}

//--- merge
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x3x8xf32> {tp.pin = {tp = #tp.placement<shard<2>>}}) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %h = tensor.collapse_shape %x [[0], [1, 2]] : tensor<6x3x8xf32> into tensor<6x24xf32>
    %se = tensor.empty() : tensor<6xf32>
    %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6xf32>) -> tensor<6xf32>
    %s = linalg.reduce {arith.addf} ins(%h : tensor<6x24xf32>) outs(%sz : tensor<6xf32>) dimensions = [1]
    return %s : tensor<6xf32>
  }
}

//--- rows
// A table with its rows split, unevenly, and one with its columns split.
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<5xi64>, %table: tensor<18x7xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<5x7xf32> {
    %e = tensor.empty() : tensor<5x7xf32>
    %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<5xi64>) outs(%e : tensor<5x7xf32>) {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %column = linalg.index 1 : index
      %v = tensor.extract %table[%row, %column] : tensor<18x7xf32>
      linalg.yield %v : f32
    } -> tensor<5x7xf32>
    return %y : tensor<5x7xf32>
  }
}

//--- columns
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%ids: tensor<5xi64>, %table: tensor<9x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<5x8xf32> {
    %e = tensor.empty() : tensor<5x8xf32>
    %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<5xi64>) outs(%e : tensor<5x8xf32>) {
    ^bb0(%i: i64, %o: f32):
      %row = arith.index_cast %i : i64 to index
      %column = linalg.index 1 : index
      %v = tensor.extract %table[%row, %column] : tensor<9x8xf32>
      linalg.yield %v : f32
    } -> tensor<5x8xf32>
    return %y : tensor<5x8xf32>
  }
}

//--- moves
// From one layout to the next.
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x16xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<8x16xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x16xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %0 = tp.constrain %x on "tp" of #mesh to shard<0> view [8, 12] at "a" "input" : tensor<8x12xf32>
    %1 = tp.constrain %0 on "tp" of #mesh to shard<1> view [8, 12] at "b" "input" : tensor<8x12xf32>
    %2 = tp.constrain %1 on "tp" of #mesh to replicate view [8, 12] at "c" "input" : tensor<8x12xf32>
    %3 = tp.constrain %2 on "tp" of #mesh to shard<1> view [8, 12] at "d" "input" : tensor<8x12xf32>
    %p = linalg.matmul ins(%3, %w : tensor<8x12xf32>, tensor<12x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
    %4 = tp.constrain %p on "tp" of #mesh to shard<1> view [8, 16] at "e" "output" : tensor<8x16xf32>
    %5 = tp.constrain %4 on "tp" of #mesh to shard<0> view [8, 16] at "f" "output" : tensor<8x16xf32>
    return %5 : tensor<8x16xf32>
  }
}
