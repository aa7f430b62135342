// RUN: tp-opt %s --tp-insert-collectives -verify-diagnostics -split-input-file

#mesh = #tp.mesh<"tp" = 4>
func.func @uneven(%x: tensor<10xf32, #tp.layout<#mesh, [shard<0>]>>) {
  // expected-error@+1 {{changes the layout of a dimension that does not divide over its axes, from [shard<0>] to [replicate]}}
  %0 = tp.redistribute %x : tensor<10xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<10xf32, #tp.layout<#mesh, [replicate]>>
  return
}

// -----

#mesh = #tp.mesh<"tp" = 4>
func.func @sub_axes(%x: tensor<8xf32, #tp.layout<#mesh, [shard<0>]>>) {
  // expected-error@+1 {{splits axis 'tp' in another way than its operand}}
  %0 = tp.redistribute %x : tensor<8xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<8xf32, #tp.layout<#mesh, ["tp":1:2 = shard<0>, "tp":2:2 = replicate]>>
  return
}
