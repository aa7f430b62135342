//===- Collective.cpp - what all collectives have -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/Collective.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

std::optional<Collective> tp::asCollective(Operation *op) {
  using Result = std::optional<Collective>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](AllReduceOp op) -> Result {
        return {{CollectiveKind::AllReduce, op.getAxes()}};
      })
      .Case([](AllGatherOp op) -> Result {
        return {{CollectiveKind::AllGather, op.getAxes()}};
      })
      .Case([](ReduceScatterOp op) -> Result {
        return {{CollectiveKind::ReduceScatter, op.getAxes()}};
      })
      .Case([](AllToAllOp op) -> Result {
        return {{CollectiveKind::AllToAll, op.getAxes()}};
      })
      .Case([](PermuteOp op) -> Result {
        return {{CollectiveKind::Permute, op.getAxes()}};
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

bool tp::isCollective(Operation *op) { return asCollective(op).has_value(); }
