// RUN: tp-opt %s --tp-print-collective-bytes -o /dev/null > %t.global
// RUN: FileCheck %s --input-file=%t.global
// RUN: tp-opt %s --tp-partition --tp-print-collective-bytes -o /dev/null > %t.local
// RUN: diff %t.global %t.local

// A collective has the same bytes before tp-partition, where types are global,
// and after it, where they are those of a rank's blocks. On uneven dimensions
// blocks have padding, and more bytes than both buffers.

#mesh = #tp.mesh<"tp" = 4>
#R = #tp.layout<#mesh, [replicate]>
#S0 = #tp.layout<#mesh, [shard<0>]>
#S1 = #tp.layout<#mesh, [shard<1>]>
#P = #tp.layout<#mesh, [partial<sum>]>
#G0 = #tp.layout<#mesh, [shard<0, segments = [4, 2]>]>

module attributes {tp.mesh = #mesh} {
  // CHECK: all_reduce: 160 payload, 160 wire, 240 ring
  func.func @reduce(%x: tensor<5x8xf32, #P>) -> tensor<5x8xf32, #R> {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<5x8xf32, #P> -> tensor<5x8xf32, #R>
    return %0 : tensor<5x8xf32, #R>
  }

  // A rank's buffer has 2 rows, the whole 5: 8 are sent.
  // CHECK-NEXT: all_gather: 160 payload, 256 wire, 120 ring
  func.func @gather(%x: tensor<5x8xf32, #S0>) -> tensor<5x8xf32, #R> {
    %0 = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<5x8xf32, #S0> -> tensor<5x8xf32, #R>
    return %0 : tensor<5x8xf32, #R>
  }

  // CHECK-NEXT: reduce_scatter: 160 payload, 256 wire, 120 ring
  func.func @scatter(%x: tensor<5x8xf32, #P>) -> tensor<5x8xf32, #S0> {
    %0 = tp.reduce_scatter sum %x dim 0 over <#mesh, ["tp"]> : tensor<5x8xf32, #P> -> tensor<5x8xf32, #S0>
    return %0 : tensor<5x8xf32, #S0>
  }

  // The larger side is 2 rows of 6, not 5 rows of 2. Blocks have 2 rows of 2.
  // CHECK-NEXT: all_to_all: 24 payload, 32 wire, 18 ring
  func.func @exchange(%x: tensor<5x6xbf16, #S0>) -> tensor<5x6xbf16, #S1> {
    %0 = tp.all_to_all %x split 1 concat 0 over <#mesh, ["tp"]> : tensor<5x6xbf16, #S0> -> tensor<5x6xbf16, #S1>
    return %0 : tensor<5x6xbf16, #S1>
  }

  // CHECK-NEXT: all_gather: 24 payload, 32 wire, 18 ring
  func.func @segments(%x: tensor<6xf32, #G0>) -> tensor<6xf32, #R> {
    %0 = tp.all_gather %x dim 0 over <#mesh, ["tp"]> : tensor<6xf32, #G0> -> tensor<6xf32, #R>
    return %0 : tensor<6xf32, #R>
  }
}
