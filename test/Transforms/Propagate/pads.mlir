// RUN: tp-opt %s --tp-propagate --tp-verify-assignment --split-input-file | FileCheck %s

// A pad may cut finer than slices do: here the first half in 6 and 6, which 4
// ranks have only unevenly. The halves stay a choice.

#mesh = #tp.mesh<"tp" = 4>
#x = affine_map<(b, n, i) -> (b, i)>
#w = affine_map<(b, n, i) -> (n, i)>
#o = affine_map<(b, n, i) -> (b, n)>
#id = affine_map<(b, n) -> (b, n)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @finer
  // CHECK-SAME: %{{.*}}: tensor<24x18xf32> {{{.*}}tp.layout = #tp.layout<#mesh, [shard<0, segments = [12, 12]>]>
  func.func @finer(%x: tensor<4x18xf32>,
                   %w: tensor<24x18xf32> {tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<4x8xf32>, tensor<4x12xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x24xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x24xf32>) -> tensor<4x24xf32>
    // CHECK: linalg.generic {{.*}}tp.strategy = #tp.strategy<#mesh, [split<1, segments = [12, 12]>]>
    %h = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x18xf32>, tensor<24x18xf32>) outs(%i : tensor<4x24xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x24xf32>
    %first = tensor.extract_slice %h[0, 0] [4, 12] [1, 1] : tensor<4x24xf32> to tensor<4x12xf32>
    %second = tensor.extract_slice %h[0, 12] [4, 12] [1, 1] : tensor<4x24xf32> to tensor<4x12xf32>
    %es = tensor.empty() : tensor<4x12xf32>
    // CHECK: linalg.generic {{.*}}tp.strategy = #tp.strategy<#mesh, [split<1>]>
    %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%first, %second : tensor<4x12xf32>, tensor<4x12xf32>) outs(%es : tensor<4x12xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %t = math.tanh %b : f32
      %s = arith.addf %a, %t : f32
      linalg.yield %s : f32
    } -> tensor<4x12xf32>
    %padded = tensor.pad %first low[0, 2] high[0, 2] {
    ^bb0(%j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<4x12xf32> to tensor<4x16xf32>
    %y = tensor.extract_slice %padded[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
    return %y, %sum : tensor<4x8xf32>, tensor<4x12xf32>
  }
}

// -----

// The gradients of slices, of which the sum is that of the whole: what is in
// front of a pad's source, the source, and what is behind are segments.

#mesh = #tp.mesh<"tp" = 3>
#id = affine_map<(b, n) -> (b, n)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @gradients
  // CHECK-SAME: -> (tensor<4x18xf32> {tp.layout = #tp.layout<#mesh, [shard<1, segments = [4, 6, 8]>]>})
  func.func @gradients(%a: tensor<4x6xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}, %b: tensor<4x8xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<4x18xf32> {
    %zero = arith.constant 0.0 : f32
    // CHECK: tensor.pad
    // CHECK: tp.strategy = #tp.strategy<#mesh, [split<1, segments = [4, 6, 8]>]>
    %0 = tensor.pad %a low[0, 4] high[0, 8] {
    ^bb0(%j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<4x6xf32> to tensor<4x18xf32>
    // CHECK: tensor.pad
    // CHECK: tp.strategy = #tp.strategy<#mesh, [split<1, segments = [4, 6, 8]>]>
    %1 = tensor.pad %b low[0, 10] high[0, 0] {
    ^bb0(%j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<4x8xf32> to tensor<4x18xf32>
    %e = tensor.empty() : tensor<4x18xf32>
    // CHECK: linalg.generic {{.*}}tp.strategy = #tp.strategy<#mesh, [split<1, segments = [4, 6, 8]>]>
    %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<4x18xf32>, tensor<4x18xf32>) outs(%e : tensor<4x18xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %s = arith.addf %l, %r : f32
      linalg.yield %s : f32
    } -> tensor<4x18xf32>
    return %sum : tensor<4x18xf32>
  }
}

// -----

// A shift of a sequence that is held in stripes is local.

#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(t, c) -> (t, c)>
#stripes = #tp.placement<shard<0, segments = [4, 4, 4, 4, 4, 4, 4, 4]>>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @few
  func.func @few(%x: tensor<32x8xf32> {tp.pin = {tp = #stripes}}) -> (tensor<32x8xf32> {tp.pin = {tp = #stripes}}) {
    %zero = arith.constant 0.0 : f32
    %past = tensor.extract_slice %x[0, 0] [28, 8] [1, 1] : tensor<32x8xf32> to tensor<28x8xf32>
    // CHECK: tensor.pad
    // CHECK: tp.strategy = #tp.strategy<#mesh, [split<0, segments = [4, 4, 4, 4, 4, 4, 4, 4]>]>
    %shifted = tensor.pad %past low[4, 0] high[0, 0] {
    ^bb0(%j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<28x8xf32> to tensor<32x8xf32>
    %e = tensor.empty() : tensor<32x8xf32>
    %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %shifted : tensor<32x8xf32>, tensor<32x8xf32>) outs(%e : tensor<32x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %s = arith.addf %l, %r : f32
      linalg.yield %s : f32
    } -> tensor<32x8xf32>
    return %y : tensor<32x8xf32>
  }
}

// -----

// More segments than 64 are not tried for a pad: a shift that meets what it
// shifts cuts the sequence at every multiple of it.

#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(t, c) -> (t, c)>
#stripes = #tp.placement<shard<0, segments = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]>>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @many
  func.func @many(%x: tensor<320x8xf32> {tp.pin = {tp = #stripes}}) -> (tensor<320x8xf32> {tp.pin = {tp = #stripes}}) {
    %zero = arith.constant 0.0 : f32
    %past = tensor.extract_slice %x[0, 0] [316, 8] [1, 1] : tensor<320x8xf32> to tensor<316x8xf32>
    // CHECK: tensor.pad
    // CHECK: tp.strategy = #tp.strategy<#mesh, [split<1>]>
    %shifted = tensor.pad %past low[4, 0] high[0, 0] {
    ^bb0(%j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<316x8xf32> to tensor<320x8xf32>
    %e = tensor.empty() : tensor<320x8xf32>
    %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %shifted : tensor<320x8xf32>, tensor<320x8xf32>) outs(%e : tensor<320x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %s = arith.addf %l, %r : f32
      linalg.yield %s : f32
    } -> tensor<320x8xf32>
    return %y : tensor<320x8xf32>
  }
}
