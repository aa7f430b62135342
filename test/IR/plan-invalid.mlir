// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{the mesh has no axis 'pp'}}
tp.plan @model on <"tp" = 4>["pp"] {
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{expected tp.parallelize, tp.fully_shard, tp.recompute, tp.argument or tp.result in a plan}}
  %0 = arith.constant 0 : i64
}

// -----

// expected-error@+1 {{'tp.parallelize' op expects parent op 'tp.plan'}}
tp.parallelize "wq" with colwise

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+2 {{unknown style 'columnwise'}}
  // expected-note@+1 {{styles are colwise, rowwise}}
  tp.parallelize "wq" with columnwise
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+2 {{style colwise has no option 'output_layout'}}
  // expected-note@+1 {{its options are input_layouts, output_layouts, use_local_output, override}}
  tp.parallelize "wq" with colwise {output_layout = replicate}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+2 {{style replicate has no option 'output_layouts'}}
  // expected-note@+1 {{its options are override}}
  tp.parallelize "wq" with replicate {output_layouts = replicate}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'output_layouts' takes layouts (replicate, shard<d>, partial<kind>, none), got}}
  tp.parallelize "wq" with colwise {output_layouts = 3}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'output_layouts' of style colwise takes one layout, got 2}}
  tp.parallelize "wq" with colwise {output_layouts = [replicate, replicate]}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'use_local_output' takes true or false, got 1}}
  tp.parallelize "wq" with colwise {use_local_output = 1}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'sequence_dim' takes an integer, got true}}
  tp.parallelize "norm" with sequence_parallel {sequence_dim = true}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'input_kwarg_layouts' takes a dictionary of layouts, got}}
  tp.parallelize "attn" with prepare_module_input {input_kwarg_layouts = [replicate], desired_input_kwarg_layouts = {mask = replicate}}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{expected 'input_layouts' and 'desired_input_layouts' together}}
  tp.parallelize "attn" with prepare_module_input {input_layouts = [replicate]}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{expected as many 'desired_input_layouts' as 'input_layouts', got 1 and 2}}
  tp.parallelize "attn" with prepare_module_input {input_layouts = [replicate, none], desired_input_layouts = [replicate]}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'desired_input_kwarg_layouts' lacks 'mask'}}
  tp.parallelize "attn" with prepare_module_input {input_kwarg_layouts = {mask = replicate}, desired_input_kwarg_layouts = {}}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'output_layouts' gives a unit; a plan's layouts have none}}
  tp.parallelize "wq" with colwise {output_layouts = shard<0, unit = 4>}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{expected replicate, shard<dim> or partial<kind>, got 'sharded'}}
  tp.parallelize "wq" with colwise {output_layouts = sharded<0>}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'output_layouts' is given twice}}
  tp.parallelize "wq" with colwise {output_layouts = replicate, output_layouts = shard<0>}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{expected sum, avg, product, max or min, got 'mean'}}
  tp.result 0 partial<mean>
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{expected a position of at least 0, got -1}}
  tp.argument -1 replicate
}

// -----

// expected-error@+1 {{the mesh has 2 axes, expected an index from -2 to 1, got 2}}
tp.plan @model on <"dp" = 2, "tp" = 4>[2] {
}

// -----

// expected-error@+1 {{is for axis 'tp' twice, expected each axis once}}
tp.plan @model on <"dp" = 2, "tp" = 4>["tp", 1] {
}

// -----

// expected-error@+1 {{is for axis 'tp' before 'dp', expected the order of the mesh: the first is major}}
tp.plan @model on <"dp" = 2, "pp" = 1, "tp" = 4>["pp", "tp", "dp"] {
}

// -----

// expected-error@+1 {{the mesh has no axis 'cp': write 'optional' behind the axis, or behind its 'auto', where a mesh may lack it}}
tp.plan @model on <"dp" = 2, "tp" = 4>["dp", "cp"] {
}

// -----

// expected-error@+1 {{the mesh has 2 axes, expected an index from -2 to 1, got 2}}
tp.plan @model on <"dp" = 2, "tp" = 4>["dp", 2] {
}

// -----

// expected-error@+1 {{'tp.plan' op expected an axis, got none}}
"tp.plan"() <{axes = [], mesh = #tp.mesh<"tp" = 4>, plan_name = "model"}> ({
^bb0:
}) : () -> ()

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'make_sharded_output_tensor' is the output of a colwise module as it is; expected make_output_tensor, make_output_shard_1d<d> or another layout for style rowwise}}
  tp.parallelize "wo" with rowwise {_prepare_output = make_sharded_output_tensor}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{'_prepare_input' and 'input_layouts' are one option}}
  tp.parallelize "wq" with colwise {_prepare_input = make_input_replicate_1d, input_layouts = shard<0>}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+2 {{style all_reduce has no option 'output_layouts'}}
  // expected-note@+1 {{its options are override}}
  tp.parallelize "mlp" with all_reduce {output_layouts = replicate}
}

// -----

tp.plan @model on <"dp" = 4>["dp"] {
  // expected-error@+1 {{'stage' is 1, 2 or 3, got 4: 3 shards parameters and optimizer states, 1 and 2 optimizer states alone}}
  tp.fully_shard "layers.*" {stage = 4}
}

// -----

tp.plan @model on <"dp" = 4>["dp"] {
  // expected-error@+1 {{'keep' is for stage 3: at stages 1 and 2 no parameter is gathered, leave it out}}
  tp.fully_shard "layers.*" {keep, stage = 2}
}

// -----

tp.plan @model on <"dp" = 4>["dp"] {
  // expected-error@+1 {{tp.fully_shard has no option 'reshard_after_forward', its options are keep and stage}}
  tp.fully_shard "layers.*" {reshard_after_forward = false}
}

// -----

tp.plan @model on <"tp" = 4>["tp"] {
  // expected-error@+1 {{tp.recompute has no option 'keep', it has none at all}}
  tp.recompute "layers.*" {keep = true}
}
