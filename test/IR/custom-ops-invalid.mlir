// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected the name of an op, such as "dialect.op", got "matmul"}}
tp.rule "matmul" "i -> i"

// -----

// expected-error@+1 {{expected the operands' dimensions, '->' and the results', such as "b i k, k j -> b i j"}}
tp.rule "my.op" "i k, k j"

// -----

// expected-error@+1 {{expected names of dimensions with spaces between, such as 'b i k', got 'i*'}}
tp.rule "my.op" "i* -> i"

// -----

// expected-error@+1 {{'i' stands twice in operand #0, expected another name or '_' for one of them}}
tp.rule "my.op" "i i -> i"

// -----

// expected-error@+1 {{'k' is reduced, but result #1 has it}}
tp.rule "my.op" "i k -> i, k" {reduction = ["k"]}

// -----

// expected-error@+1 {{'reduction' lists names of the operands' dimensions, got "m"}}
tp.rule "my.op" "i k -> i" {reduction = ["m"]}

// -----

// expected-error@+1 {{'reduction' lists 'k' twice}}
tp.rule "my.op" "i k -> i" {reduction = ["k", "k"]}

// -----

// expected-error@+1 {{'reduction' takes a list of names, such as ["k"]}}
tp.rule "my.op" "i k -> i" {reduction = "k"}

// -----

// expected-error@+1 {{'combine' is "sum", "product", "max" or "min", got "avg"}}
tp.rule "my.op" "i k -> i" {reduction = ["k"], combine = "avg"}

// -----

// expected-error@+1 {{'combine' is how the parts of a reduction combine, expected 'reduction' too}}
tp.rule "my.op" "i k -> i" {combine = "max"}

// -----

// expected-error@+1 {{tp.rule has no option 'reduce', its options are reduction and combine}}
tp.rule "my.op" "i k -> i" {reduce = ["k"]}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{a rule holds on every axis: expected it before or behind the plans of the file}}
  tp.rule "my.op" "i -> i"
}

// -----

func.func @sizes(%a: tensor<4x8xf32>, %b: tensor<7x6xf32>) -> tensor<4x6xf32> {
  // expected-error@+1 {{'k' of the rule stands for sizes 8 and 7}}
  %0 = tp.custom "my.op"(%a, %b) {rule = "i k, k j -> i j"} : (tensor<4x8xf32>, tensor<7x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @attributes(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'kind' is f32, which no implementation can read: expected a number, a text, or a list of integers or of floats}}
  %0 = tp.custom "my.op"(%a) {op_attributes = {kind = f32}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @counts(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{a rank has from 0 to 4 indices of this dimension, got 5}}
  %0 = tp.custom "my.op"(%a) {valid = [array<i64: 4, 5>], valid_dims = [array<i64: 0>, array<i64: 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @without_rule(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'reduction' and 'combine' are of a rule, expected 'rule' too}}
  %0 = tp.custom "my.op"(%a) {reduction = ["k"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @strides(%a: memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>) {
  %0 = tp.alloc : memref<4xf32>
  // expected-error@+1 {{operands have one stride per dimension}}
  tp.call "my.op"(%a) into (%0) : (memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>) into (memref<4xf32>)
  return
}
