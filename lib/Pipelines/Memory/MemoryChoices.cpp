//===- MemoryChoices.cpp - ways to hold less ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The assignment is a sum over ops, the most that is held at one time is not.
// So bytes get a price (a Lagrange multiplier), each for the part of the step
// for which it is held. Modules are chosen one after the other, first what
// saves the most bytes for the time that it takes.
//
//===----------------------------------------------------------------------===//

#include "Memory/MemoryChoices.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

/// Where a byte that is held costs as much as a thousand that are sent nothing
/// is held that need not be.
static constexpr double highestPrice = 1024;

/// Partitions that look for modules: as many as an explanation may try, and of
/// a large program fewer.
static unsigned mostTrials(ModuleOp model) {
  constexpr int64_t most = 32, least = 6, ops = 100000;
  int64_t size = 0;
  model.walk([&](Operation *) { ++size; });
  return static_cast<unsigned>(
      std::clamp(ops / std::max<int64_t>(size, 1), least, most));
}

MemoryChoices::MemoryChoices(ModuleOp model, const PartitionOptions &options)
    : model(model), options(options), left(mostTrials(model)) {
  this->options.writePlan.clear();
  this->options.explain = this->options.remarks = false;
}

/// Null where the program does not compile so.
const MemoryChoice *MemoryChoices::attempt(double bytePrice,
                                           const ModulePatterns &modules) {
  for (const MemoryChoice &known : tried)
    if (known.bytePrice == bytePrice && known.recompute == modules)
      return &known;
  if (!modules.empty() && bytePrice == 0) {
    if (left == 0)
      return nullptr;
    --left;
  }
  options.bytePrice = bytePrice;
  options.recompute = modules;
  FailureOr<TrialPartition> trial = tryPartition(model, options);
  if (failed(trial))
    return nullptr;
  return &tried.emplace_back(
      MemoryChoice{bytePrice, modules, trial->rank.heldBytes(),
                   trial->rank.ringBytes, trial->picoseconds});
}

void MemoryChoices::searchModules() {
  struct Saving {
    ModulePatterns modules;
    int64_t bytes, picoseconds;
    double perByte() const { return double(picoseconds) / double(bytes); }
  };
  const MemoryChoice plain = tried.front();
  std::vector<Saving> savings;
  for (const ModulePatterns &modules : recomputeCandidates(model))
    if (const MemoryChoice *choice = attempt(0, modules);
        choice && choice->heldBytes < plain.heldBytes)
      savings.push_back({modules, plain.heldBytes - choice->heldBytes,
                         choice->picoseconds - plain.picoseconds});
  llvm::stable_sort(savings, [](const Saving &a, const Saving &b) {
    return a.perByte() < b.perByte();
  });
  ModulePatterns all;
  for (const Saving &saving : savings) {
    bool overlaps = llvm::any_of(saving.modules, [&](StringRef module) {
      return llvm::any_of(
          all, [&](StringRef other) { return mayOverlap(module, other); });
    });
    if (overlaps)
      continue;
    llvm::append_range(all, saving.modules);
    attempt(0, all);
  }
}

void MemoryChoices::searchPrices(int64_t limit, const ModulePatterns &modules) {
  auto fits = [&](double price) {
    const MemoryChoice *choice = attempt(price, modules);
    return choice && choice->heldBytes <= limit;
  };
  constexpr int halvings = 6;
  if (fits(0) || !fits(highestPrice))
    return;
  double from = -std::log2(highestPrice), to = std::log2(highestPrice);
  for (int i = 0; i < halvings; ++i) {
    double middle = (from + to) / 2;
    (fits(std::exp2(middle)) ? to : from) = middle;
  }
}

void MemoryChoices::search(std::optional<int64_t> limit) {
  const MemoryChoice *plain = attempt(0, {});
  if (limit && plain && plain->heldBytes <= *limit)
    return;
  if (plain)
    searchModules();
  if (!limit) {
    for (double price : {1.0, 32.0, highestPrice})
      attempt(price, {});
    return;
  }
  searchPrices(*limit, {});
  auto fits = [&] {
    const MemoryChoice *found = best(*limit);
    return !found || found->heldBytes <= *limit;
  };
  if (fits())
    return;
  // Both at once.
  ModulePatterns chain = best(*limit)->recompute;
  for (const ModulePatterns &modules : recomputeCandidates(model))
    attempt(highestPrice, modules);
  attempt(highestPrice, chain);
  if (fits())
    searchPrices(*limit, ModulePatterns(best(*limit)->recompute));
}

const MemoryChoice *MemoryChoices::best(int64_t limit) const {
  auto isBetter = [&](const MemoryChoice &a, const MemoryChoice &b) {
    bool aFits = a.heldBytes <= limit, bFits = b.heldBytes <= limit;
    if (aFits != bFits)
      return aFits;
    if (!aFits)
      return a.heldBytes < b.heldBytes;
    return std::tuple(a.picoseconds, a.ringBytes, a.heldBytes) <
           std::tuple(b.picoseconds, b.ringBytes, b.heldBytes);
  };
  auto found = llvm::min_element(tried, isBetter);
  return found == tried.end() ? nullptr : &*found;
}

