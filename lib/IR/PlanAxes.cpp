//===- PlanAxes.cpp - the axes that a plan is for -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSyntax.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/PlanStyle.h"

using namespace mlir;
using namespace tp;

void PlanOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   MeshAttr mesh, StringRef axis, bool isAuto) {
  build(builder, state, name, mesh, builder.getStrArrayAttr({axis}), isAuto);
}

bool PlanOp::hasAxis(StringRef axis) {
  return llvm::is_contained(getAxes().getAsValueRange<StringAttr>(), axis);
}

StringAttr PlanOp::getAxisAttr() {
  assert(getAxes().size() == 1 && "expected a plan of one axis");
  return cast<StringAttr>(getAxes()[0]);
}

/// The axes are those of the mesh, each once and in its order.
static LogicalResult verifyAxes(PlanOp plan) {
  const Mesh &mesh = plan.getMesh().getValue();
  if (plan.getAxes().empty())
    return plan.emitOpError() << "expected an axis, got none";
  llvm::SmallDenseSet<StringRef> seen;
  std::optional<unsigned> major;
  for (StringRef name : plan.getAxes().getAsValueRange<StringAttr>()) {
    if (!seen.insert(name).second)
      return plan.emitOpError()
             << "is for axis '" << name << "' twice, expected each axis once";
    std::optional<unsigned> axis = mesh.axisByName(name);
    if (!axis && !plan->hasAttr(optionalPlan))
      return plan.emitOpError()
             << "the mesh has no axis '" << name
             << "': write 'optional' behind the axis, or behind its 'auto', "
                "where a mesh may lack it";
    if (axis && major && *axis < *major)
      return plan.emitOpError()
             << "is for axis '" << mesh.axes[*major].name << "' before '"
             << name << "', expected the order of the mesh: the first is major";
    if (axis)
      major = axis;
  }
  return success();
}

LogicalResult PlanOp::verify() {
  if (failed(verifyAxes(*this)))
    return failure();
  for (Operation &op : getBody().front()) {
    if (isa<RuleOp>(op))
      return op.emitOpError() << "a rule holds on every axis: expected it "
                                 "before or behind the plans of the file";
    if (!isa<ParallelizeOp, FullyShardOp, RecomputeOp, ArgumentOp, ResultOp>(
            op))
      return op.emitOpError() << "expected tp.parallelize, tp.fully_shard, "
                                 "tp.recompute, tp.argument or tp.result in a "
                                 "plan";
  }
  return success();
}

static ParseResult parseAxis(OpAsmParser &parser, MeshAttr mesh,
                             std::string &name) {
  int64_t index;
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult parsed = parser.parseOptionalInteger(index);
  if (!parsed.has_value())
    return parser.parseString(&name);
  if (failed(*parsed))
    return failure();
  ArrayRef<MeshAxis> axes = mesh.getValue().axes;
  int64_t count = axes.size();
  if (index < -count || index >= count)
    return parser.emitError(loc)
           << "the mesh has " << count << " axes, expected an index from "
           << -count << " to " << count - 1 << ", got " << index;
  name = axes[index < 0 ? index + count : index].name;
  return success();
}

ParseResult tp::parsePlanAxes(OpAsmParser &parser, ArrayAttr &axes,
                              MeshAttr mesh) {
  SmallVector<Attribute> names;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        std::string name;
        if (parseAxis(parser, mesh, name))
          return failure();
        names.push_back(parser.getBuilder().getStringAttr(name));
        return success();
      }))
    return failure();
  axes = parser.getBuilder().getArrayAttr(names);
  return success();
}

void tp::printPlanAxes(OpAsmPrinter &printer, Operation *, ArrayAttr axes,
                       MeshAttr) {
  llvm::interleaveComma(axes, printer);
}

ParseResult tp::parsePlanMarks(OpAsmParser &parser, NamedAttrList &attributes) {
  if (succeeded(parser.parseOptionalKeyword(optionalPlan)))
    attributes.set(optionalPlan, parser.getBuilder().getUnitAttr());
  return parser.parseOptionalAttrDictWithKeyword(attributes);
}

void tp::printPlanMarks(OpAsmPrinter &printer, PlanOp op,
                        DictionaryAttr attributes) {
  if (attributes.get(optionalPlan))
    printer << ' ' << optionalPlan;
  SmallVector<StringRef> elided(op.getAttributeNames());
  elided.push_back(optionalPlan);
  printer.printOptionalAttrDictWithKeyword(attributes.getValue(), elided);
}
