//===- MappingAttribute.cpp - the mapping of a kernel as text -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mapping by hand is one that the code of a kernel is right for: what the
// reads and the reductions of the kernel forbid is compared with the mapping
// that tp makes.
//
//===----------------------------------------------------------------------===//

#include "MappingAttribute.h"
#include "Program/ThreadMapping.h"
#include "ThreadGroup.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

// The fields of the attribute.
static constexpr llvm::StringLiteral kindField = "kind", blockField = "block",
                                     groupField = "group",
                                     packetsField = "packets",
                                     splitField = "split", loopField = "loop",
                                     tileField = "tile",
                                     vectorsField = "vectors",
                                     heldField = "held";

static constexpr Mapping allKinds[] = {Mapping::Pointwise, Mapping::Tiles,
                                       Mapping::Rows, Mapping::Columns,
                                       Mapping::Scatter};

static StringRef spelling(Mapping kind) {
  switch (kind) {
  case Mapping::Pointwise:
    return "pointwise";
  case Mapping::Tiles:
    return "tiles";
  case Mapping::Rows:
    return "rows";
  case Mapping::Columns:
    return "columns";
  case Mapping::Scatter:
    return "scatter";
  }
  llvm_unreachable("unknown mapping");
}

/// The numbers that a mapping of this kind has, and where they are.
static SmallVector<std::pair<StringRef, int64_t *>>
numbersOf(KernelMapping &mapping) {
  switch (mapping.kind) {
  case Mapping::Pointwise:
    return {{blockField, &mapping.block}, {packetsField, &mapping.perThread}};
  case Mapping::Tiles:
    return {{blockField, &mapping.block},
            {loopField, &mapping.tileLoop},
            {tileField, &mapping.tile}};
  case Mapping::Rows:
  case Mapping::Columns:
    return {{blockField, &mapping.block},
            {groupField, &mapping.groupSize},
            {packetsField, &mapping.perThread},
            {splitField, &mapping.splitFactor}};
  case Mapping::Scatter:
    return {{blockField, &mapping.block}, {splitField, &mapping.splitFactor}};
  }
  llvm_unreachable("unknown mapping");
}

DictionaryAttr tp::cuda::describe(const KernelMapping &mapping,
                                  MLIRContext *context) {
  Builder builder(context);
  KernelMapping copy = mapping;
  NamedAttrList fields;
  fields.set(kindField, builder.getStringAttr(spelling(copy.kind)));
  for (auto [name, number] : numbersOf(copy))
    fields.set(name, builder.getI64IntegerAttr(*number));
  fields.set(vectorsField, builder.getDenseI64ArrayAttr(copy.vectors));
  if (copy.kind == Mapping::Rows)
    fields.set(heldField, builder.getDenseBoolArrayAttr(copy.held));
  return fields.getDictionary(context);
}

namespace {
/// Reads and checks the mapping of a kernel.
class MappingReader {
public:
  MappingReader(tp::KernelOp kernel, const FusedKernel &fused,
                const KernelMapping &chosen)
      : kernel(kernel), fused(fused), chosen(chosen) {}

  FailureOr<KernelMapping> read(DictionaryAttr fields);

private:
  InFlightDiagnostic error() {
    return kernel.emitOpError("'") << tp::attr::mapping << "': ";
  }
  LogicalResult readKind(DictionaryAttr fields);
  LogicalResult readFields(DictionaryAttr fields);
  LogicalResult checkVectors();
  LogicalResult checkThreads();
  LogicalResult checkTile();
  LogicalResult checkHeld();
  /// Whether `number` is a power of two from `least` to `most`; an error else.
  LogicalResult expectPower(StringRef name, int64_t number, int64_t least,
                            int64_t most) {
    if (number >= least && number <= most && llvm::isPowerOf2_64(number))
      return success();
    return error() << "expected '" << name << "' to be a power of two from "
                   << least << " to " << most << ", got " << number;
  }

