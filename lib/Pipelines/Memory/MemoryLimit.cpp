//===- MemoryLimit.cpp - what a rank may hold -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/MemoryLimit.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Codegen/CPU/CompileForCPU.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/TP.h"
#include "tp/Pipelines/Report.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

static std::optional<int64_t> bytesOf(StringRef text) {
  static const std::pair<StringRef, double> units[] = {
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
      {"KB", 1e3},     {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12},    {"B", 1}};
  text = text.trim();
  double unit = 1;
  for (auto [suffix, bytes] : units)
    if (text.consume_back(suffix)) {
      unit = bytes;
      break;
    }
  text = text.rtrim();
  double number;
  if (text.empty() || !llvm::isDigit(text.front()) ||
      text.find_first_not_of("0123456789.") != StringRef::npos ||
      text.getAsDouble(number))
    return std::nullopt;
  double bytes = number * unit;
  if (!(bytes >= 1) || bytes >= 0x1p62)
    return std::nullopt;
  return static_cast<int64_t>(bytes);
}

FailureOr<int64_t> tp::parseBytes(Location loc, StringRef text,
                                  StringRef what) {
  if (std::optional<int64_t> bytes = bytesOf(text))
    return *bytes;
  return emitError(loc) << "expected bytes as " << what
                        << ", as in 1000, 80GB or 16GiB, got '" << text << "'";
}

int64_t tp::carriedBytes(const runtime::Manifest &manifest) {
  int64_t bytes = 0;
  for (const runtime::Entry &entry : manifest.entries)
    for (const runtime::CarriedValue &value : entry.carried)
      bytes += value.bytes;
  return bytes;
}

void tp::warnOfMemory(Location loc, const runtime::Manifest &manifest,
                      const Hardware &hardware) {
  runtime::MemoryPlan memory = memoryOfRank(manifest);
  int64_t needed =
      memory.weightsBytes + memory.arenaBytes + carriedBytes(manifest);
  if (hardware.memoryBytes && needed > *hardware.memoryBytes)
    emitWarning(loc) << "a rank needs " << needed
                     << " bytes for weights and activations, hardware '"
                     << hardware.name << "' has " << *hardware.memoryBytes;
}

LogicalResult tp::checkMemoryLimit(Location loc, ModuleOp partitioned,
                                   int64_t limit, const CUDAOptions *cuda) {
  OwningOpRef<ModuleOp> copy = partitioned.clone();
  FailureOr<ProgramStatistics> planned =
      cuda ? planMemoryForCUDA(*copy, *cuda) : planMemoryForCPU(*copy);
  if (failed(planned))
    return failure();
  const ProgramStatistics &rank = *planned;
  if (rank.heldBytes() <= limit)
    return success();
  InFlightDiagnostic error = emitError(loc)
                             << "a rank needs " << rank.heldBytes()
                             << " bytes, the limit is " << limit;
  error.attachNote(loc) << "arguments take " << rank.argumentsBytes
                        << " bytes, results " << rank.resultsBytes
                        << ", activations and the like " << rank.arenaBytes
                        << ", constants and scratch "
                        << rank.constantsBytes + rank.scratchBytes;
  struct Holder {
    int64_t bytes;
    std::string what;
  };
  std::vector<Holder> holders;
  auto add = [&](StringRef what, unsigned number, DictionaryAttr attributes,
                 Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return;
    auto name =
        attributes ? attributes.getAs<StringAttr>(attr::name) : StringAttr();
    auto kind =
        attributes ? attributes.getAs<StringAttr>(attr::kind) : StringAttr();
    std::string text = (what + " " + Twine(number)).str();
    if (name)
      text = (what + " '" + (kind ? kind.getValue() + ":" : "") +
              name.getValue() + "'")
                 .str();
    holders.push_back(
        {tensor.getNumElements() * elementBytes(tensor.getElementType()),
         text});
  };
  for (auto function : partitioned.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      add("argument", i, function.getArgAttrDict(i),
          function.getArgumentTypes()[i]);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      add("result", i, function.getResultAttrDict(i),
          function.getResultTypes()[i]);
  }
  llvm::stable_sort(holders, [](const Holder &a, const Holder &b) {
    return a.bytes > b.bytes;
  });
  constexpr size_t shown = 5;
  for (const Holder &holder :
       ArrayRef(holders).take_front(std::min(shown, holders.size())))
    error.attachNote(loc) << holder.what << " takes " << holder.bytes
                          << " bytes";
  for (const HeldValue &value : rank.atPeak)
    error.attachNote(value.location)
        << "when activations take the most, "
        << RankedTensorType::get(value.shape, value.elementType)
        << " that is made here takes " << value.bytes << " bytes of them";
  return error;
}
