// What is refused, by name, after tp-legalize has done what it can.
// RUN: tp-opt %s --tp-legalize --tp-verify-legal --split-input-file --verify-diagnostics

func.func @while(%x: tensor<6xf32>, %n: index) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'scf.while' is not handled, expected a loop of constant bounds; how often this one runs is known only at run time}}
  %y, %m = scf.while (%v = %x, %k = %n) : (tensor<6xf32>, index) -> (tensor<6xf32>, index) {
    %more = arith.cmpi sgt, %k, %c0 : index
    scf.condition(%more) %v, %k : tensor<6xf32>, index
  } do {
  ^bb0(%v: tensor<6xf32>, %k: index):
    %c1 = arith.constant 1 : index
    %less = arith.subi %k, %c1 : index
    scf.yield %v, %less : tensor<6xf32>, index
  }
  return %y : tensor<6xf32>
}

// -----

// expected-note@+1 {{this function has 3 blocks}}
func.func @branches(%x: tensor<6xf32>, %c: i1) -> tensor<6xf32> {
  // expected-error@+1 {{'cf.cond_br' is not handled, expected a function of one block; write branches as scf.if}}
  cf.cond_br %c, ^bb1, ^bb2(%x : tensor<6xf32>)
^bb1:
  %y = math.exp %x : tensor<6xf32>
  cf.br ^bb2(%y : tensor<6xf32>)
^bb2(%z: tensor<6xf32>):
  return %z : tensor<6xf32>
}

// -----

// expected-error@+1 {{expected tensors of static shape, got 'tensor<?x4xf32>'; export the model with fixed sizes}}
func.func @dynamic_rows(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// -----

func.func @dynamic_slice(%x: tensor<6xf32>, %n: index) -> tensor<6xf32> {
  // expected-error@+1 {{'tensor.extract_slice': expected tensors of static shape, got 'tensor<?xf32>', whose dimension 0 no constant tells; export the model with fixed sizes}}
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<6xf32> to tensor<?xf32>
  return %x : tensor<6xf32>
}

// -----

// expected-error@+1 {{expected tensors of static shape, got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error@+1 {{type 'memref<6xf32>' is not handled, expected tensors and numbers}}
func.func @memref(%x: memref<6xf32>) {
  return
}

// -----


func.func @complex_bits(%x: tensor<6xf32>) -> tensor<6xi64> {
  %e = tensor.empty() : tensor<6xi64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<6xf32>) outs(%e : tensor<6xi64>) {
  ^bb0(%a: f32, %o: i64):
    %c = complex.create %a, %a : complex<f32>
    // expected-error@+1 {{'complex.bitcast' of complex numbers is not handled, expected their arithmetic and functions}}
    %r = complex.bitcast %c : complex<f32> to i64
    linalg.yield %r : i64
  } -> tensor<6xi64>
  return %y : tensor<6xi64>
}

// -----

// expected-error@+1 {{'memref.global' is not handled, expected ops of linalg, tensor, arith and math on tensors}}
memref.global "private" constant @g : memref<2xf32> = dense<1.0>
func.func @main(%x: tensor<6xf32>) {
  return
}

// -----

func.func @parallel(%x: tensor<6xf32>) -> tensor<6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{'scf.parallel' is not handled, expected linalg.generic}}
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    scf.reduce
  }
  return %x : tensor<6xf32>
}

// -----