  tp::KernelOp kernel;
  const FusedKernel &fused;
  const KernelMapping &chosen;
  KernelMapping mapping;
};
} // namespace

LogicalResult MappingReader::readKind(DictionaryAttr fields) {
  auto text = fields.getAs<StringAttr>(kindField);
  for (Mapping kind : allKinds) {
    if (!text || text.getValue() != spelling(kind))
      continue;
    mapping.kind = kind;
    if (kind == chosen.kind ||
        (kind == Mapping::Pointwise && chosen.kind == Mapping::Tiles))
      return success();
  }
  InFlightDiagnostic problem = error() << "expected 'kind' to be \""
                                       << spelling(chosen.kind) << "\"";
  if (chosen.kind == Mapping::Tiles)
    problem << " or \"" << spelling(Mapping::Pointwise) << "\"";
  return problem << ", which the loops of this kernel can be";
}

LogicalResult MappingReader::readFields(DictionaryAttr fields) {
  llvm::StringSet<> known = {kindField, vectorsField};
  for (auto [name, number] : numbersOf(mapping)) {
    auto field = fields.getAs<IntegerAttr>(name);
    if (!field || !field.getType().isInteger(64))
      return error() << "expected an i64 as '" << name << "'";
    *number = field.getInt();
    known.insert(name);
  }
  auto vectors = fields.getAs<DenseI64ArrayAttr>(vectorsField);
  if (!vectors)
    return error() << "expected an array of i64 as '" << vectorsField << "'";
  mapping.vectors.assign(vectors.asArrayRef().begin(),
                         vectors.asArrayRef().end());
  if (mapping.kind == Mapping::Rows) {
    auto held = fields.getAs<DenseBoolArrayAttr>(heldField);
    if (!held)
      return error() << "expected an array of i1 as '" << heldField << "'";
    mapping.held.assign(held.asArrayRef().begin(), held.asArrayRef().end());
    known.insert(heldField);
  }
  for (NamedAttribute field : fields)
    if (!known.contains(field.getName().getValue()))
      return error() << "'" << field.getName().getValue()
                     << "' is no field of \"" << spelling(mapping.kind) << "\"";
  return success();
}

/// Wider accesses than tp's would not be aligned.
LogicalResult MappingReader::checkVectors() {
  if (mapping.vectors.size() != chosen.vectors.size())
    return error() << "expected " << chosen.vectors.size() << " numbers as '"
                   << vectorsField << "', got " << mapping.vectors.size();
  for (auto [vector, most] : llvm::zip_equal(mapping.vectors, chosen.vectors))
    if (failed(expectPower(vectorsField, vector, 1, most)))
      return failure();
  return success();
}

LogicalResult MappingReader::checkThreads() {
  constexpr int64_t mostPackets = 8;
  if (mapping.block < warpSize || mapping.block > mostThreads ||
      mapping.block % warpSize)
    return error() << "expected '" << blockField << "' to be a multiple of "
                   << warpSize << " up to " << mostThreads << ", got "
                   << mapping.block;
  if (failed(expectPower(packetsField, mapping.perThread, 1, mostPackets)))
    return failure();
  if (mapping.splitFactor < 1 || mapping.splitFactor > chosen.splitFactor)
    return error() << "expected '" << splitField << "' from 1 to "
                   << chosen.splitFactor << ", got " << mapping.splitFactor;
  int64_t blockOfGroup = mapping.block;
  if (mapping.kind == Mapping::Columns) {
    if (failed(expectPower(groupField, mapping.groupSize, 1, chosen.groupSize)))
      return failure();
    blockOfGroup = warpSize * mapping.groupSize;
    if (mapping.groupSize == 1 && mapping.splitFactor > 1)
      return error() << "expected '" << splitField
                     << "' to be 1 where 'group' is";
  } else if (mapping.kind == Mapping::Rows) {
    int64_t most = chosen.groupSize == 1 ? 1 : mostThreads;
    if (failed(expectPower(groupField, mapping.groupSize, 1, most)))
      return failure();
    if (mapping.groupSize > 1 && mapping.groupSize < warpSize)
      return error() << "expected '" << groupField << "' to be 1, or "
                     << warpSize << " or more, got " << mapping.groupSize;
    if (mapping.groupSize > warpSize)
      blockOfGroup = mapping.groupSize;
    if (mapping.groupSize != chosen.groupSize && mapping.splitFactor > 1)
      return error() << "expected '" << groupField << "' to be "
                     << chosen.groupSize << " where 'split' is above 1, got "
                     << mapping.groupSize;
    if (mapping.groupSize == 1 &&
        llvm::any_of(mapping.vectors, [](int64_t v) { return v != 1; }))
      return error() << "expected '" << vectorsField
                     << "' to be 1 where 'group' is";
  }
  if (mapping.block != blockOfGroup)
    return error() << "expected '" << blockField << "' to be " << blockOfGroup
                   << " for a 'group' of " << mapping.groupSize << ", got "
                   << mapping.block;
  return success();
}

