//===- TPDialect.cpp - the dialect `tp` -----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/Program.h"
#include "tp/IR/Queues/Queues.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

#include "tp/IR/TPDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tp/IR/TPAttributes.cpp.inc"

namespace {
struct MeshAlias : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (!isa<MeshAttr>(attribute))
      return AliasResult::NoAlias;
    os << "mesh";
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TPDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tp/IR/TPAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tp/IR/TPOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tp/IR/ProgramOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tp/IR/QueueOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tp/IR/CustomOps.cpp.inc"
      >();
  addInterfaces<MeshAlias>();
}

LogicalResult TPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  auto expect = [&](bool holds, StringRef what) -> LogicalResult {
    if (holds)
      return success();
    return op->emitOpError()
           << "attribute '" << attribute.getName().getValue() << "' is " << what
           << ", got " << attribute.getValue();
  };
  StringRef name = attribute.getName();
  if (name == attr::mesh)
    return expect(isa<MeshAttr>(attribute.getValue()), "a #tp.mesh");
  if (name == attr::strategy)
    return expect(isa<StrategyAttr>(attribute.getValue()), "a #tp.strategy");
  if (name == attr::modules)
    return expect(isa<ArrayAttr>(attribute.getValue()), "an array");
  if (name == attr::calls) {
    auto calls = dyn_cast<IntegerAttr>(attribute.getValue());
    return expect(calls && calls.getType().isSignlessInteger(64) &&
                      calls.getInt() >= 1 && calls.getInt() <= mostCalls,
                  "an integer from 1 to 1000");
  }
  if (name == attr::recompute) {
    auto modules = dyn_cast<ArrayAttr>(attribute.getValue());
    return expect(modules && llvm::all_of(modules, llvm::IsaPred<StringAttr>),
                  "an array of modules' names");
  }
  if (name == attr::partOf)
    return expect(isa<StringAttr>(attribute.getValue()), "an entry's name");
  if (name == attr::times) {
    auto times = dyn_cast<IntegerAttr>(attribute.getValue());
    return expect(times && times.getType().isSignlessInteger(64) &&
                      times.getInt() >= 1,
                  "an integer from 1 on");
  }
  if (name == attr::values) {
    // Bufferization keeps attributes and drops results.
    if (op->getNumResults() == 0)
      return success();
    auto values = dyn_cast<ArrayAttr>(attribute.getValue());
    return expect(
        values && values.size() == op->getNumResults() &&
            llvm::all_of(values, llvm::IsaPred<DictionaryAttr, UnitAttr>),
        "an array with one dictionary or unit per result");
  }
  if (name != attr::resultLayouts)
    return success();
  auto layouts = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!layouts || layouts.size() != op->getNumResults())
    return expect(false, "an array with one layout per result");
  for (auto [layout, type] : llvm::zip(layouts, op->getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor && isa<UnitAttr>(layout))
      continue;
    auto attr = dyn_cast<LayoutAttr>(layout);
    if (!attr || !tensor)
      return expect(false, "an array of #tp.layout, unit where the result is "
                           "no tensor");
    if (failed(attr.verifyEncoding(tensor.getShape(), tensor.getElementType(),
                                   [&] { return op->emitOpError(); })))
      return failure();
  }
  return success();
}

MeshAttr tp::meshOf(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto mesh = op->getAttrOfType<MeshAttr>(attr::mesh))
      return mesh;
  return {};
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               Mesh value) {
  if (std::string broken = value.verify(); !broken.empty())
    return emitError() << broken;
  return success();
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 MeshAttr mesh, Layout value) {
  // The shape is not known here; verifyEncoding checks dimensions. Everything
  // else is checked against a shape that has every named dimension.
  constexpr int64_t mostDims = 1024;
  std::vector<int64_t> shape;
  for (const AxisPlacement &entry : value.entries) {
    const Placement &placement = entry.placement;
    if (!placement.isShard() || placement.dim < 0)
      continue;
    // Far above any tensor's rank; a shape that long would not fit.
    if (placement.dim > mostDims)
      return emitError() << "shard<" << placement.dim << "> needs that "
                         << "dimension, a tensor has at most " << mostDims;
    shape.resize(std::max<size_t>(shape.size(), placement.dim + 1), 1);
    int64_t size = 0;
    for (int64_t segment : placement.segments)
      size += segment;
    if (size)
      shape[placement.dim] = size;
  }
  if (std::string broken = value.verify(mesh.getValue(), shape);
      !broken.empty())
    return emitError() << broken;
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (std::string broken = getValue().verify(getMesh().getValue(), shape);
      !broken.empty())
    return emitError() << broken;
  return success();
}

LayoutAttr LayoutAttr::getReplicated(MeshAttr mesh) {
  return get(mesh.getContext(), mesh, Layout::replicated(mesh.getValue()));
}

LayoutAttr LayoutAttr::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

RankedTensorType LayoutAttr::attachTo(RankedTensorType type) const {
  return RankedTensorType::get(type.getShape(), type.getElementType(), *this);
}

SmallVector<int64_t> LayoutAttr::localShape(ArrayRef<int64_t> shape) const {
  return SmallVector<int64_t>(ArrayRef<int64_t>(getValue().localShape(shape)));
}

RankedTensorType LayoutAttr::localType(RankedTensorType type) const {
  return RankedTensorType::get(localShape(type.getShape()),
                               type.getElementType());
}

LogicalResult AxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               MeshAttr mesh, std::vector<AxisPart> parts) {
  const Mesh &grid = mesh.getValue();
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (grid.axes[part.axis].size % (part.major * part.size) != 0)
      return emitError() << toString(part, grid) << " does not divide its axis "
                         << "of size " << grid.axes[part.axis].size;
    for (AxisPart other : ArrayRef(parts).take_front(i)) {
      bool disjoint = other.axis != part.axis ||
                      other.major * other.size <= part.major ||
                      part.major * part.size <= other.major;
      if (!disjoint)
        return emitError() << "axis '" << grid.axes[part.axis].name
                           << "' is used twice";
    }
  }
  return success();
}

int64_t AxesAttr::groupSize() const {
  int64_t size = 1;
  for (AxisPart part : getParts())
    size *= part.size;
  return size;
}
