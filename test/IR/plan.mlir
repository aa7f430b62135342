// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

#mesh = #tp.mesh<"dp" = 2, "tp" = 4>

// CHECK: tp.plan @model on #mesh["tp"] {
tp.plan @model on #mesh["tp"] {
  // CHECK-NEXT: tp.parallelize "layers.*.wq" with colwise
  tp.parallelize "layers.*.wq" with colwise
  // CHECK-NEXT: tp.parallelize "layers.*.wo" with rowwise {output_layouts = [shard<1>], use_local_output = false}
  tp.parallelize "layers.*.wo" with rowwise {use_local_output = false, output_layouts = [shard<1>]}
  // CHECK-NEXT: tp.parallelize "head" with colwise_rep {input_layouts = shard<-2>, override = true}
  tp.parallelize "head" with colwise_rep {input_layouts = shard<-2>, override = true}
  // CHECK-NEXT: tp.parallelize "q_norm" with replicate {override = true}
  tp.parallelize "q_norm" with replicate {override = true}
  // CHECK-NEXT: tp.parallelize "norm" with sequence_parallel {sequence_dim = -2}
  tp.parallelize "norm" with sequence_parallel {sequence_dim = -2}
  // CHECK-NEXT: tp.parallelize "attn" with prepare_module_input {desired_input_kwarg_layouts = {mask = shard<0>}, desired_input_layouts = [replicate, none], input_kwarg_layouts = {mask = replicate}, input_layouts = [shard<1, segments = [2, 2]>, none]}
  tp.parallelize "attn" with prepare_module_input {
    input_layouts = [shard<1, segments = [2, 2]>, none], desired_input_layouts = [replicate, none],
    input_kwarg_layouts = {mask = replicate}, desired_input_kwarg_layouts = {mask = shard<0>}}
  // CHECK-NEXT: tp.parallelize "" with prepare_module_output {desired_output_layouts = replicate, output_layouts = partial<sum>}
  tp.parallelize "" with prepare_module_output {output_layouts = partial<sum>, desired_output_layouts = replicate}
  // CHECK-NEXT: tp.parallelize "mlp.0" with colwise {input_layouts = shard<1>, output_layouts = shard<-1>}
  tp.parallelize "mlp.0" with colwise {_prepare_input = make_input_shard_1d<1>, _prepare_output = make_sharded_output_tensor}
  // CHECK-NEXT: tp.parallelize "mlp.2" with RowwiseParallel {input_layouts = shard<-1>, output_layouts = [shard<0>]}
  tp.parallelize "mlp.2" with RowwiseParallel {_prepare_input = make_input_shard_1d_last_dim, output_layouts = [make_output_reshard_tensor]}
  // CHECK-NEXT: tp.parallelize "pairs" with PairwiseParallel {input_layouts = shard<0>, output_layouts = replicate}
  tp.parallelize "pairs" with PairwiseParallel {_prepare_input = make_input_reshard_replicate, _prepare_output = make_output_tensor}
  // CHECK-NEXT: tp.argument "tokens" shard<0>
  tp.argument "tokens" shard<0>
  // CHECK-NEXT: tp.argument 3 replicate
  tp.argument 3 replicate
  // CHECK-NEXT: tp.result 0 shard<-1>
  tp.result 0 shard<-1>
}

// CHECK: tp.plan @model on #mesh["dp"] {
tp.plan @model on #mesh["dp"] {
  // CHECK-NEXT: tp.fully_shard "layers.*" {keep = true}
  tp.fully_shard "layers.*" {keep}
  // CHECK-NEXT: tp.fully_shard "" {stage = 2}
  tp.fully_shard "" {stage = 2}
  // CHECK-NEXT: tp.recompute "layers.*"
  tp.recompute "layers.*"
}

// For several axes.
// CHECK: tp.plan @model on #mesh["dp", "tp"] {
tp.plan @model on #mesh["dp", "tp"] {
  // CHECK-NEXT: tp.fully_shard "layers.*"
  tp.fully_shard "layers.*"
}
// CHECK: tp.plan @model on #mesh["dp", "tp"] auto {
tp.plan @model on #mesh[0, -1] auto {
}
// CHECK: tp.plan @model on #mesh["dp", "cp", "tp"] optional {
tp.plan @model on #mesh["dp", "cp", "tp"] optional {
}

// By index, and where a mesh may lack the axis.
// CHECK: tp.plan @model on #mesh["tp"] auto {
tp.plan @model on #mesh[-1] auto {
}
// CHECK: tp.plan @model on #mesh["dp"] optional {
tp.plan @model on #mesh[0] optional {
}
// CHECK: tp.plan @model on #mesh["pp"] auto optional attributes {note = 1 : i64} {
tp.plan @model on #mesh["pp"] auto optional attributes {note = 1} {
}