/// A tile that is larger than tp's may not fit into shared memory.
LogicalResult MappingReader::checkTile() {
  constexpr int64_t least = 16;
  if (mapping.kind != Mapping::Tiles)
    return success();
  if (mapping.tileLoop != chosen.tileLoop)
    return error() << "expected '" << loopField << "' to be " << chosen.tileLoop
                   << ", along which the kernel reads, got "
                   << mapping.tileLoop;
  return expectPower(tileField, mapping.tile, least, chosen.tile);
}

LogicalResult MappingReader::checkHeld() {
  if (mapping.kind != Mapping::Rows)
    return success();
  if (mapping.held.size() != chosen.held.size())
    return error() << "expected " << chosen.held.size() << " values as '"
                   << heldField << "', got " << mapping.held.size();
  for (auto [number, held] : llvm::enumerate(mapping.held)) {
    if (!held)
      continue;
    if (fused.loopNests[number].numParallel || mapping.splitFactor > 1 ||
        mapping.nests[number].elementsPerThread(mapping.groupSize) >
            mostHeldElements)
      return error() << "expected '" << heldField << "' to be false for loop "
                     << "nest " << number
                     << ", whose elements do not fit into registers";
  }
  return success();
}

FailureOr<KernelMapping> MappingReader::read(DictionaryAttr fields) {
  if (failed(readKind(fields)) || failed(readFields(fields)) ||
      failed(checkVectors()) || failed(checkThreads()) || failed(checkTile()))
    return failure();
  mapping.nests = nestsOf(fused, mapping);
  if (failed(checkHeld()))
    return failure();
  return std::move(mapping);
}

FailureOr<KernelMapping> tp::cuda::checkedMapping(tp::KernelOp kernel,
                                                  const KernelPlan &plan,
                                                  const KernelMapping &chosen) {
  Attribute attribute = threadMapping(kernel);
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  if (!fields)
    return kernel.emitOpError("'")
           << tp::attr::mapping << "': expected a dictionary, got "
           << attribute;
  return MappingReader(kernel, *plan.fusedKernel, chosen).read(fields);
}

KernelMapping tp::cuda::mappingOf(tp::LaunchOp launch, const KernelPlan &plan) {
  auto fields = cast<DictionaryAttr>(threadMapping(launch));
  KernelMapping mapping;
  for (Mapping kind : allKinds)
    if (fields.getAs<StringAttr>(kindField).getValue() == spelling(kind))
      mapping.kind = kind;
  for (auto [name, number] : numbersOf(mapping))
    *number = fields.getAs<IntegerAttr>(name).getInt();
  llvm::append_range(
      mapping.vectors,
      fields.getAs<DenseI64ArrayAttr>(vectorsField).asArrayRef());
  if (mapping.kind == Mapping::Rows)
    llvm::append_range(
        mapping.held, fields.getAs<DenseBoolArrayAttr>(heldField).asArrayRef());
  mapping.nests = nestsOf(*plan.fusedKernel, mapping);
  return mapping;
}
