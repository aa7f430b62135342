//===- CauseNames.cpp - causes of copied collectives ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CauseNames.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

/// The names that the folded program's layers have, `distance` layers on.
LayerNames &CauseNames::movedBy(int64_t distance) {
  auto [it, isNew] = names.try_emplace(distance);
  if (!isNew)
    return it->second;
  const Correspondence &arguments = whole.correspondences().front();
  int64_t last = arguments.first + arguments.size() - 1 - copies;
  for (int64_t folded = arguments.first; folded <= last; ++folded)
    it->second.add(whole, folded <= copied ? folded : folded + copies,
                   folded + distance);
  return it->second;
}

void CauseNames::rename(Operation *op, int64_t folded, int64_t layer) {
  if (Attribute cause = op->getAttr(attr::cause))
    op->setAttr(attr::cause, movedBy(layer - folded).rename(cause));
}
