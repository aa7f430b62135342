// RUN: tp-opt %s --tp-cuda-reduction-types | FileCheck %s --check-prefix=TYPES
// RUN: tp-opt %s --tp-cuda-compile=show=manifest | FileCheck %s
// RUN: tp-opt %s --tp-cuda-compile=show=kernels | FileCheck %s --check-prefix=KERNELS

// What NCCL would do otherwise than the program says is reduced in another type.
// CHECK: "collectives":[
// CHECK-COUNT-2: "dtype":"i32"
// CHECK: "dtype":"i64"
// CHECK: "dtype":"f32"
// CHECK: "dtype":"i32"
// CHECK: "dtype":"f16"

// TYPES: tp.all_reduce max %{{.*}} : tensor<4xi32> -> tensor<4xi32>
// TYPES: tp.all_reduce min %{{.*}} : tensor<4xi32> -> tensor<4xi32>
// TYPES: tp.all_reduce max %{{.*}} : tensor<4xi64> -> tensor<4xi64>
// TYPES: tp.all_reduce sum %{{.*}} : tensor<4xf32> -> tensor<4xf32>
// TYPES: tp.all_reduce sum %{{.*}} : tensor<4xi32> -> tensor<4xi32>
// TYPES: tp.all_reduce sum %{{.*}} : tensor<4xf16> -> tensor<4xf16>

// NaN is the greatest number of a maximum and the least of a minimum.
// KERNELS-DAG: arith.constant 2147483647 : i32
// KERNELS-DAG: arith.constant -2147483648 : i32

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%a: tensor<4xf32> {tp.name = "a"}, %b: tensor<4xbf16> {tp.name = "b"}, %c: tensor<4xf64> {tp.name = "c"}, %d: tensor<4xf8E5M2> {tp.name = "d"}, %e: tensor<4xi16> {tp.name = "e"}, %f: tensor<4xf16> {tp.name = "f"})
      -> (tensor<4xf32> {tp.name = "ra"}, tensor<4xbf16> {tp.name = "rb"}, tensor<4xf64> {tp.name = "rc"}, tensor<4xf8E5M2> {tp.name = "rd"}, tensor<4xi16> {tp.name = "re"}, tensor<4xf16> {tp.name = "rf"}) {
    %0 = tp.all_reduce max %a over <#mesh, ["tp"]> : tensor<4xf32> -> tensor<4xf32>
    %1 = tp.all_reduce min %b over <#mesh, ["tp"]> : tensor<4xbf16> -> tensor<4xbf16>
    %2 = tp.all_reduce max %c over <#mesh, ["tp"]> : tensor<4xf64> -> tensor<4xf64>
    %3 = tp.all_reduce sum %d over <#mesh, ["tp"]> : tensor<4xf8E5M2> -> tensor<4xf8E5M2>
    %4 = tp.all_reduce sum %e over <#mesh, ["tp"]> : tensor<4xi16> -> tensor<4xi16>
    %5 = tp.all_reduce sum %f over <#mesh, ["tp"]> : tensor<4xf16> -> tensor<4xf16>
    return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xbf16>, tensor<4xf64>, tensor<4xf8E5M2>, tensor<4xi16>, tensor<4xf16>
  }
}