func.func @in_body(%x: tensor<6xf32>, %t: tensor<4xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{'tensor.extract_slice' is not handled, expected ops of linalg, tensor, arith and math on tensors}}
    %s = tensor.extract_slice %t[1] [1] [1] : tensor<4xf32> to tensor<1xf32>
    %v = tensor.extract %s[%c0] : tensor<1xf32>
    linalg.yield %v : f32
  } -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @without_elements(%x: tensor<0xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'tensor.extract' on a tensor without elements is not handled, got 'tensor<0xf32>'}}
  %v = tensor.extract %x[%c0] : tensor<0xf32>
  %y = tensor.from_elements %v : tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @vector(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{type 'vector<4xf32>' is not handled, expected tensors and numbers}}
  %v = vector.transfer_read %x[%c0], %z : tensor<4xf32>, vector<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @sparse() -> tensor<4xf32> {
  // expected-error@+1 {{constant of 'tensor<4xf32>' holds no numbers, expected dense elements}}
  %c = arith.constant sparse<[[1]], [2.0]> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @read_outside(%x: tensor<3xf32>, %o: tensor<9xf32>) -> tensor<9xf32> {
  // expected-error@+1 {{index of dimension #0 of operand #0, d0 mod 4, is 3 at loops [3], expected 0 to 2, which is what the dimension has}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 4)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<3xf32>) outs(%o : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @read_before(%x: tensor<4xf32>, %o: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{index of dimension #0 of operand #0, d1 - d0, is -1 at loops [1, 0], expected 0 to 3}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1 - d0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @divided_by_less_than_one(%x: tensor<9xf32>, %o: tensor<9xf32>) -> tensor<9xf32> {
  // expected-error@+1 {{index of dimension #0 of operand #0, d0 floordiv -1 + 8, divides by -1, expected a constant above 0}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 floordiv -1 + 8)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%o : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @large_numbers(%x: tensor<4xf32>, %o: tensor<9xf32>) -> tensor<9xf32> {
  // expected-error@+1 {{reaches numbers beyond 281474976710656, expected smaller factors}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> ((d0 * 562949953421313) mod 4)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @too_many_iterations(%x: tensor<4xf32>, %o: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  // expected-error@+1 {{cannot be shown to stay within 0 to 3; expected an index that takes at most 16777216 iterations to follow, or one without divisions}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 + d1) mod 5 - (d0 * 6 + d1) mod 5)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<8192x8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8192x8192xf32>
  return %y : tensor<8192x8192xf32>
}

// -----

func.func @place_at_a_constant(%x: tensor<4xf32>, %o: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{index of dimension #1 of operand #1, 1, is no place of an output that is handled, expected a loop; write the elements to a tensor of their own and place them by tensor.insert_slice}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, 1)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<4x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

func.func @places_on_a_diagonal(%x: tensor<4xf32>, %o: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{index of dimension #1 of operand #1, d0, indexes two dimensions of an output, expected a loop of its own for each}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

func.func @divided_in_a_body(%o: tensor<9xindex>) -> tensor<9xindex> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%o : tensor<9xindex>) {
  ^bb0(%b: index):
    %i = linalg.index 0 : index
    // expected-error@+1 {{'affine.apply' divides by a constant below 1, expected one above 0 in affine_map<(d0) -> (d0 mod -2)>}}
    %j = affine.apply affine_map<(d0) -> (d0 mod -2)>(%i)
    linalg.yield %j : index
  } -> tensor<9xindex>
  return %y : tensor<9xindex>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @rounded_up(%x: tensor<2xf32>, %o: tensor<9xf32>) -> tensor<9xf32> {
  // expected-error@+1 {{(d0 mod 4) ceildiv 2, is 2 at loops [3], expected 0 to 1}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> ((d0 mod 4) ceildiv 2)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%o : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<9xf32>
  return %y : tensor<9xf32>
}

// -----

// Ranges alone do not tell that these stay inside.
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @followed(%x: tensor<1xf32>, %z: tensor<2xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 - d1) mod 2 - (d0 + d1) mod 2)>, affine_map<(d0, d1) -> ((d0 - d1) ceildiv 2 - (d0 - d1) floordiv 2)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %z : tensor<1xf32>, tensor<2xf32>) outs(%o : tensor<8x8xf32>) {
  ^bb0(%a: f32, %c: f32, %b: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @scan(%x: tensor<4xf32>, %o: tensor<4xf32>, %a: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tm_tensor.scan' is not handled, expected a sum over a masked dimension; export with a decomposition of aten.cumsum, such as}}
  %y:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<4xf32>) outs(%o, %a : tensor<4xf32>, tensor<f32>) {
  ^bb0(%sum: f32, %in: f32):
    %s = arith.addf %sum, %in : f32
    tm_tensor.yield %s : f32
  } -> tensor<4xf32>, tensor<f32>
  return %y#0 : tensor<4xf32>
}

// -----

func.func @sort(%x: tensor<3x4xf32>, %i: tensor<3x4xi64>) -> tensor<3x4xf32> {
  // expected-error@+1 {{'tm_tensor.sort' is not handled, expected linalg ops; export with a decomposition of aten.sort}}
  %y:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<3x4xf32>, tensor<3x4xi64>) {
  ^bb0(%a: f32, %b: f32, %m: i64, %n: i64):
    %c = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %c : i1
  } -> tensor<3x4xf32>, tensor<3x4xi64>
  return %y#0 : tensor<3x4xf32>
}

// -----

func.func @topk(%x: tensor<2x5xf32>, %o: tensor<2x3xf32>, %i: tensor<2x3xi64>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'tm_tensor.topk' is not handled, expected linalg ops; export with a decomposition of aten.sort or aten.topk}}
  %y:2 = tm_tensor.topk dimension(1) ins(%x : tensor<2x5xf32>) outs(%o, %i : tensor<2x3xf32>, tensor<2x3xi64>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %c : i1
  } -> tensor<2x3xf32>, tensor<2x3xi64>
  return %y#0 : tensor<2x3xf32>
}

// -----

func.func @attention(%q: tensor<2x4x8xf32>, %o: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  // expected-error@+1 {{'tm_tensor.attention' is not handled, expected its products and its softmax; export with sdpa_kernel(SDPBackend.MATH) around, or with attn_implementation="eager"}}
  %y = tm_tensor.attention ins(%q, %q, %q : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) outs(%o : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// Only tensors and scalars of complex numbers are split.
// expected-error@+1 {{complex numbers are not handled, got 'memref<2xcomplex<f32>>'; expected real and imaginary parts apart}}
func.func @main(%x: memref<2xcomplex<f32>>, %y: tensor<2xf32>) -> tensor<2xf32> {
  return %y : tensor<2xf32>
}
