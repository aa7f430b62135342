// RUN: tp-opt %s --split-input-file --tp-simulate --verify-diagnostics -o /dev/null

// expected-error @below {{'builtin.module' op cannot be simulated: no tensor type carries a layout}}
module {
  func.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

#r = #tp.layout<<"tp" = 2>, [replicate]>
func.func @no_layout(%x: tensor<4xf32, #r>) -> tensor<4xf32, #r> {
  // expected-error @below {{'tensor.empty' op has a tensor without a layout, 'tensor<4xf32>'}}
  %empty = tensor.empty() : tensor<4xf32>
  return %x : tensor<4xf32, #r>
}

// -----

#r = #tp.layout<<"tp" = 2>, [replicate]>
#other = #tp.layout<<"tp" = 3>, [replicate]>
func.func @two_meshes(%x: tensor<4xf32, #r>) -> tensor<4xf32, #r> {
  // expected-error @below {{'tensor.empty' op is laid out on #tp.mesh<"tp" = 3>, the program on #tp.mesh<"tp" = 2>}}
  %empty = tensor.empty() : tensor<4xf32, #other>
  return %x : tensor<4xf32, #r>
}

// -----

#r = #tp.layout<<"tp" = 2000>, [replicate]>
// expected-error @below {{has 2000 ranks, at most 1024 can be simulated}}
module {
  func.func @too_many(%x: tensor<4xf32, #r>) -> tensor<4xf32, #r> {
    return %x : tensor<4xf32, #r>
  }
}

// -----

#r = #tp.layout<<"tp" = 2>, [replicate]>
func.func @unknown(%x: tensor<4xf32, #r>) -> tensor<4xf32, #r> {
  // expected-error @below {{'shape.shape_of' op cannot be simulated}}
  %s = shape.shape_of %x : tensor<4xf32, #r> -> !shape.shape
  return %x : tensor<4xf32, #r>
}

// -----

#r = #tp.layout<<"tp" = 2>, [replicate]>
// expected-error @below {{'func.func' op cannot be simulated: argument 0 is a 'tensor<?xf32}}
func.func @dynamic(%x: tensor<?xf32, #r>) {
  return
}

// -----

#r = #tp.layout<<"tp" = 2>, [replicate]>
func.func @complex(%x: tensor<4xf32, #r>) -> tensor<4xf32, #r> {
  // expected-error @below {{'tensor.empty' op cannot be simulated: no numbers of type 'tensor<4xcomplex<f32>}}
  %empty = tensor.empty() : tensor<4xcomplex<f32>, #r>
  return %x : tensor<4xf32, #r>
}

// -----

#r = #tp.layout<<"tp" = 2>, [replicate]>
func.func @division(%x: tensor<4xi32, #r>, %y: i32) -> tensor<4xi32, #r> {
  %zero = arith.constant dense<0> : tensor<4xi32, #r>
  // expected-error @below {{'arith.divsi' op divides by zero}}
  %d = arith.divsi %x, %zero : tensor<4xi32, #r>
  return %x : tensor<4xi32, #r>
}
