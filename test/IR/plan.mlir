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
  // CHECK-NEXT: tp.argument "tokens" shard<0>
  tp.argument "tokens" shard<0>
  // CHECK-NEXT: tp.argument 3 replicate
  tp.argument 3 replicate
  // CHECK-NEXT: tp.result 0 shard<-1>
  tp.result 0 shard<-1>
}

// CHECK: tp.plan @model on #mesh["dp"] {
tp.plan @model on #mesh["dp"] {
}
