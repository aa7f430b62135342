// RUN: tp-opt %s --tp-verify-partitioned -verify-diagnostics -split-input-file

#mesh = #tp.mesh<"tp" = 4>
// expected-error@+1 {{has a layout in type 'tensor<8xf32, #tp.layout<<"tp" = 4>, [shard<0>]>>', expected plain types after tp-partition}}
func.func @layout(%x: tensor<8xf32, #tp.layout<#mesh, [shard<0>]>>) { return }

// -----

#mesh = #tp.mesh<"tp" = 4>
// expected-error@+1 {{argument #0 is a 'tensor<3xf32>', its layout makes 'tensor<8xf32>' a 'tensor<2xf32>'}}
func.func @argument(%x: tensor<3xf32> {tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.global_type = tensor<8xf32>}) { return }

// -----

#mesh = #tp.mesh<"tp" = 4>
func.func @value() {
  // expected-error@+1 {{result #0 is a 'tensor<8xf32>', its layout makes 'tensor<8xf32>' a 'tensor<2xf32>'}}
  %0 = tensor.empty() {tp.values = [{id = 0, layout = #tp.layout<#mesh, [shard<0>]>, type = tensor<8xf32>}]} : tensor<8xf32>
  return
}
