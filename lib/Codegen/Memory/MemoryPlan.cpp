//===- MemoryPlan.cpp - where every value lies ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "Program/Buffers.h"
#include "Schedule/CommandQueues.h"
#include "tp/IR/Program.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

/// How many values are told of those that are live at the peak.
static constexpr size_t mostAtPeak = 3;

namespace {
class MemoryPlanner {
public:
  MemoryPlanner(func::FuncOp program, KernelPlans &kernels,
                const TargetTraits &traits)
      : program(program), buffers(program), kernels(kernels), traits(traits) {}

  FailureOr<MemorySizes> plan();

private:
  void findLifetimes();
  bool isPlanned() const;
  LogicalResult keepOffsets();
  LogicalResult checkAlignment(Value value, int64_t offset) const;
  LogicalResult checkApart(Value a, const Lifetime &first, Value b,
                           const Lifetime &second);
  LogicalResult findOverwrites();
  llvm::MapVector<Value, Lifetime> owners() const;
  bool isGatherOfArgument(Operation *command) const;
  void beginAhead(llvm::MapVector<Value, Lifetime> &owners) const;
  void measurePeak();
  void place();
  void placeConstants();
  /// The allocation whose memory `value` takes over, through all generations.
  Value owner(Value value) const {
    for (auto it = overwrites.find(value); it != overwrites.end();
         it = overwrites.find(value))
      value = it->second;
    return value;
  }
  Lifetime &lifetimeOf(Value value) { return lifetimes.find(value)->second; }

  mutable func::FuncOp program;
  Buffers buffers;
  KernelPlans &kernels;
  const TargetTraits &traits;
  SmallVector<Operation *> commands;
  llvm::MapVector<Value, Lifetime> lifetimes;
  /// An allocation that takes over another's memory, and that other.
  llvm::DenseMap<Value, Value> overwrites;
  MemorySizes sizes;
};
} // namespace

void MemoryPlanner::findLifetimes() {
  auto touch = [&](Value operand, int64_t first, int64_t last) {
    Value root = rootBuffer(operand);
    if (buffers.spaceOf(root) != Space::Arena)
      return;
    auto [it, isNew] = lifetimes.insert({root, Lifetime()});
    Lifetime &lifetime = it->second;
    if (isNew)
      lifetime = {bytesOf(cast<MemRefType>(root.getType())), first, last, 0};
    lifetime.first = std::min(lifetime.first, first);
    lifetime.last = std::max(lifetime.last, last);
  };
  llvm::DenseMap<Operation *, int64_t> positions;
  for (auto [position, command] : llvm::enumerate(commands)) {
    positions[command] = position;
    for (Value operand : command->getOperands())
      touch(operand, position, position);
  }
  // What an attention reads and writes is there from its first step to its
  // last: a library does all of it at once.
  program.walk([&](tp::AttentionOp attention) {
    std::optional<int64_t> first, last;
    for (Operation &step : attention.getSteps().front())
      if (auto it = positions.find(&step); it != positions.end()) {
        first = first.value_or(it->second);
        last = it->second;
      }
    if (first)
      for (Value operand : attention.getOperands())
        touch(operand, *first, *last);
  });
}

LogicalResult MemoryPlanner::findOverwrites() {
  llvm::DenseSet<Value> overwritten;
  for (auto [position, command] : llvm::enumerate(commands)) {
    SmallVector<Value> reads, writes;
    auto effects = cast<MemoryEffectOpInterface>(command);
    SmallVector<MemoryEffects::EffectInstance> all;
    effects.getEffects(all);
    for (const MemoryEffects::EffectInstance &effect : all)
      (isa<MemoryEffects::Write>(effect.getEffect()) ? writes : reads)
          .push_back(rootBuffer(effect.getValue()));
    auto inArena = [&](Value value) {
      return buffers.spaceOf(value) == Space::Arena;
    };
    for (Value written : writes) {
      if (!inArena(written) || lifetimeOf(written).first != int64_t(position))
        continue;
      for (Value dying : reads) {
        auto to = cast<MemRefType>(written.getType());
        auto from = cast<MemRefType>(dying.getType());
        if (dying == written || !inArena(dying) ||
            overwritten.contains(dying) || llvm::is_contained(writes, dying) ||
            lifetimeOf(dying).last != int64_t(position) ||
            bytesOf(from) != bytesOf(to) ||
            elementBytes(from.getElementType()) !=
                elementBytes(to.getElementType()))
          continue;
        FailureOr<bool> may = mayTakeOver(command, written, dying, kernels);
        if (failed(may))
          return failure();
        if (!*may)
          continue;
        overwrites[written] = dying;
        overwritten.insert(dying);
        break;
      }
    }
  }
  return success();
}

