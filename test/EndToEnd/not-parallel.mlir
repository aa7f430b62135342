// Plans for several ranks under which the ranks do not share the work are warned of.
//
// RUN: split-file %s %t
// RUN: %python %t/constants.py > %t/constants.mlir
// RUN: tp-compile %t/constants.mlir --plan=auto --mesh=tp=2 -o %t/m.tp 2>&1 | FileCheck %s --check-prefix=CONSTANTS
// RUN: tp-compile %t/constants.mlir -o %t/m.tp 2>&1 | count 0
// RUN: tp-compile %t/unnamed.mlir --plan=auto --mesh=tp=2 -o %t/m.tp 2>&1 | FileCheck %s --check-prefix=UNNAMED
// RUN: tp-compile %t/unnamed.mlir --plan=%t/two.mlir -o %t/m.tp 2>&1 | count 0
// RUN: tp-compile %t/unnamed.mlir --plan=%t/eight.mlir -o %t/m.tp 2>&1 | FileCheck %s --check-prefix=IDLE
// RUN: tp-compile %t/unnamed.mlir --plan=%t/one-of-two.mlir -o %t/m.tp 2>&1 | FileCheck %s --check-prefix=AXIS --implicit-check-not=warning
// RUN: tp-compile %t/unnamed.mlir --plan=%t/both.mlir -o %t/m.tp 2>&1 | count 0

// CONSTANTS: constants.mlir: warning: constants of 8192 elements are whole on every rank: weights are split where they are arguments with 'tp.name' and 'tp.kind = "parameter"'
// UNNAMED: unnamed.mlir: warning: the plan leaves the layouts of parameters to tp, and no argument has 'tp.kind = "parameter"': every rank may do all the work; tp.export_jax takes them as 'parameters='
// IDLE: unnamed.mlir: warning: 4 of 8 ranks hold no part of any result: rank 4, 5, 6, 7

// AXIS: unnamed.mlir: warning: the 2 ranks along 'dp' all do the same work: nothing is split over the axis, and nothing is sent along it; shard an input over it, or leave it out of the mesh

//--- one-of-two.mlir
tp.plan @plan on <"dp" = 2, "tp" = 2>["tp"] {
  tp.argument "x" shard<0>
}
//--- both.mlir
tp.plan @rows on <"dp" = 2, "tp" = 2>["dp"] {
  tp.argument "x" shard<0>
}
tp.plan @columns on <"dp" = 2, "tp" = 2>["tp"] {
  tp.argument "x" shard<1>
}
//--- two.mlir
tp.plan @plan on <"tp" = 2>["tp"] {
  tp.argument "x" shard<0>
}
//--- eight.mlir
tp.plan @plan on <"tp" = 8>["tp"] {
  tp.argument "x" shard<0>
  tp.result "y" shard<0>
}
//--- unnamed.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> (tensor<4x6xf32> {tp.name = "y"}) {
  %y = math.exp %x : tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
//--- constants.py
numbers = ", ".join(f"{i}.5" for i in range(8192))
print(f"""func.func @main(%x: tensor<8192xf32> {{tp.name = "x"}}) -> (tensor<8192xf32> {{tp.name = "y"}}) {{
  %w = arith.constant dense<[{numbers}]> : tensor<8192xf32>
  %y = arith.addf %x, %w : tensor<8192xf32>
  return %y : tensor<8192xf32>
}}""")
