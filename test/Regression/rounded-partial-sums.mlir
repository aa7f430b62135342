// RUN: tp-compile %s --verify -o %t.tp 2>&1 | count 1
// RUN: %python -c "import sys; sys.path.append('%S/..'); import npy; npy.write(sys.argv[1], '|V2', [3], bytes.fromhex('803f00404040'))" %t.x.npy
// RUN: tp-run %t.tp --dtype=bf16 --input=x=@%t.x.npy --output=y=@%t.y.npy
// RUN: %python -c "import sys; sys.path.append('%S/..'); import npy; print(npy.read(sys.argv[1]).hex())" %t.y.npy | FileCheck %s

// 1 and twice 1 * 1 + 2 * 2 + 3 * 3, which bf16 has.
// CHECK: {{^}}e841{{$}}

// What is summed up begins with partial sums in bf16: each rank rounds its own, so
// that the f32 sums of all differ by a bf16's last place. It was taken for an
// error of the layouts.

#mesh = #tp.mesh<"tp" = 3>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<3xbf16> {tp.name = "x", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<bf16> {tp.name = "y"}) {
    %one = arith.constant dense<1.0> : tensor<bf16>
    %first = linalg.dot ins(%x, %x : tensor<3xbf16>, tensor<3xbf16>) outs(%one : tensor<bf16>) -> tensor<bf16>
    %second = linalg.dot ins(%x, %x : tensor<3xbf16>, tensor<3xbf16>) outs(%first : tensor<bf16>) -> tensor<bf16>
    return %second : tensor<bf16>
  }
}
