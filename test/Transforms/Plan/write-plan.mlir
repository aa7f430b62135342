// RUN: split-file %s %t
// RUN: tp-opt %t/pair.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-normalize --tp-propagate --tp-write-plan='plan=auto mesh=tp=2' -o %t.out | FileCheck %s --check-prefix=MODULES
// RUN: tp-opt %t/pair.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-normalize --tp-propagate --tp-write-plan='plan=auto mesh=tp=2 entries=ports' -o %t.out | FileCheck %s --check-prefix=PORTS
// RUN: tp-opt %t/pair.mlir --tp-apply-plan=plan=%t/some.mlir --tp-normalize --tp-propagate --tp-write-plan=plan=%t/some.mlir -o %t.out | FileCheck %s --check-prefix=SOME
// RUN: tp-opt %t/pair.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-normalize --tp-propagate --tp-write-plan='plan=auto mesh=tp=2 file=%t/plan.mlir' -o %t.out
// RUN: tp-opt %t/pair.mlir --tp-apply-plan=plan=%t/plan.mlir --tp-normalize --tp-propagate | FileCheck %s --check-prefix=AGAIN
// RUN: not tp-opt %t/pair.mlir --tp-write-plan='plan=auto mesh=tp=2' 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not tp-opt %t/pair.mlir --tp-apply-plan='plan=auto mesh=tp=2' --tp-normalize --tp-propagate --tp-write-plan='plan=auto mesh=tp=2 entries=words' 2>&1 | FileCheck %s --check-prefix=WORDS

// Of two layers the second one's sums are scattered into the result.
// MODULES:      #mesh = #tp.mesh<"tp" = 2>
// MODULES-NEXT: tp.plan @auto on #mesh["tp"] auto {
// MODULES-NEXT:   tp.parallelize "layers.*.up" with colwise
// MODULES-NEXT:   tp.parallelize "layers.0.down" with rowwise
// MODULES-NEXT:   tp.parallelize "layers.1.down" with rowwise {output_layouts = [shard<-2>]}
// MODULES-NEXT:   tp.result 0 shard<0>
// MODULES-NEXT: }

// PORTS:      tp.plan @auto on #mesh["tp"] auto {
// PORTS-NEXT:   tp.argument "layers.0.up.weight" shard<0>
// PORTS-NEXT:   tp.argument "layers.0.down.weight" shard<1>
// PORTS-NEXT:   tp.argument "layers.1.up.weight" shard<0>
// PORTS-NEXT:   tp.argument "layers.1.down.weight" shard<1>
// PORTS-NEXT:   tp.result 0 shard<0>
// PORTS-NEXT: }

// What was given stays; layers of which one is named are not alike.
// SOME:      tp.plan @some on #mesh["tp"] auto {
// SOME-NEXT:   tp.parallelize "layers.1.up" with colwise
// SOME-NEXT:   tp.result 0 replicate
// SOME-NEXT:   tp.parallelize "layers.0.up" with colwise
// SOME-NEXT:   tp.parallelize "layers.*.down" with rowwise
// SOME-NEXT: }

// AGAIN: tp.layout = #tp.layout<#mesh, [replicate]>
// AGAIN-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>
// AGAIN-SAME: tp.layout = #tp.layout<#mesh, [shard<1>]>
// AGAIN-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>
// AGAIN-SAME: tp.layout = #tp.layout<#mesh, [shard<1>]>

// EARLY: error: expected a program after tp-propagate
// WORDS: error: expected entries 'modules' or 'ports', got 'words'

//--- some.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @some on #mesh["tp"] auto {
  tp.parallelize "layers.1.up" with colwise
  tp.result 0 replicate
}
//--- pair.mlir
func.func @main(%x: tensor<8x16xf32> {tp.name = "x", tp.kind = "user_input"}, %u0: tensor<64x16xf32> {tp.name = "layers.0.up.weight", tp.kind = "parameter"}, %d0: tensor<16x64xf32> {tp.name = "layers.0.down.weight", tp.kind = "parameter"}, %u1: tensor<64x16xf32> {tp.name = "layers.1.up.weight", tp.kind = "parameter"}, %d1: tensor<16x64xf32> {tp.name = "layers.1.down.weight", tp.kind = "parameter"}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %eup0 = tensor.empty() : tensor<8x64xf32>
  %iup0 = linalg.fill ins(%zero : f32) outs(%eup0 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %up0 = linalg.generic {indexing_maps = [affine_map<(b, n, i) -> (b, i)>, affine_map<(b, n, i) -> (n, i)>, affine_map<(b, n, i) -> (b, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %u0 : tensor<8x16xf32>, tensor<64x16xf32>) outs(%iup0 : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32> loc("layers.0.up"("linear"))
  %edown0 = tensor.empty() : tensor<8x16xf32>
  %idown0 = linalg.fill ins(%zero : f32) outs(%edown0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %down0 = linalg.generic {indexing_maps = [affine_map<(b, n, i) -> (b, i)>, affine_map<(b, n, i) -> (n, i)>, affine_map<(b, n, i) -> (b, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%up0, %d0 : tensor<8x64xf32>, tensor<16x64xf32>) outs(%idown0 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32> loc("layers.0.down"("linear"))
  %eup1 = tensor.empty() : tensor<8x64xf32>
  %iup1 = linalg.fill ins(%zero : f32) outs(%eup1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %up1 = linalg.generic {indexing_maps = [affine_map<(b, n, i) -> (b, i)>, affine_map<(b, n, i) -> (n, i)>, affine_map<(b, n, i) -> (b, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%down0, %u1 : tensor<8x16xf32>, tensor<64x16xf32>) outs(%iup1 : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32> loc("layers.1.up"("linear"))
  %edown1 = tensor.empty() : tensor<8x16xf32>
  %idown1 = linalg.fill ins(%zero : f32) outs(%edown1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %down1 = linalg.generic {indexing_maps = [affine_map<(b, n, i) -> (b, i)>, affine_map<(b, n, i) -> (n, i)>, affine_map<(b, n, i) -> (b, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%up1, %d1 : tensor<8x64xf32>, tensor<16x64xf32>) outs(%idown1 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32> loc("layers.1.down"("linear"))
  return %down1 : tensor<8x16xf32>
}
