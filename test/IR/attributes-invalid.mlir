// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a mesh has at least one axis}}
func.func private @no_axis() attributes {a = #tp.mesh<>}

// -----

// expected-error@+1 {{mesh axis 'tp' has size 0, expected at least 1}}
func.func private @empty_axis() attributes {a = #tp.mesh<"tp" = 0>}

// -----

// expected-error@+1 {{mesh axis 'tp' is named twice}}
func.func private @twice() attributes {a = #tp.mesh<"tp" = 2, "tp" = 2>}

// -----

// expected-error@+1 {{the device order is a permutation of the 4 ranks}}
func.func private @order() attributes {a = #tp.mesh<"tp" = 4, devices = [0, 1, 1, 2]>}

// -----

// expected-error@+1 {{shard<2> needs that dimension, the tensor has rank 2}}
func.func private @dim(tensor<4x4xf32, #tp.layout<<"tp" = 4>, [shard<2>]>>)

// -----

// expected-error@+1 {{expected a dimension of at least 0, got -1}}
func.func private @negative(tensor<4x4xf32, #tp.layout<<"tp" = 4>, [shard<-1>]>>)

// -----

// expected-error@+1 {{expected 2 entries, one per mesh axis, got 1}}
func.func private @missing(tensor<4x4xf32, #tp.layout<<"dp" = 2, "tp" = 4>, [shard<0>]>>)

// -----

// expected-error@+1 {{axis 'tp' is used twice or with a gap between its parts}}
func.func private @axis_twice(tensor<4x4xf32, #tp.layout<<"tp" = 4>, ["tp" = shard<0>, "tp" = shard<1>]>>)

// -----

// expected-error@+1 {{the mesh has no axis 'pp'}}
func.func private @no_such_axis(tensor<4x4xf32, #tp.layout<<"tp" = 4>, ["pp" = shard<0>]>>)

// -----

// expected-error@+1 {{segments add up to 3, dimension 0 has size 4}}
func.func private @segments(tensor<4x4xf32, #tp.layout<<"tp" = 4>, [shard<0, segments = [1, 2]>]>>)

// -----

// expected-error@+1 {{axes that shard the same dimension agree on its unit and segments}}
func.func private @units(tensor<8xf32, #tp.layout<<"dp" = 2, "tp" = 2>, [shard<0, unit = 2>, shard<0>]>>)

// -----

// expected-error@+1 {{expected sum, avg, product, max or min, got 'mean'}}
func.func private @kind() attributes {a = #tp.reduction<mean>}

// -----

// expected-error@+1 {{expected replicate, shard<dim> or partial<kind>, got 'split'}}
func.func private @placement() attributes {a = #tp.placement<split>}

// -----

// expected-error@+1 {{expected replicate, split<factor> or passthrough<kind, slots>, got 'shard'}}
func.func private @strategy() attributes {a = #tp.strategy<<"tp" = 2>, [shard<0>]>}

// -----

// expected-error@+1 {{axis 'tp' is used twice}}
func.func private @axes() attributes {a = #tp.axes<<"tp" = 4>, ["tp", "tp"]>}

// -----

// expected-error@+1 {{does not divide its axis of size 4}}
func.func private @part() attributes {a = #tp.axes<<"tp" = 4>, ["tp":1:3]>}

// -----

// expected-error@+1 {{attribute 'tp.mesh' is a #tp.mesh, got 4}}
module attributes {tp.mesh = 4 : i64} {}

// -----

func.func @result_layouts(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'tp.result_layouts' is an array with one layout per result}}
  %y = math.exp %x {tp.result_layouts = []} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@+1 {{attribute 'tp.recompute' is an array of modules' names, got [1]}}
func.func private @recompute() attributes {tp.recompute = [1]}
