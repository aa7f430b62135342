//===- MakeManifest.cpp - the artifact's manifest -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "Program/JoinedArguments.h"
#include "Program/MemoryOrder.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include <numeric>

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

rt::DataType tp::target::dataTypeOf(Type type) {
  if (type.isF64())
    return rt::DataType::F64;
  if (type.isF32())
    return rt::DataType::F32;
  if (type.isF16())
    return rt::DataType::F16;
  if (type.isBF16())
    return rt::DataType::BF16;
  if (type.isIndex())
    return rt::DataType::Index;
  if (isa<Float8E4M3FNType>(type))
    return rt::DataType::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return rt::DataType::F8E5M2;
  if (isa<Float8E4M3FNUZType>(type))
    return rt::DataType::F8E4M3FNUZ;
  if (isa<Float8E5M2FNUZType>(type))
    return rt::DataType::F8E5M2FNUZ;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return rt::DataType::I1;
  case 8:
    return rt::DataType::I8;
  case 16:
    return rt::DataType::I16;
  case 32:
    return rt::DataType::I32;
  default:
    return rt::DataType::I64;
  }
}

/// What a file for a port holds.
static rt::DataType portDataType(Type element, bool isUnsigned) {
  rt::DataType type = dataTypeOf(element);
  if (!isUnsigned)
    return type;
  switch (type) {
  case rt::DataType::I8:
    return rt::DataType::U8;
  case rt::DataType::I16:
    return rt::DataType::U16;
  case rt::DataType::I32:
    return rt::DataType::U32;
  case rt::DataType::I64:
    return rt::DataType::U64;
  default:
    return type;
  }
}

static std::vector<int64_t> list(ArrayRef<int64_t> values) {
  return values.vec();
}

static RankedTensorType tensorOf(Type type) {
  auto buffer = cast<MemRefType>(type);
  return RankedTensorType::get(buffer.getShape(), buffer.getElementType());
}

/// What arguments and results have in common.
static FailureOr<rt::Port> describePort(const tp::Mesh &mesh,
                                        DictionaryAttr attributes,
                                        RankedTensorType local, Location loc,
                                        Twine fallbackName,
                                        StringRef fallbackKind) {
  RankedTensorType global = local;
  tp::Layout layout = tp::Layout::replicated(mesh);
  rt::Port port;
  port.name = fallbackName.str();
  port.kind = fallbackKind.str();
  bool isUnsigned = attributes && attributes.contains(tp::attr::unsignedPort);
  if (attributes) {
    if (auto type = attributes.getAs<TypeAttr>(tp::attr::globalType))
      global = dyn_cast<RankedTensorType>(type.getValue());
    if (auto layoutAttr = attributes.getAs<tp::LayoutAttr>(tp::attr::layout))
      layout = layoutAttr.getValue();
    if (auto text = attributes.getAs<StringAttr>(tp::attr::name))
      port.name = text.str();
    if (auto text = attributes.getAs<StringAttr>(tp::attr::kind))
      port.kind = text.str();
  }
  if (!global || !global.hasStaticShape() ||
      global.getRank() != local.getRank())
    return emitError(loc, "'")
           << port.name << "': expected a static global type of rank "
           << local.getRank();
  std::string broken = layout.verify(mesh, global.getShape());
  if (!broken.empty())
    return emitError(loc, "'") << port.name << "': " << broken;
  if (ArrayRef<int64_t>(layout.localShape(global.getShape())) !=
      local.getShape())
    return emitError(loc, "'")
           << port.name << "': local type " << local << " is not what layout "
           << layout.toString(mesh) << " makes of " << global;
  port.shape = list(global.getShape());
  port.dtype = portDataType(local.getElementType(), isUnsigned);
  port.layout = describeLayout(mesh, layout);
  port.permutation.resize(port.shape.size());
  std::iota(port.permutation.begin(), port.permutation.end(), 0);
  return port;
}

/// The names of which the weight files must have one.
static rt::WholeSource sourceOf(rt::Port port, ArrayAttr aliases) {
  rt::WholeSource source = rt::defaultSource(port);
  if (source.sourceKeys.empty() || !aliases)
    return source;
  for (auto alias : aliases.getAsRange<StringAttr>()) {
    port.name = alias.str();
    for (std::string &key : rt::defaultSource(port).sourceKeys)
      source.sourceKeys.push_back(std::move(key));
  }
  return source;
}