static void setOffset(Value buffer, int64_t offset) {
  Builder builder(buffer.getContext());
  IntegerAttr attribute = builder.getI64IntegerAttr(offset);
  if (auto alloc = buffer.getDefiningOp<tp::AllocOp>())
    alloc.setOffsetAttr(attribute);
  else
    buffer.getDefiningOp<tp::ConstantOp>().setOffsetAttr(attribute);
}

/// The allocations that take over no other's memory, each from its first use to
/// the last of what takes over its.
llvm::MapVector<Value, Lifetime> MemoryPlanner::owners() const {
  llvm::MapVector<Value, Lifetime> owners;
  for (const auto &[value, lifetime] : lifetimes) {
    auto [it, inserted] = owners.insert({owner(value), lifetime});
    it->second.first = std::min(it->second.first, lifetime.first);
    it->second.last = std::max(it->second.last, lifetime.last);
  }
  return owners;
}

void MemoryPlanner::measurePeak() {
  llvm::MapVector<Value, Lifetime> blocks = owners();
  // What becomes live at a position, less what was live before it alone.
  std::vector<int64_t> change(commands.size() + 1, 0);
  for (const auto &[value, block] : blocks) {
    change[block.first] += block.bytes;
    change[block.last + 1] -= block.bytes;
  }
  int64_t live = 0, peak = 0;
  for (auto [position, bytes] : llvm::enumerate(change)) {
    live += bytes;
    if (live <= sizes.peakLive)
      continue;
    sizes.peakLive = live;
    peak = static_cast<int64_t>(position);
  }
  // By owner: of two values in one memory the one that takes it over.
  llvm::MapVector<Value, Value> there;
  for (const auto &[value, lifetime] : lifetimes)
    if (lifetime.first <= peak && peak <= lifetime.last)
      there[owner(value)] = value;
  for (const auto &[memory, value] : there) {
    auto type = cast<MemRefType>(value.getType());
    sizes.atPeak.push_back({type.getElementType(),
                            llvm::to_vector(type.getShape()), bytesOf(type),
                            value.getLoc()});
  }
  llvm::stable_sort(sizes.atPeak,
                    [](const tp::HeldValue &a, const tp::HeldValue &b) {
                      return a.bytes > b.bytes;
                    });
  if (sizes.atPeak.size() > mostAtPeak)
    sizes.atPeak.erase(sizes.atPeak.begin() + mostAtPeak, sizes.atPeak.end());
}

bool MemoryPlanner::isGatherOfArgument(Operation *command) const {
  auto communicate = dyn_cast<tp::CommunicateOp>(command);
  return communicate && buffers.spaceOf(rootBuffer(communicate.getSource())) ==
                            Space::Argument;
}

/// Keeps memory for gathers of arguments from the gathers before them on. What
/// gathers the weights of a layer waits for no command of the layer before,
/// which hides it: two layers are gathered at a time, not one.
void MemoryPlanner::beginAhead(llvm::MapVector<Value, Lifetime> &owners) const {
  std::optional<int64_t> before, group;
  bool inGroup = false;
  for (auto [position, command] : llvm::enumerate(commands)) {
    bool isGather = isGatherOfArgument(command);
    if (isGather && !inGroup)
      before = std::exchange(group, position);
    inGroup = isGather;
    if (!isGather || !before)
      continue;
    Value made = rootBuffer(cast<tp::CommunicateOp>(command).getDestination());
    if (auto it = owners.find(owner(made)); it != owners.end())
      it->second.first = std::min(it->second.first, *before);
  }
}

void MemoryPlanner::place() {
  llvm::MapVector<Value, Lifetime> owners = this->owners();
  if (hasQueues(traits))
    beginAhead(owners);
  SmallVector<Lifetime> blocks;
  for (auto &[owner, lifetime] : owners)
    blocks.push_back(lifetime);
  measurePeak();
  sizes.arena = packLifetimes(blocks, traits.alignment);
  for (auto [entry, block] : llvm::zip_equal(owners, blocks))
    entry.second.offset = block.offset;
  for (auto &[value, lifetime] : lifetimes)
    setOffset(value, owners.find(owner(value))->second.offset);
}

void MemoryPlanner::placeConstants() {
  for (auto constant : program.front().getOps<tp::ConstantOp>()) {
    if (!isUsed(constant))
      continue;
    int64_t offset = llvm::alignTo(sizes.constants, traits.alignment);
    setOffset(constant, offset);
    sizes.constants = offset + bytesOf(cast<MemRefType>(constant.getType()));
  }
}

