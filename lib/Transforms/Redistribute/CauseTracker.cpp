//===- CauseTracker.cpp - what collectives are for ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CauseTracker.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/CauseAttributes.h"

using namespace mlir;
using namespace tp;

void CauseTracker::take(Value value, Attribute list) {
  auto given = dyn_cast_or_null<ArrayAttr>(list);
  for (Attribute each : given ? given.getValue() : ArrayRef<Attribute>())
    if (auto cause = dyn_cast<DictionaryAttr>(each))
      causes[value].push_back(cause);
}

void CauseTracker::take(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  take(argument, func.getArgAttr(number, attr::causes));
  func.removeArgAttr(number, attr::causes);
}

void CauseTracker::take(Operation *op) {
  auto lists = op->getAttrOfType<ArrayAttr>(attr::causes);
  if (!lists)
    return;
  size_t next = 0;
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()) && next < lists.size())
      take(result, lists[next++]);
  op->removeAttr(attr::causes);
}

/// `tp`, or `tp:1:2` for a part of it.
static std::optional<AxisPart> partCalled(StringRef name, const Mesh &mesh) {
  auto [axisName, rest] = name.split(':');
  std::optional<unsigned> axis = mesh.axisByName(axisName);
  if (!axis)
    return std::nullopt;
  AxisPart part = mesh.wholeAxis(*axis);
  auto [major, size] = rest.split(':');
  if (!rest.empty() &&
      (major.getAsInteger(10, part.major) || size.getAsInteger(10, part.size)))
    return std::nullopt;
  return part;
}

/// Whether the cause is for a change to `layout`: it names an axis part and
/// what the layout does there.
static bool isFor(DictionaryAttr cause, LayoutAttr layout) {
  auto name = cause.getAs<StringAttr>("axis");
  auto to = cause.getAs<PlacementAttr>("to");
  if (!name || !to)
    return false;
  std::optional<AxisPart> part =
      partCalled(name.getValue(), layout.getMesh().getValue());
  if (!part)
    return false;
  const Placement &wanted = to.getValue();
  bool isThere = wanted.isReplicate();
  for (const AxisPlacement &entry : layout.getValue().entries) {
    // Layouts may join the parts of an axis.
    bool overlaps = entry.part.axis == part->axis &&
                    entry.part.major < part->major * part->size &&
                    part->major < entry.part.major * entry.part.size;
    if (!overlaps || entry.placement.isReplicate())
      continue;
    bool isSame = entry.placement.kind == wanted.kind &&
                  (!wanted.isShard() || entry.placement.dim == wanted.dim);
    if (!isSame)
      return false;
    isThere = true;
  }
  return isThere;
}

static DictionaryAttr describeUse(func::FuncOp func, Operation *user,
                                  OpOperand *operand) {
  Builder builder(func.getContext());
  NamedAttrList use;
  if (auto pin = dyn_cast<ConstrainOp>(user)) {
    use.set("what", pin.getPortAttr());
    use.set("name", pin.getModuleAttr());
  } else if (isa<func::ReturnOp>(user) && operand) {
    unsigned number = operand->getOperandNumber();
    auto name = func.getResultAttrOfType<StringAttr>(number, attr::name);
    use.set("what", builder.getStringAttr("result"));
    use.set("name", name ? name : builder.getStringAttr(Twine(number)));
  } else {
    use.set("what", builder.getStringAttr(user->getName().getStringRef()));
    use.set("at", cast<Attribute>(LocationAttr(user->getLoc())));
  }
  return use.getDictionary(func.getContext());
}

void CauseTracker::serve(Value asked, Value version, Operation *user,
                         OpOperand *operand) {
  if (causes.empty())
    return;
  auto known = causes.find(asked);
  for (auto change = version.getDefiningOp<RedistributeOp>(); change;
       change = change.getSource().getDefiningOp<RedistributeOp>()) {
    Made &made = changes[change];
    made.uses.insert(describeUse(func, user, operand));
    if (known == causes.end())
      continue;
    for (DictionaryAttr cause : known->second)
      if (isFor(cause, LayoutAttr::of(change.getType())))
        made.changes.insert(cause);
  }
}

void CauseTracker::join(Operation *inner, Operation *outer) {
  auto known = changes.find(inner);
  if (known == changes.end())
    return;
  SmallVector<Attribute> joined = known->second.changes.takeVector();
  changes.erase(known);
  changes[outer].changes.insert_range(joined);
}

void CauseTracker::write() {
  Builder builder(func.getContext());
  for (auto &[change, made] : changes)
    change->setAttr(
        attr::cause,
        builder.getDictionaryAttr(
            {builder.getNamedAttr(
                 "uses", builder.getArrayAttr(made.uses.getArrayRef())),
             builder.getNamedAttr(
                 "changes",
                 builder.getArrayAttr(made.changes.getArrayRef()))}));
}
