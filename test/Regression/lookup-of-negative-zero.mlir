// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp --input=a0=@%S/Inputs/lookup-of-negative-zero/a0.npy --input=a1=@%S/Inputs/lookup-of-negative-zero/a1.npy --output=r0=@%t.npy
// RUN: tail -c 80 %t.npy > %t.got
// RUN: tail -c 80 %S/Inputs/lookup-of-negative-zero/expected0.npy | cmp - %t.got

// The rank that does not hold a row adds the identity to it. That was 0.0, which makes
// 0.0 of -0.0; the bits show it.

module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
func.func @main(%w: tensor<6x5xf32> {tp.name = "a0", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0>>}}, %i: tensor<4xi32> {tp.name = "a1", tp.kind = "user_input"}) -> (tensor<4x5xf32> {tp.name = "r0"}) {
%e = tensor.empty() : tensor<4x5xf32>
%r = linalg.generic {indexing_maps=[affine_map<(d0,d1)->(d0)>,affine_map<(d0,d1)->(d0,d1)>],iterator_types=["parallel","parallel"]} ins(%i : tensor<4xi32>) outs(%e : tensor<4x5xf32>) {
^bb0(%a: i32, %o: f32):
 %x = arith.index_cast %a : i32 to index
 %j = linalg.index 1 : index
 %v = tensor.extract %w[%x, %j] : tensor<6x5xf32>
 linalg.yield %v : f32
} -> tensor<4x5xf32>
return %r : tensor<4x5xf32>
}
}