/// The order of dimensions in which the elements of `type` lie without gaps,
/// major first.
static std::optional<std::vector<int64_t>> permutationOf(MemRefType type) {
  std::vector<int64_t> order(type.getRank());
  std::iota(order.begin(), order.end(), 0);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return std::nullopt;
  if (isRowMajor(type))
    return order;
  llvm::stable_sort(
      order, [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  int64_t expected = 1;
  for (int64_t dim : llvm::reverse(order)) {
    if (strides[dim] != expected && type.getDimSize(dim) != 1)
      return std::nullopt;
    expected *= type.getDimSize(dim);
  }
  return order;
}

/// The tensor in the tables that entries share which `port` is too: they have
/// it in one layout and one order.
static FailureOr<int64_t> findShared(const rt::Port &port,
                                     rt::Manifest &manifest, Location loc) {
  auto known = llvm::find_if(manifest.arguments, [&](const rt::Port &other) {
    return other.name == port.name && other.kind == port.kind;
  });
  if (known == manifest.arguments.end())
    return -1;
  if (known->shape != port.shape || known->dtype != port.dtype ||
      known->roundedFrom != port.roundedFrom || known->layout != port.layout ||
      known->permutation != port.permutation)
    return emitError(loc, "'")
           << port.name
           << "' differs from that of an earlier entry, expected one shape, "
              "dtype, layout and order of dimensions in memory";
  known->dead &= port.dead;
  return known - manifest.arguments.begin();
}

/// Weights, and what entries update for others, go to the tables that entries
/// share; all else is an input of the entry. Its signature has inputs as
/// negative numbers, -1 the first, until all entries are known.
static LogicalResult describeArguments(const ManifestSource &program,
                                       unsigned number,
                                       const tp::SharedArguments &shared,
                                       rt::Manifest &manifest,
                                       rt::Entry &entry) {
  func::FuncOp function = program.function;
  auto joined = joinedArguments(function);
  if (failed(joined))
    return failure();
  llvm::DenseSet<BlockArgument> readAsPart;
  for (const JoinedArguments &group : *joined)
    if (isUsed(group.memory))
      readAsPart.insert_range(group.parts);
  // What a step makes for the next one is kept, also where only the caller asks
  // for it.
  llvm::MapVector<unsigned, unsigned> updates = tp::updatesOf(function);
  for (BlockArgument argument : function.getArguments()) {
    if (!partsOf(argument).empty() || isCarried(argument))
      continue;
    unsigned i = argument.getArgNumber();
    auto type = cast<MemRefType>(argument.getType());
    auto port =
        describePort(program.mesh, function.getArgAttrDict(i), tensorOf(type),
                     argument.getLoc(), "argument" + Twine(i), "user_input");
    if (failed(port))
      return failure();
    port->dead = !isUsed(argument) && !readAsPart.contains(argument) &&
                 !updates.contains(i);
    port->source = sourceOf(
        *port, function.getArgAttrOfType<ArrayAttr>(i, tp::attr::aliases));
    if (auto from =
            function.getArgAttrOfType<TypeAttr>(i, tp::attr::roundedFrom))
      port->roundedFrom = dataTypeOf(from.getValue());
    auto permutation = permutationOf(type);
    if (!permutation)
      return emitError(argument.getLoc(), "'")
             << port->name
             << "': expected the elements in an order of dimensions, got "
             << type;
    port->permutation = std::move(*permutation);
    if (!port->isWeight() && !shared.tensorOf(number, i)) {
      entry.inputs.push_back(std::move(*port));
      entry.signature.push_back(-int64_t(entry.inputs.size()));
      continue;
    }
    FailureOr<int64_t> known = findShared(*port, manifest, argument.getLoc());
    if (failed(known))
      return failure();
    if (*known >= 0) {
      entry.signature.push_back(*known);
      continue;
    }
    entry.signature.push_back(int64_t(manifest.arguments.size()));
    manifest.arguments.push_back(std::move(*port));
  }
  for (const JoinedArguments &group : *joined) {
    if (!isUsed(group.memory))
      continue;
    std::vector<int64_t> positions;
    for (BlockArgument part : group.parts) {
      positions.push_back(entry.signature[part.getArgNumber()]);
      if (positions.back() < 0 ||
          !manifest.arguments[positions.back()].isWeight())
        return emitError(part.getLoc(),
                         "expected a weight as a part of joined memory");
    }
    if (!llvm::is_contained(manifest.joined, positions))
      manifest.joined.push_back(std::move(positions));
  }
  return success();
}

/// What a part belongs to, or what parts of the entry carry.
static LogicalResult describeParts(const ManifestSource &program,
                                   rt::Manifest &manifest, rt::Entry &entry) {
  func::FuncOp function = program.function;
  if (!tp::isPartOfEntry(function)) {
    for (BlockArgument argument : function.getArguments())
      if (isCarried(argument))
        entry.carried.push_back(
            {function
                 .getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                               tp::attr::name)
                 .str(),
             bytesOf(cast<MemRefType>(argument.getType()))});
    return success();
  }
  auto times = function->getAttrOfType<IntegerAttr>(tp::attr::times);
  auto whole = llvm::find_if(manifest.entries, [&](const rt::Entry &other) {
    return other.name == tp::wholeEntryOf(function);
  });
  if (!times || whole == manifest.entries.end())
    return function.emitError("is a part of @")
           << tp::wholeEntryOf(function)
           << ", expected that in the module, and '" << tp::attr::times << "'";
  entry.part = rt::EntryPart{whole - manifest.entries.begin(), times.getInt()};
  return success();
}

static LogicalResult describeResults(const ManifestSource &program,
                                     rt::Entry &entry) {
  func::FuncOp function = program.function;
  // What a part gives is in carried memory.
  if (tp::isPartOfEntry(function))
    return success();
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto port = describePort(program.mesh, function.getResultAttrDict(i),
                             tensorOf(type), function.getLoc(),
                             "result" + Twine(i), "user_output");
    if (failed(port))
      return failure();
    entry.results.push_back(std::move(*port));
  }
  return success();
}

