// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp --input=own=2x9x64xf32=1 --input=others=2x64x9xbf16=2 | FileCheck %s

// Rows of nine are a vector of eight and one more, which on processors with
// AVX-512 is a masked store of one element. It was four bytes: the first element
// of the next row was 0 before it was read, and what is behind the last row was
// written too.

// CHECK: sum: bf16[2, 64, 9], min 3, max 3,

#turned = affine_map<(h, d, k) -> (h, k, d)>
#id = affine_map<(h, d, k) -> (h, d, k)>
func.func @main(%own: tensor<2x9x64xf32> {tp.name = "own"},
                %others: tensor<2x64x9xbf16> {tp.name = "others"})
    -> (tensor<2x64x9xbf16> {tp.name = "sum", tp.updates = "others"}) {
  %e = tensor.empty() : tensor<2x64x9xbf16>
  %sum = linalg.generic {indexing_maps = [#turned, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%own, %others : tensor<2x9x64xf32>, tensor<2x64x9xbf16>) outs(%e : tensor<2x64x9xbf16>) {
  ^bb0(%a: f32, %b: bf16, %o: bf16):
    %rounded = arith.truncf %a : f32 to bf16
    %x = arith.extf %rounded : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %z = arith.addf %x, %y : f32
    %w = arith.truncf %z : f32 to bf16
    linalg.yield %w : bf16
  } -> tensor<2x64x9xbf16>
  return %sum : tensor<2x64x9xbf16>
}
