// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-cpu-compile=show=manifest

// expected-error @below {{the CPU target needs static shapes, got 'tensor<?x4xf32>'}}
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> { // expected-error {{element type 'complex<f32>' is not handled by the CPU target}}
  return %x : tensor<4xcomplex<f32>>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xindex>
  %s = tensor.empty() : tensor<4x1x4xf32>
  // expected-error @below {{'tensor.scatter' in this form is not handled by the CPU target}}
  %y = tensor.scatter %s into %x[%c] scatter_dims([0]) unique : (tensor<4x1x4xf32>, tensor<4x4xf32>, tensor<4x1xindex>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %k = arith.cmpf ogt, %a, %o : f32
    // expected-error @below {{'scf.if' in the body of a linalg op is not handled by the CPU target}}
    %v = scf.if %k -> f32 {
      scf.yield %a : f32
    } else {
      scf.yield %o : f32
    }
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{expected all functions on tensors, got one on memory}}
func.func @other(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  // expected-error @below {{'w': local type 'tensor<4xf32>' is not what layout [shard<0>] makes of 'tensor<6xf32>'}}
  func.func @main(%x: tensor<4xf32> {tp.name = "w", tp.layout = #tp.layout<<"tp" = 2>, [shard<0>]>, tp.global_type = tensor<6xf32>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
    // expected-error @below {{expected axes of the mesh of the module}}
    %i = tp.axis_index over <<"tp" = 4>, ["tp"]> : index
    %y = tensor.extract_slice %x[%i] [2] [1] : tensor<4xf32> to tensor<2xf32>
    return %y : tensor<2xf32>
  }
}

// -----

// Signs are those of ops, not of types.
func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> { // expected-error {{element type 'ui8' is not handled by the CPU target, expected f64, f32,}}
  return %x : tensor<4xui8>
}

// -----

func.func @main(%x: tensor<4xi4>) -> tensor<4xi4> { // expected-error {{element type 'i4' is not handled by the CPU target, expected f64, f32,}}
  return %x : tensor<4xi4>
}

// -----

func.func @main(%x: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %e = tensor.empty() : tensor<4xf8E4M3FN>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf8E4M3FN>) outs(%e : tensor<4xf8E4M3FN>) {
  ^bb0(%a: f8E4M3FN, %o: f8E4M3FN):
    // expected-error @below {{'arith.addf' on floats of eight bits is not handled by the CPU target, expected them to be cast to f32 before and from f32 after}}
    %s = arith.addf %a, %a : f8E4M3FN
    linalg.yield %s : f8E4M3FN
  } -> tensor<4xf8E4M3FN>
  return %y : tensor<4xf8E4M3FN>
}

// -----

// tp-legalize writes such roundings out.
func.func @main(%x: tensor<4xf64>) -> tensor<4xf8E5M2> {
  %e = tensor.empty() : tensor<4xf8E5M2>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%e : tensor<4xf8E5M2>) {
  ^bb0(%a: f64, %o: f8E5M2):
    // expected-error @below {{rounding mode upward is not handled by the CPU target; run tp-legalize before}}
    %s = arith.truncf %a upward : f64 to f8E5M2
    linalg.yield %s : f8E5M2
  } -> tensor<4xf8E5M2>
  return %y : tensor<4xf8E5M2>
}
