// RUN: tp-opt %s --tp-apply-plan --tp-recompute --tp-verify-bound --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-apply-plan --split-input-file | FileCheck %s --check-prefix=BOUND
// RUN: tp-opt %s --tp-partition-pipeline --split-input-file | FileCheck %s --check-prefix=LOCAL
// RUN: tp-opt %s --tp-apply-plan "--tp-recompute=modules=added.*,block.act,head" --split-input-file | FileCheck %s --check-prefix=ADDED

// What the backward pass reads of a module is computed again, right before it
// and from what enters the module. What it reads of other modules is kept.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.recompute "block"
}
// What the option adds gives way to the module that is named.
// ADDED-LABEL: func.func @chain(
// ADDED: tp.kept
// ADDED-NOT: tp.kept
// ADDED: return
// CHECK-LABEL: func.func @chain(
// CHECK-NOT: tp.recompute
// CHECK-SAME: {
// CHECK: %[[IN:.*]] = linalg.exp ins(%arg0
// CHECK: %[[A:.*]] = linalg.tanh ins(%[[IN]]
// CHECK: %[[B:.*]] = linalg.exp ins(%[[A]]
// CHECK: %[[OUT:.*]] = linalg.mul ins(%[[B]], %[[B]]
// CHECK: %[[G:.*]] = linalg.mul ins(%[[OUT]], %arg1
// CHECK: %[[K:.*]] = tp.kept %[[IN]]
// CHECK-NEXT: %[[A2:.*]] = linalg.tanh ins(%[[K]]
// CHECK-NEXT: %[[B2:.*]] = linalg.exp ins(%[[A2]]
// CHECK-NEXT: %[[D1:.*]] = linalg.mul ins(%[[G]], %[[B2]]
// CHECK-NEXT: %[[D2:.*]] = linalg.mul ins(%[[D1]], %[[A2]]
// CHECK-NEXT: %[[D3:.*]] = linalg.mul ins(%[[D2]], %[[K]]
// CHECK-NEXT: %[[D4:.*]] = linalg.mul ins(%[[D3]], %[[IN]]
// CHECK-NEXT: return %[[D4]], %[[A]]
// LOCAL-LABEL: func.func @chain(
// LOCAL: tp.kept
func.func @chain(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"},
                 %dy: tensor<8xf32> {tp.name = "dy", tp.kind = "user_input"})
    -> (tensor<8xf32>, tensor<8xf32> {tp.name = "seen"}) {
  %e = tensor.empty() : tensor<8xf32>
  %in = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("before"("exp"))
  %a = linalg.tanh ins(%in : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("tanh"))
  %b = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block.act"("exp_1"))
  %out = linalg.mul ins(%b, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("block"("mul"))
  %g = linalg.mul ins(%out, %dy : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:<loss>"("mul_1"))
  %d1 = linalg.mul ins(%g, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:block"("mul_2"))
  %d2 = linalg.mul ins(%d1, %a : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:block.act"("mul_3"))
  %d3 = linalg.mul ins(%d2, %in : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:block.act"("mul_4"))
  %d4 = linalg.mul ins(%d3, %in : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:before"("mul_5"))
  return %d4, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// The plan's layouts hold again: the all_reduce of a rowwise product and the
// gather of its input run twice, of what is kept as the forward pass made it.
// What parameters alone determine is there.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.recompute "mlp"
  tp.parallelize "mlp.up" with colwise {input_layouts = [shard<0>]}
  tp.argument "x" shard<0>
}
// CHECK-LABEL: func.func @gathered(
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: %[[K:.*]] = tp.kept %arg0
// CHECK-NEXT: %[[P:.*]] = tp.constrain %[[K]] {{.*}} to shard<0> {{.*}} {tp.expected, tp.recomputed}
// CHECK-NEXT: tp.constrain %[[P]] {{.*}} to replicate {{.*}} {tp.recomputed}
// CHECK: linalg.matmul ins(%{{.*}}, %[[T]]
// LOCAL-LABEL: func.func @gathered(
// LOCAL: tp.all_gather %arg0
// LOCAL: %[[K:.*]] = tp.kept %arg0
// LOCAL: tp.all_gather %[[K]]
func.func @gathered(%x: tensor<8x4xf32> {tp.name = "x", tp.kind = "user_input"},
                    %w: tensor<6x4xf32> {tp.name = "mlp.up.weight", tp.kind = "parameter"},
                    %dy: tensor<8x6xf32> {tp.name = "dy", tp.kind = "user_input"})
    -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x6xf32>
  %t = linalg.transpose ins(%w : tensor<6x4xf32>) outs(%e0 : tensor<4x6xf32>) permutation = [1, 0] loc("mlp.up"("t"))
  %e1 = tensor.empty() : tensor<8x6xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("mlp.up"("mm"))
  %h = linalg.matmul ins(%x, %t : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("mlp.up"("mm"))
  %y = linalg.exp ins(%h : tensor<8x6xf32>) outs(%e1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("mlp"("exp"))
  %g = linalg.mul ins(%y, %dy : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("bwd:<loss>"("mul"))
  %d = linalg.mul ins(%g, %y : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("bwd:mlp"("mul_1"))
  return %y, %d : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// What a plan gathers in front of a module is gathered again for the modules in
// it whose entries ask for that, once for both.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.argument "x" shard<0>
  tp.argument "dy" shard<0>
  tp.parallelize "mlp" with prepare_module_input {input_layouts = [shard<0>], desired_input_layouts = [replicate]}
  tp.parallelize "mlp.*" with colwise
  tp.recompute "mlp.*"
}
// CHECK-LABEL: func.func @gathered_before(
// CHECK: %[[IN:.*]] = tp.constrain %arg0 {{.*}} to shard<0> {{.*}} at "mlp" "input"
// CHECK: %[[G:.*]] = tp.constrain %[[IN]] {{.*}} to replicate
// CHECK: %[[K:.*]] = tp.kept %[[IN]]
// CHECK-NEXT: %[[AGAIN:.*]] = tp.constrain %[[K]] {{.*}} to replicate {{.*}} {tp.recomputed}
// CHECK-NOT: tp.kept
// CHECK: linalg.matmul ins(%{{.*}}, %[[AGAIN]]
// CHECK-NOT: tp.kept
// CHECK: linalg.matmul ins(%{{.*}}, %[[AGAIN]]
// LOCAL-LABEL: func.func @gathered_before(
// LOCAL-COUNT-2: tp.all_gather
// LOCAL-NOT: tp.all_gather
func.func @gathered_before(%x: tensor<8x4xf32> {tp.name = "x", tp.kind = "user_input"},
                           %u: tensor<4x6xf32> {tp.name = "mlp.up.weight", tp.kind = "parameter"},
                           %v: tensor<4x6xf32> {tp.name = "mlp.gate.weight", tp.kind = "parameter"},
                           %dy: tensor<6x8xf32> {tp.name = "dy", tp.kind = "user_input"})
    -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
    attributes {tp.modules = [{name = "mlp", inputs = ["x"], outputs = []},
                              {name = "mlp.up", inputs = ["x"], outputs = ["up"]},
                              {name = "mlp.gate", inputs = ["x"], outputs = ["gate"]}]} {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8x6xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %h = linalg.matmul ins(%x, %u : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("mlp.up"("up"))
  %i = linalg.matmul ins(%x, %v : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z1 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("mlp.gate"("gate"))
  %e2 = tensor.empty() : tensor<6x4xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x4xf32>) -> tensor<6x4xf32>
  %dv = linalg.matmul ins(%dy, %x : tensor<6x8xf32>, tensor<8x4xf32>) outs(%z2 : tensor<6x4xf32>) -> tensor<6x4xf32> loc("bwd:mlp.gate"("mm"))
  %du = linalg.matmul ins(%dy, %x : tensor<6x8xf32>, tensor<8x4xf32>) outs(%z2 : tensor<6x4xf32>) -> tensor<6x4xf32> loc("bwd:mlp.up"("mm_1"))
  return %h, %i, %dv, %du : tensor<8x6xf32>, tensor<8x6xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// A fully sharded parameter is gathered once for what is computed again and for
// the rest of the backward pass.

#mesh = #tp.mesh<"dp" = 2>
tp.plan @p on #mesh["dp"] {
  tp.fully_shard "w1"
  tp.recompute "w1"
}
// CHECK-LABEL: func.func @sharded(
// CHECK-COUNT-1: {tp.gather = "forward"}
// CHECK: %[[X:.*]] = tp.kept
// CHECK: %[[W:.*]] = tp.constrain %arg0 {{.*}} {tp.gather = "backward"}
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]]
// CHECK: linalg.matmul ins(%[[X]], %[[T]]
// CHECK-NOT: tp.gather
// LOCAL-LABEL: func.func @sharded(
// LOCAL-COUNT-2: tp.all_gather %arg0
// LOCAL-NOT: tp.all_gather
func.func @sharded(%w: tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "parameter"},
                   %x: tensor<8x6xf32> {tp.name = "x", tp.kind = "user_input"})
    -> (tensor<10x6xf32> {tp.name = "w1.weight", tp.kind = "new_parameter"},
        tensor<8x6xf32> {tp.name = "dx", tp.kind = "user_output"},
        tensor<8x10xf32> {tp.name = "y", tp.kind = "user_output"}) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x10xf32>
  %wt = linalg.transpose ins(%w : tensor<10x6xf32>) outs(%e0 : tensor<6x10xf32>) permutation = [1, 0] loc("w1"("t"))
  %e1 = tensor.empty() : tensor<8x10xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x10xf32>) -> tensor<8x10xf32>
  %h = linalg.matmul ins(%x, %wt : tensor<8x6xf32>, tensor<6x10xf32>) outs(%z1 : tensor<8x10xf32>) -> tensor<8x10xf32> loc("w1"("mm"))
  %y = linalg.exp ins(%h : tensor<8x10xf32>) outs(%e1 : tensor<8x10xf32>) -> tensor<8x10xf32> loc("w1"("exp"))
  %e2 = tensor.empty() : tensor<8x6xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %e4 = tensor.empty() : tensor<10x6xf32>
  %dh = linalg.mul ins(%y, %y : tensor<8x10xf32>, tensor<8x10xf32>) outs(%e1 : tensor<8x10xf32>) -> tensor<8x10xf32> loc("bwd:w1"("mul"))
  %back = linalg.transpose ins(%wt : tensor<6x10xf32>) outs(%e4 : tensor<10x6xf32>) permutation = [1, 0] loc("bwd:w1"("t_1"))
  %dx = linalg.matmul ins(%dh, %back : tensor<8x10xf32>, tensor<10x6xf32>) outs(%z2 : tensor<8x6xf32>) -> tensor<8x6xf32> loc("bwd:w1"("mm_1"))
  %e3 = tensor.empty() : tensor<10x8xf32>
  %yt = linalg.transpose ins(%dh : tensor<8x10xf32>) outs(%e3 : tensor<10x8xf32>) permutation = [1, 0] loc("bwd:w1"("t_2"))
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  %g = linalg.matmul ins(%yt, %x : tensor<10x8xf32>, tensor<8x6xf32>) outs(%z4 : tensor<10x6xf32>) -> tensor<10x6xf32> loc("bwd:w1"("mm_2"))
  %w1 = linalg.sub ins(%w, %g : tensor<10x6xf32>, tensor<10x6xf32>) outs(%e4 : tensor<10x6xf32>) -> tensor<10x6xf32>
  return %w1, %dx, %y : tensor<10x6xf32>, tensor<8x6xf32>, tensor<8x10xf32>
}

// -----

// The model names modules itself. Those that the plan's are in, or that are in
// the plan's, give way.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.recompute "a"
  tp.recompute "b.act"
}
// BOUND-LABEL: func.func @of_the_model(
// BOUND-SAME: attributes {tp.recompute = ["c", "d", "a", "b.act"]}
// CHECK-LABEL: func.func @of_the_model(
// CHECK-NOT: tp.recompute
// CHECK-SAME: {
// CHECK-COUNT-3: tp.kept
// CHECK-NOT: tp.kept
// CHECK: return
func.func @of_the_model(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32>
    attributes {tp.recompute = ["a.act", "b", "c", "d"]} {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("a.act"("exp"))
  %b = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("b.act"("exp_1"))
  %c = linalg.exp ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("c"("exp_2"))
  %g = linalg.mul ins(%c, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:<loss>"("mul"))
  %dc = linalg.mul ins(%g, %c : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:c"("mul_1"))
  %db = linalg.mul ins(%dc, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:b.act"("mul_2"))
  %da = linalg.mul ins(%db, %a : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:a.act"("mul_3"))
  return %da : tensor<8xf32>
}

// -----

// Modules that the option of the pass adds.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.argument "dy" replicate
}
// ADDED-LABEL: func.func @added(
// ADDED: %[[A:.*]] = linalg.tanh ins(%arg0
// ADDED: %[[B:.*]] = linalg.exp ins(%[[A]]
// ADDED: %[[K1:.*]] = tp.kept %[[A]]
// ADDED-NEXT: %[[B2:.*]] = linalg.exp ins(%[[K1]]
// ADDED-NEXT: %[[D1:.*]] = linalg.mul ins(%{{.*}}, %[[B2]]
// ADDED: %[[K0:.*]] = tp.kept %arg0
// ADDED-NEXT: %[[A2:.*]] = linalg.tanh ins(%[[K0]]
// ADDED-NEXT: linalg.mul ins(%[[D1]], %[[A2]]
// CHECK-LABEL: func.func @added(
// CHECK-NOT: tp.kept
func.func @added(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"},
                 %dy: tensor<8xf32> {tp.name = "dy", tp.kind = "user_input"})
    -> (tensor<8xf32>, tensor<8xf32> {tp.name = "out"}) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.tanh ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("added.0"("tanh"))
  %b = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("added.1"("exp"))
  %d1 = linalg.mul ins(%dy, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:added.1"("mul"))
  %d2 = linalg.mul ins(%d1, %a : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32> loc("bwd:added.0"("mul_1"))
  return %d2, %b : tensor<8xf32>, tensor<8xf32>
}
