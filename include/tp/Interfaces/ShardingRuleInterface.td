//===- ShardingRuleInterface.td - how an op can be split ---*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_SHARDINGRULEINTERFACE_TD
#define TP_INTERFACES_SHARDINGRULEINTERFACE_TD

include "mlir/IR/OpBase.td"

def TP_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An op that can be split over ranks. `getShardingRule` returns its sharding
    rule; everything that chooses or checks layouts works on that rule alone.
    `createLocal` creates the op that one rank runs, and is all that the partition
    needs.

    Upstream ops get the interface as an external model, one file per dialect in
    lib/Interfaces.
  }];
  let methods = [
    InterfaceMethod<[{
        The factors of the op, which dimension of which tensor is which factor,
        and which partial values may pass through. Emits an error at the op and
        fails if tp does not understand the op.
      }],
      "::mlir::FailureOr<::tp::ShardingRule>", "getShardingRule">,
    InterfaceMethod<[{
        Creates what one rank computes, at the builder's insertion point, and
        returns one value per result. `local` has the rank's buffers of all slots,
        the strategy and the offsets of split factors. Emits an error at the op
        and fails if the op cannot be split in this way.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "createLocal",
      (ins "::tp::LocalOpBuilder &":$local)>,
  ];
}

#endif // TP_INTERFACES_SHARDINGRULEINTERFACE_TD
