// RUN: tp-compile %s --verify -o %t.tp

// What is summed up begins with partial sums in bf16: each rank rounds its own, so
// that the f32 sums of all differ by a bf16's last place. It was taken for an
// error of the layouts.

#mesh = #tp.mesh<"tp" = 3>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<3xbf16> {tp.name = "x", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<bf16> {
    %one = arith.constant dense<1.0> : tensor<bf16>
    %first = linalg.dot ins(%x, %x : tensor<3xbf16>, tensor<3xbf16>) outs(%one : tensor<bf16>) -> tensor<bf16>
    %second = linalg.dot ins(%x, %x : tensor<3xbf16>, tensor<3xbf16>) outs(%first : tensor<bf16>) -> tensor<bf16>
    return %second : tensor<bf16>
  }
}
