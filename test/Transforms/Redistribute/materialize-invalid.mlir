// RUN: tp-opt %s --tp-materialize -verify-diagnostics -split-input-file

// expected-error@+1 {{the module has no tp.mesh; run tp-apply-plan before}}
module {}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // expected-error@+1 {{argument #0 has no layout; run tp-propagate before}}
  func.func @f(%x: tensor<4xf32>) { return }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @f() {
    // expected-error@+1 {{has no layout; run tp-propagate before, or set it in the later pass that created the op}}
    %0 = tensor.empty() : tensor<4xf32>
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
module attributes {tp.mesh = #mesh} {
  func.func @f() {
    // expected-error@+1 {{has no strategy; run tp-propagate before}}
    %0 = tensor.empty() {tp.result_layouts = [#R]} : tensor<4xf32>
    return
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // expected-error@+1 {{has several blocks, expected one; tp splits straight-line programs}}
  func.func @f() {
    cf.br ^bb1
  ^bb1:
    return
  }
}
