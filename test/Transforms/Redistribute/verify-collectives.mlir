// RUN: tp-opt %s --tp-verify-collectives -verify-diagnostics

#mesh = #tp.mesh<"tp" = 4>
func.func @left(%x: tensor<8xf32, #tp.layout<#mesh, [shard<0>]>>) {
  // expected-error@+1 {{is left, expected none after tp-insert-collectives}}
  %0 = tp.redistribute %x : tensor<8xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<8xf32, #tp.layout<#mesh, [replicate]>>
  return
}
