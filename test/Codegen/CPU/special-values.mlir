// RUN: tp-opt %s --tp-cpu-compile=output=%t.tp -o /dev/null
// RUN: tp-run %t.tp --ranks=1 --output=exp=@%t.exp.npy --output=tanh=@%t.tanh.npy --output=erf=@%t.erf.npy --output=log=@%t.log.npy --output=max=@%t.max.npy --output=min=@%t.min.npy --output=empty=@%t.empty.npy --output=none=@%t.none.npy --output=one=@%t.one.npy --output=tail=@%t.tail.npy
// RUN: %python %S/Inputs/print_npy.py %t.exp.npy %t.tanh.npy %t.erf.npy %t.log.npy %t.max.npy %t.min.npy %t.empty.npy %t.none.npy %t.one.npy %t.tail.npy | FileCheck %s

// Inputs: NaN, inf, -inf, 0, 1, -1, 90, -110, 0.5. NaN passes through.
// CHECK:      {{^}}nan inf 0 1 2.71828 0.367879 inf {{0|[0-9.]+e-4[0-9]}} 1.64872
// CHECK-NEXT: {{^}}nan 1 -1 0 0.761594 -0.761594 1 -1 0.462117
// CHECK-NEXT: {{^}}nan 1 -1 0 0.842701 -0.842701 1 -1 0.5205
// CHECK-NEXT: {{^}}nan inf nan -inf 0 nan 4.49981 nan -0.693147

// A maximum and a minimum with a NaN in row 0, none in row 1, over 37 columns.
// CHECK-NEXT: {{^}}nan 36
// CHECK-NEXT: {{^}}nan 0

// Nothing to reduce leaves the init; nothing to write writes nothing.
// CHECK-NEXT: {{^}}7 7 7
// CHECK-EMPTY:
// A contraction of one element, and over an odd number.
// CHECK-NEXT: {{^}}6
// CHECK-NEXT: {{^}}16206 16206 16206
func.func @main() -> (tensor<9xf32> {tp.name = "exp"}, tensor<9xf32> {tp.name = "tanh"}, tensor<9xf32> {tp.name = "erf"}, tensor<9xf32> {tp.name = "log"},
                      tensor<2xf32> {tp.name = "max"}, tensor<2xf32> {tp.name = "min"}, tensor<3xf32> {tp.name = "empty"}, tensor<0x4xf32> {tp.name = "none"},
                      tensor<1x1xf32> {tp.name = "one"}, tensor<1x3xf32> {tp.name = "tail"}) {
  %x = arith.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000, 0.0, 1.0, -1.0, 90.0, -110.0, 0.5]> : tensor<9xf32>
  %e = tensor.empty() : tensor<9xf32>
  %exp = linalg.exp ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %tanh = linalg.tanh ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %erf = linalg.erf ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %log = linalg.log ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>

  %nan = arith.constant 0x7FC00000 : f32
  %m = tensor.empty() : tensor<2x37xf32>
  %table = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%m : tensor<2x37xf32>) {
  ^bb0(%o: f32):
    %c11 = arith.constant 11 : index
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
    %i = arith.index_cast %c : index to i64
    %f = arith.sitofp %i : i64 to f32
    %s = arith.addi %r, %c : index
    %k = arith.cmpi eq, %s, %c11 : index
    %c1 = arith.constant 1 : index
    %row = arith.cmpi ne, %r, %c1 : index
    %h = arith.andi %k, %row : i1
    %v = arith.select %h, %nan, %f : f32
    linalg.yield %v : f32
  } -> tensor<2x37xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<2xf32>
  %highest = arith.constant dense<0x7F800000> : tensor<2xf32>
  %max = linalg.reduce { arith.maximumf } ins(%table : tensor<2x37xf32>) outs(%lowest : tensor<2xf32>) dimensions = [1]
  %min = linalg.reduce { arith.minimumf } ins(%table : tensor<2x37xf32>) outs(%highest : tensor<2xf32>) dimensions = [1]

  %nothing = tensor.empty() : tensor<3x0xf32>
  %seven = arith.constant dense<7.0> : tensor<3xf32>
  %empty = linalg.reduce { arith.addf } ins(%nothing : tensor<3x0xf32>) outs(%seven : tensor<3xf32>) dimensions = [1]
  %z = tensor.empty() : tensor<0x4xf32>
  %none = linalg.exp ins(%z : tensor<0x4xf32>) outs(%z : tensor<0x4xf32>) -> tensor<0x4xf32>

  %two = arith.constant dense<2.0> : tensor<1x1xf32>
  %three = arith.constant dense<3.0> : tensor<1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<1x1xf32>
  %one = linalg.matmul ins(%two, %three : tensor<1x1xf32>, tensor<1x1xf32>) outs(%zero : tensor<1x1xf32>) -> tensor<1x1xf32>

  %row = tensor.extract_slice %table[1, 0] [1, 37] [1, 1] : tensor<2x37xf32> to tensor<1x37xf32>
  %em = tensor.empty() : tensor<37x3xf32>
  %flat = tensor.collapse_shape %row [[0, 1]] : tensor<1x37xf32> into tensor<37xf32>
  %b = linalg.broadcast ins(%flat : tensor<37xf32>) outs(%em : tensor<37x3xf32>) dimensions = [1]
  %zeros = arith.constant dense<0.0> : tensor<1x3xf32>
  %tail = linalg.matmul ins(%row, %b : tensor<1x37xf32>, tensor<37x3xf32>) outs(%zeros : tensor<1x3xf32>) -> tensor<1x3xf32>
  return %exp, %tanh, %erf, %log, %max, %min, %empty, %none, %one, %tail : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<0x4xf32>, tensor<1x1xf32>, tensor<1x3xf32>
}
