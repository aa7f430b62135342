// RUN: tp-opt %s --tp-verify-materialized -verify-diagnostics -split-input-file

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
func.func @wrong_result(%x: tensor<4x8xf32, #S0>) {
  // expected-error@+1 {{result #0 has layout [replicate], its strategy asks for [shard<0>]}}
  %0 = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] {tp.strategy = #tp.strategy<#mesh, [split<0>]>} : tensor<4x8xf32, #S0> to tensor<4x4xf32, #R>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
func.func @wrong_operand(%x: tensor<4x8xf32, #R>) {
  // expected-error@+1 {{tensor operand #0 has layout [replicate], its strategy asks for [shard<0>]}}
  %0 = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] {tp.strategy = #tp.strategy<#mesh, [split<0>]>} : tensor<4x8xf32, #R> to tensor<4x4xf32, #S0>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
func.func @illegal(%x: tensor<4x8xf32, #R>) {
  // expected-error@+1 {{has an illegal strategy on axis "tp": the op has no factor 2}}
  %0 = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] {tp.strategy = #tp.strategy<#mesh, [split<2>]>} : tensor<4x8xf32, #R> to tensor<4x4xf32, #R>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
func.func @plain(%x: tensor<4x8xf32, #R>) {
  // expected-error@+1 {{result type 'tensor<4x4xf32>' has no layout}}
  %0 = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] : tensor<4x8xf32, #R> to tensor<4x4xf32>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#P = #tp.layout<#mesh, [partial<sum>]>
func.func @hidden_reduction(%x: tensor<4x8xf32, #P>) {
  // expected-error@+1 {{changes the layout; only tp.redistribute may}}
  %0 = tensor.cast %x : tensor<4x8xf32, #P> to tensor<4x8xf32, #R>
  return
}