/// Whether all of the program's memory has offsets already.
bool MemoryPlanner::isPlanned() const {
  bool any = false;
  for (auto &[value, lifetime] : lifetimes) {
    if (!value.getDefiningOp<tp::AllocOp>().getOffset())
      return false;
    any = true;
  }
  for (auto constant : program.front().getOps<tp::ConstantOp>()) {
    if (!constant.getOffset() && isUsed(constant))
      return false;
    any = true;
  }
  return any;
}

/// Measures memory whose offsets are given, and checks that nothing is
/// overwritten while it is needed.
LogicalResult MemoryPlanner::keepOffsets() {
  std::vector<std::pair<Value, Lifetime>> blocks;
  for (auto &[value, lifetime] : lifetimes) {
    lifetime.offset = *value.getDefiningOp<tp::AllocOp>().getOffset();
    constexpr int64_t mostBytes = int64_t(1) << 50;
    if (lifetime.offset > mostBytes || lifetime.bytes > mostBytes)
      return value.getDefiningOp()->emitOpError("lies beyond ")
             << mostBytes << " bytes";
    if (failed(checkAlignment(value, lifetime.offset)))
      return failure();
    sizes.arena =
        std::max(sizes.arena,
                 lifetime.offset +
                     int64_t(llvm::alignTo(lifetime.bytes, traits.alignment)));
    for (auto &[other, against] : blocks)
      if (failed(checkApart(other, against, value, lifetime)))
        return failure();
    blocks.push_back({value, lifetime});
  }
  measurePeak();
  int64_t end = 0;
  for (auto constant : program.front().getOps<tp::ConstantOp>()) {
    if (!constant.getOffset())
      continue;
    if (failed(checkAlignment(constant, *constant.getOffset())))
      return failure();
    if (int64_t(*constant.getOffset()) < end)
      return constant.emitOpError("expected an offset of ")
             << end << " or more, behind the constant before it, got "
             << *constant.getOffset();
    if (int64_t(*constant.getOffset()) >
        int64_t(llvm::alignTo(end, traits.alignment)))
      return constant.emitOpError("expected the offset ")
             << int64_t(llvm::alignTo(end, traits.alignment))
             << ", right behind the constant before it, got "
             << *constant.getOffset();
    end = *constant.getOffset() + bytesOf(cast<MemRefType>(constant.getType()));
  }
  sizes.constants = end;
  return success();
}

LogicalResult MemoryPlanner::checkAlignment(Value value, int64_t offset) const {
  if (offset % traits.alignment == 0)
    return success();
  return value.getDefiningOp()->emitOpError("expected an offset that is a "
                                            "multiple of ")
         << traits.alignment << ", got " << offset;
}

/// Fails if two blocks overlap in memory while both are needed. The command at
/// which one ends and the other begins may write in place.
LogicalResult MemoryPlanner::checkApart(Value a, const Lifetime &first, Value b,
                                        const Lifetime &second) {
  if (first.offset >= second.offset + second.bytes ||
      second.offset >= first.offset + first.bytes ||
      first.last < second.first || second.last < first.first)
    return success();
  bool follows = first.last == second.first;
  if ((follows || second.last == first.first) &&
      first.offset == second.offset && first.bytes == second.bytes) {
    Value written = follows ? b : a, dying = follows ? a : b;
    FailureOr<bool> may = mayTakeOver(
        commands[follows ? first.last : second.last], written, dying, kernels);
    if (failed(may))
      return failure();
    if (*may) {
      overwrites[written] = dying;
      return success();
    }
  }
  InFlightDiagnostic error =
      b.getDefiningOp()->emitOpError("overlaps memory that is needed at the "
                                     "same time, from byte ")
      << std::max(first.offset, second.offset);
  error.attachNote(a.getLoc()) << "that memory is here";
  return error;
}

FailureOr<MemorySizes> MemoryPlanner::plan() {
  if (failed(checkInPlace(program, kernels)))
    return failure();
  commands = commandsOf(program);
  findLifetimes();
  if (isPlanned()) {
    if (failed(keepOffsets()))
      return failure();
    return sizes;
  }
  if (failed(findOverwrites()))
    return failure();
  place();
  placeConstants();
  return sizes;
}

FailureOr<MemorySizes> tp::target::planMemory(func::FuncOp program,
                                              KernelPlans &kernels,
                                              const TargetTraits &traits) {
  return MemoryPlanner(program, kernels, traits).plan();
}
