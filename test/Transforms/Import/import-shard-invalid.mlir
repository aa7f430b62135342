// RUN: tp-opt %s --tp-import-shard --split-input-file --verify-diagnostics
// RUN: not tp-opt %s --tp-import-shard='mesh=dp=2,tp=4' --split-input-file 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not tp-opt %s --tp-import-shard='mesh=tp=4' --split-input-file 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not tp-opt %s --tp-import-shard='mesh=4' --split-input-file 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not tp-opt %s --tp-import-shard='plan=p.mlir' --split-input-file 2>&1 | FileCheck %s --check-prefix=PLAN
// MESH: error: the grid @g has the axes 2, expected a mesh of these sizes, as in axis=size,axis=size, got 'dp=2,tp=4'
// SIZE: error: the grid @g has the axes 2, expected a mesh of these sizes, as in axis=size,axis=size, got 'tp=4'
// NAMES: error: the grid @g has the axes 2, expected a mesh of these sizes, as in axis=size,axis=size, got '4'
// PLAN: error: the program has a plan, its shard annotations, expected no plan or 'auto', got 'p.mlir'

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  // expected-note @below {{the other annotation is here}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  // expected-error @below {{the value is annotated as [replicate] here, and as [shard<0>] before; expected one layout, or annotate_for_users where its uses have another one}}
  %1 = shard.shard %0 to %r : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  // expected-note @below {{the other annotation is here}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  // expected-error @below {{the value is annotated as [replicate] here, and as [shard<0>] before}}
  %1 = shard.shard %x to %r : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %r = shard.sharding @g split_axes = [[]] : !shard.sharding
  // expected-note @below {{the other annotation is here}}
  %0 = shard.shard %x to %s annotate_for_users : tensor<4xf32>
  // expected-error @below {{the value is annotated as [replicate] here, and as [shard<0>] before}}
  %1 = shard.shard %0 to %r annotate_for_users : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error @below {{the grid @g has an axis of dynamic size, expected the number of ranks}}
shard.grid @g(shape = 2x?)
func.func @main() {
  return
}

// -----

// expected-error @below {{the grid @g is no mesh: mesh axis 'g_1' has size 0, expected at least 1}}
shard.grid @g(shape = 2x0)
func.func @main() {
  return
}

// -----

// expected-note @below {{the first is here}}
shard.grid @g(shape = 2)
// expected-error @below {{expected one shard.grid in the outermost module, got a second; tp has one mesh: annotate with one grid of several axes}}
shard.grid @h(shape = 4)
func.func @main() {
  return
}

// -----

// expected-error @below {{the module has both shard annotations and a plan of tp, expected one of them}}
module {
  tp.plan @p on <"tp" = 2>["tp"] {
  }
  shard.grid @g(shape = 2)
  func.func @main() {
    return
  }
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [1, 2] : !shard.sharding
  // expected-error @below {{the sharding has halos, which tp does not keep: ranks hold their own elements only; leave halo_sizes out}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] halo_sizes = [%n, 0] : !shard.sharding
  // expected-error @below {{the sharding has halos}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Uneven over three ranks: 8 is 3 3 2.

shard.grid @g(shape = 3)
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] sharded_dims_offsets = [0, 2, 5, 8] : !shard.sharding
  // expected-error @below {{the sharding cuts dimension 1 of 'tensor<2x8xf32>' at [0, 2, 5, 8], tp cuts it at [0, 3, 6, 8]; write these as sharded_dims_offsets, or none}}
  %0 = shard.shard %x to %s : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, 2, 4, 0, 1] : !shard.sharding
  // expected-error @below {{the sharding has 2 sharded_dims_offsets too many: [0, 1] belong to no sharded dimension}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] sharded_dims_offsets = [0, %n, 4] : !shard.sharding
  // expected-error @below {{the sharding has sharded_dims_offsets that are known only at run time, expected numbers, or none for chunks of equal size}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[1, 0]] : !shard.sharding
  // expected-error @below {{the sharding splits dimension 0 along the axes [1, 0], expected them in the order of the grid, [0, 1]; else transpose the grid}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[5]] : !shard.sharding
  // expected-error @below {{the sharding splits dimension 0 along axis 5, the grid has 1 axis}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  // expected-error @below {{the sharding splits dimension 1, the value is a 'tensor<4xf32>'}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @below {{expected an annotation on a static shape, got 'tensor<?xf32>'}}
  %0 = shard.shard %x to %s : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>, %s: !shard.sharding) -> tensor<4xf32> {
  // expected-error @below {{expected a layout from a shard.sharding, got an argument}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func private @take(!shard.sharding)
func.func @main() {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  // expected-error @below {{'func.call' takes a layout as a value, expected shard.shard with a shard.sharding of this function}}
  func.call @take(%s) : (!shard.sharding) -> ()
  return
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{'shard.all_gather' is not handled, expected shard.grid, shard.sharding and shard.shard around the program of all ranks; tp inserts the communication}}
  %0 = shard.all_gather %x on @g grid_axes = [0] gather_axis = 0 : tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'shard.get_sharding' is not handled}}
  %s = shard.get_sharding %x : tensor<4xf32> -> !shard.sharding
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = scf.if %c -> tensor<4xf32> {
    // expected-error @below {{expected annotations in the body of a function, got one in 'scf.if'; annotate what this op takes and results in}}
    %1 = shard.shard %x to %s : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
ml_program.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected 'shard.sharding' in a func.func of the outermost module}}
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %s : tensor<4xf32>
  ml_program.return %0 : tensor<4xf32>
}

// -----

shard.grid @g(shape = 2)
// expected-error @below {{expected annotations in a function of one block, got 2}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %s : tensor<4xf32>
  cf.br ^end
^end:
  return %0 : tensor<4xf32>
}
