//===- JoinedArguments.cpp - weights that lie in one memory ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedArguments.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tp::target;

ArrayRef<int64_t> tp::target::partsOf(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return {};
  auto parts = function.getArgAttrOfType<DenseI64ArrayAttr>(
      argument.getArgNumber(), tp::attr::joined);
  return parts ? parts.asArrayRef() : ArrayRef<int64_t>();
}

AffineMap tp::target::placesInOrder(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> order,
                                    MLIRContext *context) {
  AffineExpr place = getAffineConstantExpr(0, context);
  for (int64_t dim : order)
    place = place * shape[dim] + getAffineDimExpr(dim, context);
  return AffineMap::get(shape.size(), 0, place);
}

/// The order in which `part` lies must name each dimension once.
static LogicalResult checkOrder(func::FuncOp function, BlockArgument part) {
  Attribute attribute =
      function.getArgAttr(part.getArgNumber(), tp::attr::permutation);
  if (!attribute)
    return success();
  auto order = dyn_cast<DenseI64ArrayAttr>(attribute);
  int64_t rank = cast<ShapedType>(part.getType()).getRank();
  llvm::SmallDenseSet<int64_t> dims;
  if (order)
    for (int64_t dim : order.asArrayRef())
      if (dim >= 0 && dim < rank)
        dims.insert(dim);
  if (!order || order.size() != rank || int64_t(dims.size()) != rank)
    return emitError(part.getLoc(), "expected '")
           << tp::attr::permutation << "' to be the dimensions of "
           << part.getType() << " in some order, got " << attribute;
  return success();
}

static LogicalResult addGroup(func::FuncOp function, BlockArgument memory,
                              llvm::DenseSet<BlockArgument> &taken,
                              SmallVectorImpl<JoinedArguments> &groups) {
  auto fail = [&](const Twine &what) {
    return emitError(memory.getLoc(), "'") << tp::attr::joined << "': " << what;
  };
  auto type = dyn_cast<ShapedType>(memory.getType());
  JoinedArguments &group = groups.emplace_back(JoinedArguments{memory, {}});
  if (function.getArgAttr(memory.getArgNumber(), tp::attr::name))
    return fail("expected an argument that is no port, got one with a name");
  int64_t elements = 0;
  for (int64_t number : partsOf(memory)) {
    if (number < 0 || number >= function.getNumArguments())
      return fail("there is no argument " + Twine(number));
    BlockArgument part = function.getArgument(number);
    auto partType = dyn_cast<ShapedType>(part.getType());
    if (!partsOf(part).empty() || !taken.insert(part).second)
      return fail("argument " + Twine(number) + " is joined twice");
    if (!part.use_empty())
      return fail("argument " + Twine(number) + " is read by itself");
    if (!type || !partType || !type.hasStaticShape() ||
        !partType.hasStaticShape() ||
        partType.getElementType() != type.getElementType())
      return fail("argument " + Twine(number) +
                  " has elements of another type");
    if (failed(checkOrder(function, part)))
      return failure();
    elements += partType.getNumElements();
    group.parts.push_back(part);
  }
  if (group.parts.size() < 2)
    return fail("expected two arguments or more");
  if (elements != type.getNumElements())
    return fail("its parts have " + Twine(elements) + " of " +
                Twine(type.getNumElements()) + " elements");
  return success();
}

FailureOr<SmallVector<JoinedArguments>>
tp::target::joinedArguments(func::FuncOp function) {
  SmallVector<JoinedArguments> groups;
  llvm::DenseSet<BlockArgument> taken;
  for (BlockArgument argument : function.getArguments()) {
    Attribute attribute =
        function.getArgAttr(argument.getArgNumber(), tp::attr::joined);
    if (!attribute) {
      // The numbers of ports count.
      if (!groups.empty())
        return LogicalResult(emitError(
            argument.getLoc(), "expected joined memory behind all ports"));
      continue;
    }
    if (!isa<DenseI64ArrayAttr>(attribute))
      return LogicalResult(emitError(argument.getLoc(), "expected '")
                           << tp::attr::joined
                           << "' to be numbers of arguments, "
                           << "got " << attribute);
    if (failed(addGroup(function, argument, taken, groups)))
      return failure();
  }
  return groups;
}