static LogicalResult describeEntry(const ManifestSource &program,
                                   tp::CompiledManifest &compiled,
                                   rt::Entry &entry) {
  rt::Manifest &manifest = compiled.manifest;
  auto tables = describeCollectives(program, std::move(manifest.groups));
  if (failed(tables) || failed(describeParts(program, manifest, entry)) ||
      failed(describeResults(program, entry)) ||
      failed(describeUpdates(program, manifest, entry)))
    return failure();
  auto commands = describeCommands(program, *tables);
  if (failed(commands))
    return failure();
  entry.program = std::move(*commands);
  if (failed(describeQueues(program, entry)))
    return failure();
  manifest.groups = std::move(tables->groups);
  entry.collectives = std::move(tables->collectives);
  for (rt::Collective &collective : entry.collectives)
    if (entry.part)
      collective.count *= entry.part->times;
  compiled.causes.push_back(std::move(tables->causes));
  tp::ProgramStatistics statistics = statisticsOf(program);
  entry.memory = {statistics.arenaBytes, statistics.peakLiveBytes,
                  statistics.weightsBytes, statistics.constantsBytes,
                  statistics.scratchBytes};
  return success();
}

FailureOr<tp::CompiledManifest>
tp::target::makeManifest(ArrayRef<ManifestSource> entries) {
  tp::CompiledManifest compiled;
  rt::Manifest &manifest = compiled.manifest;
  const ManifestSource &first = entries.front();
  manifest.producer = "tp 0.1";
  manifest.target = first.target;
  manifest.mesh = describeMesh(first.mesh);
  for (auto [check, id] : first.asserts->ids) {
    // The location of the op around it names the module.
    tp::SourceName name = tp::sourceNameOf(check.second);
    manifest.asserts.push_back(
        {id, check.first.str(), name.module, name.location});
  }
  SmallVector<func::FuncOp> functions;
  for (const ManifestSource &program : entries)
    functions.push_back(program.function);
  tp::SharedArguments shared(functions);
  manifest.entries.resize(entries.size());
  for (auto [number, program] : llvm::enumerate(entries)) {
    rt::Entry &entry = manifest.entries[number];
    entry.name = functions[number].getSymName().str();
    if (failed(describeArguments(program, number, shared, manifest, entry)))
      return failure();
  }
  for (rt::Entry &entry : manifest.entries)
    for (int64_t &position : entry.signature)
      if (position < 0)
        position = int64_t(manifest.arguments.size()) - position - 1;
  for (auto [program, entry] : llvm::zip_equal(entries, manifest.entries))
    if (failed(describeEntry(program, compiled, entry)))
      return failure();
  if (!manifest.isCuda())
    for (size_t i = 0; i < manifest.entries.size(); ++i)
      if (!manifest.entries[i].part)
        describeChecks(entries, manifest, int64_t(i));
  const ManifestSource &last = entries.back();
  rt::Status status =
      rt::checkManifest(manifest, last.constantsAt + last.memory.constants);
  if (!status.ok())
    return functions.front().emitError("the program cannot be an artifact: ")
           << status.message();
  return compiled;
}