void MemoryChoices::remark(const MemoryChoice &chosen, int64_t limit,
                           Location loc) const {
  const MemoryChoice &plain = tried.front();
  bool hasLayouts =
      chosen.bytePrice != plain.bytePrice &&
      (chosen.ringBytes != plain.ringBytes ||
       (chosen.recompute.empty() && chosen.heldBytes != plain.heldBytes));
  if (chosen.recompute.empty() && !hasLayouts)
    return;
  double more = plain.picoseconds
                    ? std::max(0.0, 100 * (double(chosen.picoseconds) /
                                               double(plain.picoseconds) -
                                           1))
                    : 0;
  InFlightDiagnostic remark = emitRemark(loc);
  remark << "a rank holds " << chosen.heldBytes << " bytes instead of "
         << plain.heldBytes << ", as ";
  if (hasLayouts)
    remark << "layouts hold less, with which a rank sends " << chosen.ringBytes
           << " bytes instead of " << plain.ringBytes
           << (chosen.recompute.empty() ? "" : ", and ");
  if (!chosen.recompute.empty())
    remark << "modules are computed again in the backward pass";
  remark << (chosen.heldBytes > limit ? ", and still more than the limit of "
                                      : " to keep the limit of ")
         << limit << "; a step takes " << llvm::formatv("{0:F1}", more).str()
         << " % more time by the model of the hardware";
  for (const std::string &pattern : chosen.recompute)
    remark.attachNote(loc) << "in a plan this is: tp.recompute \"" << pattern
                           << "\"";
}

static bool isChosen(const MemoryChoice &choice,
                     const PartitionOptions &chosen) {
  return choice.bytePrice == chosen.bytePrice &&
         choice.recompute == chosen.recompute;
}

std::vector<MemoryChoice>
MemoryChoices::front(const PartitionOptions &chosen) const {
  std::vector<MemoryChoice> sorted = tried;
  llvm::stable_sort(sorted, [](const MemoryChoice &a, const MemoryChoice &b) {
    return std::tuple(a.picoseconds, a.heldBytes, a.ringBytes) <
           std::tuple(b.picoseconds, b.heldBytes, b.ringBytes);
  });
  std::vector<MemoryChoice> front;
  for (MemoryChoice &choice : sorted)
    if (front.empty() || choice.heldBytes < front.back().heldBytes ||
        isChosen(choice, chosen))
      front.push_back(std::move(choice));
  llvm::stable_sort(front, [](const MemoryChoice &a, const MemoryChoice &b) {
    return a.heldBytes > b.heldBytes;
  });
  return front;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static json::Array describe(const std::vector<MemoryChoice> &front,
                            const PartitionOptions &chosen) {
  json::Array rows;
  for (const MemoryChoice &choice : front) {
    json::Object row{{"held_bytes", choice.heldBytes},
                     {"ring_bytes", choice.ringBytes},
                     {"time_us", double(choice.picoseconds) / 1e6},
                     {"layouts", choice.bytePrice == 0 ? "that send least"
                                                       : "that hold less"},
                     {"computed_again", json::Array(choice.recompute)}};
    if (isChosen(choice, chosen))
      row["chosen"] = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

json::Array tp::chooseMemory(ModuleOp model, PartitionOptions &options,
                             std::optional<int64_t> limit, bool explains,
                             Location loc) {
  MemoryChoices choices(model, options);
  if (limit) {
    choices.search(limit);
    if (const MemoryChoice *chosen = choices.best(*limit)) {
      options.bytePrice = chosen->bytePrice;
      options.recompute = chosen->recompute;
      choices.remark(*chosen, *limit, loc);
    }
  }
  // Without a limit and a backward pass there is nothing to choose.
  if (!explains || (!limit && recomputeCandidates(model).empty()))
    return {};
  // Also what a limit did not ask for.
  choices.search(std::nullopt);
  return describe(choices.front(options), options);
}

void tp::writeFront(const json::Array &front, llvm::raw_ostream &os) {
  os << "what a rank may hold and send, and the time of a step by the model\n"
     << llvm::formatv("  {0,14} {1,14} {2,14}  {3}\n", "held bytes",
                      "ring bytes", "microseconds", "computed again");
  for (const json::Value &value : front) {
    const json::Object &row = *value.getAsObject();
    SmallVector<StringRef> names;
    for (const json::Value &name : *row.getArray("computed_again"))
      names.push_back(*name.getAsString());
    std::string again = names.empty() ? "nothing more than the plan says"
                                      : llvm::join(names, ", ");
    os << llvm::formatv(
        "  {0,14} {1,14} {2,14:F2}  {3}", *row.getInteger("held_bytes"),
        *row.getInteger("ring_bytes"), *row.getNumber("time_us"), again);
    if (row.getString("layouts") != "that send least")
      os << "; layouts " << *row.getString("layouts");
    os << (row.get("chosen") ? " (chosen)" : "") << "\n";
  }
}
