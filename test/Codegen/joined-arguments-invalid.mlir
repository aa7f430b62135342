// RUN: tp-opt %s --split-input-file --tp-assign-storage --verify-diagnostics -o /dev/null

// Joined memory by hand, of a function on tensors or on memory, that is not
// exactly its parts.

// expected-error@+1 {{'tp.joined': there is no argument 4}}
func.func @none(%a: tensor<2x3xf32>, %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 4>}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

// expected-error@+1 {{'tp.joined': argument 0 is joined twice}}
func.func @twice(%a: tensor<2x3xf32>, %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 0>}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

// expected-error@+1 {{'tp.joined': argument 1 is read by itself}}
func.func @read(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 1>}) -> (tensor<4x3xf32>, tensor<2x3xf32>) {
  return %m, %b : tensor<4x3xf32>, tensor<2x3xf32>
}

// -----

// expected-error@+1 {{'tp.joined': argument 1 has elements of another type}}
func.func @type(%a: tensor<2x3xf32>, %b: tensor<2x3xi32>, %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 1>}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

// expected-error@+1 {{'tp.joined': its parts have 9 of 12 elements}}
func.func @size(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>, %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 1>}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

// expected-error@+1 {{'tp.joined': expected two arguments or more}}
func.func @one(%a: tensor<2x3xf32>, %m: tensor<2x3xf32> {tp.joined = array<i64: 0>}) -> tensor<2x3xf32> {
  return %m : tensor<2x3xf32>
}

// -----

// expected-error@+1 {{'tp.joined': expected an argument that is no port, got one with a name}}
func.func @named(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %m: tensor<4x3xf32> {tp.name = "m", tp.joined = array<i64: 0, 1>}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

// expected-error@+1 {{expected 'tp.joined' to be numbers of arguments, got "a"}}
func.func @text(%a: tensor<2x3xf32>, %m: tensor<4x3xf32> {tp.joined = "a"}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

func.func @order(
    // expected-error@+1 {{expected 'tp.permutation' to be the dimensions of 'tensor<2x3xf32>' in some order, got array<i64: 1, 1>}}
    %a: tensor<2x3xf32> {tp.permutation = array<i64: 1, 1>}, %b: tensor<2x3xf32>,
    %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 1>}) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}

// -----

func.func @behind(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %m: tensor<4x3xf32> {tp.joined = array<i64: 0, 1>},
    // expected-error@+1 {{expected joined memory behind all ports}}
    %c: tensor<2x3xf32>) -> tensor<4x3xf32> {
  return %m : tensor<4x3xf32>
}
