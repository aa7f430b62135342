// Several axes: what one of them may do costs what it costs together with the
// others.
// RUN: tp-opt %s -split-input-file --tp-legalize --tp-normalize --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s
// RUN: tp-opt %s -split-input-file --tp-legalize --tp-normalize --tp-propagate=objective=time --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=TIME

// Shards over "b" are parts of those over "a", so that a rank cannot cut its own
// shard over "b" further over "a" without sending anything: both ranks that
// differ in "a" do the same.
#mesh = #tp.mesh<"a" = 2, "b" = 2>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @cut_of_a_shard(
  // CHECK-NOT: tp.local_slice
  // CHECK-NOT: tp.permute
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg0 :
  // CHECK: arith.mulf
  // CHECK: } -> tensor<128xf32, #{{.*}}[replicate, shard<0>]>>
  // CHECK-NEXT: return
  func.func @cut_of_a_shard(%x: tensor<128xf32> {tp.pin = {b = #tp.placement<shard<0>>}}) -> tensor<128xf32> {
    %y = arith.mulf %x, %x : tensor<128xf32>
    return %y : tensor<128xf32>
  }
}

// -----

// Where a pin wants that, whole shards change places.
#mesh = #tp.mesh<"a" = 2, "b" = 2>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @pinned(
  // CHECK: tp.local_slice
  // CHECK-NEXT: tp.permute {{.*}}[shard<0>, shard<0>]
  // CHECK-NEXT: linalg.generic {indexing
  // CHECK: arith.mulf
  // CHECK: } -> tensor<128xf32, #{{.*}}[shard<0>, shard<0>]>>
  // CHECK-NEXT: return
  func.func @pinned(%x: tensor<128xf32> {tp.pin = {b = #tp.placement<shard<0>>}}) -> (tensor<128xf32> {tp.pin = {a = #tp.placement<shard<0>>, b = #tp.placement<shard<0>>}}) {
    %y = arith.mulf %x, %x : tensor<128xf32>
    return %y : tensor<128xf32>
  }
}

// -----

// Both orders of the axes first find something dearer: the sums over "a" and the
// last result's shards over "b" are decided again, seeing each other.
#mesh = #tp.mesh<"a" = 2, "b" = 2>
#rows = affine_map<(d0, d1, d2) -> (d0, d1)>
#columns = affine_map<(d0, d1, d2) -> (d1, d2)>
#product = affine_map<(d0, d1, d2) -> (d0, d2)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @decided_again(
  // CHECK-COUNT-1: tp.permute
  // CHECK-COUNT-1: tp.all_gather
  // CHECK-NOT: tp.permute
  // CHECK-COUNT-1: tp.all_to_all
  // CHECK-NOT: tp.{{(all_|permute |reduce_)}}
  // CHECK: return
  func.func @decided_again(%x: tensor<128x32xi32> {tp.pin = {b = #tp.placement<shard<0>>}},
                           %y: tensor<32x128xi32> {tp.pin = {b = #tp.placement<shard<1>>}},
                           %z: tensor<32xi32> {tp.kind = "parameter", tp.pin = {a = #tp.placement<replicate>, b = #tp.placement<shard<0>>}})
      -> (tensor<128x128xi32> {tp.pin = {a = #tp.placement<shard<0>>, b = #tp.placement<shard<0>>}},
          tensor<32xi32> {tp.pin = {b = #tp.placement<shard<0>>}}) {
    %e = tensor.empty() : tensor<128x128xi32>
    %c = arith.constant 0 : i32
    %f = linalg.fill ins(%c : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
    %p = linalg.generic {indexing_maps = [#rows, #columns, #product], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%x, %y : tensor<128x32xi32>, tensor<32x128xi32>) outs(%f : tensor<128x128xi32>) {
      ^bb0(%a : i32, %b : i32, %s : i32):
        %m = arith.muli %a, %b : i32
        %t = arith.addi %s, %m : i32
        linalg.yield %t : i32
    } -> tensor<128x128xi32>
    %q = arith.muli %x, %x : tensor<128x32xi32>
    %r = linalg.generic {indexing_maps = [#all, #last], iterator_types = ["reduction", "parallel"]}
        ins(%q : tensor<128x32xi32>) outs(%z : tensor<32xi32>) {
      ^bb0(%a : i32, %s : i32):
        %t = arith.minsi %s, %a : i32
        linalg.yield %t : i32
    } -> tensor<32xi32>
    return %p, %r : tensor<128x128xi32>, tensor<32xi32>
  }
}

// -----

// Computing counts together with sending: on shards, before the gather.
#mesh = #tp.mesh<"a" = 2, "b" = 2>
module attributes {tp.mesh = #mesh} {
  // TIME-LABEL: func.func @computed_on_shards(
  // TIME-NOT: tp.all_gather
  // TIME: arith.negf
  // TIME: tp.all_gather
  func.func @computed_on_shards(%x: tensor<512xf16> {tp.pin = {a = #tp.placement<shard<0>>}}) -> (tensor<512xf16> {tp.pin = {a = #tp.placement<replicate>}}) {
    %y = arith.negf %x : tensor<512xf16>
    return %y : tensor<512xf16>
  }
}
