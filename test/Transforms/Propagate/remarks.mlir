// RUN: tp-opt %s --tp-propagate=remarks --verify-diagnostics

// Each change of a value is told once; a shard is cut from a copy that is
// replicated anyway.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  // expected-note@+2 {{argument #0 ('x') is pinned to shard<0>}}
  // expected-note@+1 {{the value is made by argument #0 ('x')}}
  func.func @main(%x: tensor<16x8xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
    // expected-remark@+2 {{input of 'a' takes its value from shard<0> to replicate on axis 'tp' by all_gather, 256 bytes per rank}}
    // expected-note@+1 {{input of 'a' is pinned to replicate}}
    %a = tp.constrain %x on "tp" of #mesh to replicate view [16, 8] at "a" "input" : tensor<16x8xf32>
    // No remark: the copy is there.
    %b = tp.constrain %x on "tp" of #mesh to replicate view [16, 8] at "b" "input" : tensor<16x8xf32>
    // expected-remark@+2 {{input of 'c' takes its value from shard<0> to shard<1> on axis 'tp' from the replicated copy}}
    // expected-note@+1 {{input of 'c' is pinned to shard<1>}}
    %c = tp.constrain %x on "tp" of #mesh to shard<1> view [16, 8] at "c" "input" : tensor<16x8xf32>
    return %a, %b, %c : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
}
