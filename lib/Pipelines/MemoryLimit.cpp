//===- MemoryLimit.cpp - layouts that fit a rank's memory -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The assignment is a sum over ops, the most that is held at one time is not.
// So bytes get a price (a Lagrange multiplier), each for the part of the step
// for which it is held, and what a rank then holds is looked up in the memory
// plan of its program, which is exact.
//
//===----------------------------------------------------------------------===//

#include "MemoryLimit.h"
#include "TrialPartition.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/TP.h"
#include "tp/Pipelines/Report.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

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

double tp::bytePriceFor(ModuleOp model, PartitionOptions options,
                        int64_t limit) {
  options.writePlan.clear();
  options.explain = options.remarks = false;
  struct Best {
    double price = 0;
    ProgramStatistics rank;
  };
  std::optional<Best> best, least;
  auto fits = [&](double price) {
    options.bytePrice = price;
    FailureOr<TrialPartition> trial = tryPartition(model, options);
    if (failed(trial))
      return false;
    int64_t held = trial->rank.heldBytes();
    if (!least || held < least->rank.heldBytes())
      least = {price, trial->rank};
    if (held > limit)
      return false;
    if (!best || trial->rank.ringBytes < best->rank.ringBytes)
      best = {price, trial->rank};
    return true;
  };
  // Where a byte costs as much as a thousand that are sent nothing is held that
  // need not be.
  constexpr double low = -10, high = 10;
  constexpr int halvings = 6;
  if (!fits(0) && fits(std::exp2(high))) {
    double from = low, to = high;
    for (int i = 0; i < halvings; ++i) {
      double middle = (from + to) / 2;
      (fits(std::exp2(middle)) ? to : from) = middle;
    }
  }
  return best ? best->price : least ? least->price : 0;
}

LogicalResult tp::checkMemoryLimit(Location loc, ModuleOp partitioned,
                                   const ProgramStatistics &rank,
                                   int64_t limit) {
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
  return error;
}
