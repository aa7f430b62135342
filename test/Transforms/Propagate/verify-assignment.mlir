// RUN: tp-opt %s -split-input-file --tp-verify-assignment --verify-diagnostics

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  // expected-error@+1 {{argument #0 of 'main' has no layout}}
  func.func @main(%x: tensor<4x4xf32>) {
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main() {
    // expected-error@+1 {{has no strategy}}
    %0 = tensor.empty() : tensor<4xf32>
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main() {
    // expected-error@+1 {{has an illegal strategy on axis "tp": segments of factor 0 are at least 1 and add up to its size 3}}
    %0 = tensor.empty() {tp.strategy = #tp.strategy<#mesh, [split<0, segments = [2, 2]>]>, tp.result_layouts = [#tp.layout<#mesh, [shard<0>]>]} : tensor<3xf32>
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main() {
    // expected-error@+1 {{result #0 has layout [replicate], but the strategy makes [shard<0>]}}
    %0 = tensor.empty() {tp.strategy = #tp.strategy<#mesh, [split<0>]>, tp.result_layouts = [#tp.layout<#mesh, [replicate]>]} : tensor<4xf32>
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4xf32> {tp.layout = #tp.layout<#mesh, [replicate]>}) {
    // expected-error@+1 {{is pinned to shard<0> on axis "tp", got replicate}}
    %0 = tp.constrain %x on "tp" of #mesh to shard<0> view [4] at "m" "input" {tp.strategy = #tp.strategy<#mesh, [replicate]>, tp.result_layouts = [#tp.layout<#mesh, [replicate]>]} : tensor<4xf32>
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  // expected-error@+1 {{argument #0 of 'main' is pinned to shard<0> on axis "tp", got replicate}}
  func.func @main(%x: tensor<4xf32> {tp.layout = #tp.layout<#mesh, [replicate]>, tp.pin = {tp = #tp.placement<shard<0>>}}) {
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4xf32> {tp.layout = #tp.layout<#mesh, [partial<sum>]>, tp.pin = {tp = #tp.placement<partial<sum>>}}) -> (tensor<4xf32> {tp.layout = #tp.layout<#mesh, [partial<sum>]>}) {
    // expected-error@+1 {{result #0 of 'main' is partial, which no pin asks for}}
    return %x : tensor<4xf32>
  }
}
