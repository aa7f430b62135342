// RUN: tp-opt %s --tp-insert-collectives -verify-diagnostics -split-input-file

#mesh = #tp.mesh<"tp" = 4>
func.func @dynamic(%x: tensor<?xf32, #tp.layout<#mesh, [shard<0>]>>) {
  // expected-error@+1 {{needs a static shape, got 'tensor<?xf32}}
  %0 = tp.redistribute %x : tensor<?xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<?xf32, #tp.layout<#mesh, [replicate]>>
  return
}
