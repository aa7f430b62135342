//===- OutlineLoops.cpp - pass tp-outline-loops ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry with a loop is cut at the loop. What comes before it and the body
// become parts: functions that the host runs before the entry, the body as
// often as the loop has iterations. What parts leave for others is in arguments
// of all of them, which results update. So every later pass sees entries that
// share tensors, and no loop.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DEF_OUTLINELOOPS
#include "tp/Transforms/Legalize/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Whether an argument can carry a value of this type from part to part.
static bool canBeCarried(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape() &&
           (tensor.getElementType().isIntOrIndexOrFloat() ||
            isa<ComplexType>(tensor.getElementType()));
  return type.isIntOrIndexOrFloat() || isa<ComplexType>(type);
}

/// The iterations of a loop of constant bounds, none of them negative.
static std::optional<int64_t> tripsOf(scf::ForOp loop) {
  auto first = getConstantIntValue(loop.getLowerBound());
  auto end = getConstantIntValue(loop.getUpperBound());
  auto step = getConstantIntValue(loop.getStep());
  if (!first || !end || !step || *step < 1 || *first < 0 || *end <= *first)
    return std::nullopt;
  return llvm::divideCeil(*end - *first, *step);
}

static int64_t opsOf(scf::ForOp loop) {
  int64_t ops = 0;
  loop.getBody()->walk([&](Operation *) { ++ops; });
  return ops;
}

/// Whether few views make the op's result of an argument, at fixed places.
static bool isViewOfArgument(Operation *op) {
  using namespace tensor;
  unsigned views = 0;
  while (op && isa<ExtractSliceOp, ExpandShapeOp, CollapseShapeOp>(op) &&
         op->getNumOperands() == 1 && ++views < 16)
    op = op->getOperand(0).getDefiningOp();
  return !op;
}

/// Whether every part may compute the op's results by itself: they are
/// constants, memory without contents, or views of arguments.
static bool isFree(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op) ||
      isViewOfArgument(op))
    return true;
  return isa_and_present<linalg::FillOp>(op) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return operand.getDefiningOp() && isFree(operand.getDefiningOp());
         });
}

namespace {
/// Cuts one entry.
class EntryCutter {
public:
  EntryCutter(func::FuncOp entry, SymbolTable &symbols)
      : entry(entry), symbols(symbols), builder(entry.getContext()) {}

  /// Keeps the loops of which unrolling would make more than `limit` ops.
  void cut(int64_t limit);

private:
  /// What one part computes, or what stays in the entry.
  struct Part {
    /// Of a loop: itself, and `ops` is empty.
    scf::ForOp loop;
    SmallVector<Operation *> ops;
  };
  /// An argument that carries a value from part to part.
  struct Carried {
    Type type;
    Location loc;
    std::string name;
  };
  /// The value of a part that a carried argument has next.
  using Update = std::pair<unsigned, Value>;

  bool isKept(scf::ForOp loop, int64_t limit);
  void collectParts(int64_t limit);
  bool carryValues();
  unsigned carry(Type type, Location loc, const Twine &what);
  void carryLoop(scf::ForOp loop);
  /// Calls `use` for what part `number` takes from outside of itself.
  void forEachUse(unsigned number, function_ref<void(OpOperand &)> use);
  func::FuncOp makeFunction(unsigned number);
  void makeStraight(unsigned number);
  void makeIteration(unsigned number);
  void finishPart(func::FuncOp part, ArrayRef<Update> updates);
  void mapOuter(unsigned number, func::FuncOp part, IRMapping &mapping);
  void reduceEntry();

  func::FuncOp entry;
  SymbolTable &symbols;
  OpBuilder builder;
  std::vector<Part> parts;
  llvm::DenseMap<Operation *, unsigned> partOf;
  std::vector<Carried> carried;
  /// Of values that a later part uses, results of loops among them.
  llvm::MapVector<Value, unsigned> carriedIn;
  /// Of loops: the first of its carried arguments, the number of the iteration.
  llvm::DenseMap<Operation *, unsigned> firstOfLoop;
};
} // namespace

bool EntryCutter::isKept(scf::ForOp loop, int64_t limit) {
  std::optional<int64_t> trips = tripsOf(loop);
  return trips && *trips > 1 && *trips > limit / opsOf(loop) &&
         llvm::all_of(loop.getInitArgs().getTypes(), canBeCarried);
}

void EntryCutter::collectParts(int64_t limit) {
  parts.emplace_back();
  for (Operation &op : entry.front().without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && isKept(loop, limit)) {
      partOf[&op] = parts.size();
      parts.push_back({loop, {}});
      parts.emplace_back();
      continue;
    }
    partOf[&op] = parts.size() - 1;
    parts.back().ops.push_back(&op);
  }
  partOf[entry.front().getTerminator()] = parts.size() - 1;
  parts.back().ops.push_back(entry.front().getTerminator());
}

void EntryCutter::forEachUse(unsigned number,
                             function_ref<void(OpOperand &)> use) {
  auto visit = [&](Operation *top) {
    top->walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (Operation *made = operand.get().getDefiningOp();
            made && made->getBlock() == &entry.front())
          use(operand);
    });
  };
  if (parts[number].loop)
    for (Operation &op : *parts[number].loop.getBody())
      visit(&op);
  for (Operation *op : parts[number].ops)
    visit(op);
  // What a loop begins with, the part before it leaves.
  if (number + 1 < parts.size() && parts[number + 1].loop)
    for (OpOperand &init : parts[number + 1].loop.getInitArgsMutable())
      if (init.get().getDefiningOp())
        use(init);
}

unsigned EntryCutter::carry(Type type, Location loc, const Twine &what) {
  carried.push_back({type, loc, (entry.getSymName() + ": " + what).str()});
  return carried.size() - 1;
}

void EntryCutter::carryLoop(scf::ForOp loop) {
  std::string name = "loop " + std::to_string(firstOfLoop.size());
  firstOfLoop[loop] = carry(loop.getInductionVar().getType(), loop.getLoc(),
                            name + ", iteration");
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    carriedIn[result] =
        carry(result.getType(), loop.getLoc(), name + ", value " + Twine(i));
}

/// False if a value that a later part uses cannot be carried.
bool EntryCutter::carryValues() {
  for (Part &part : parts)
    if (part.loop)
      carryLoop(part.loop);
  bool canAll = true;
  unsigned values = 0;
  for (unsigned number = 0; number < parts.size(); ++number)
    forEachUse(number, [&](OpOperand &use) {
      Value value = use.get();
      Operation *made = value.getDefiningOp();
      if (partOf.lookup(made) == number || isFree(made) ||
          carriedIn.contains(value))
        return;
      canAll &= canBeCarried(value.getType());
      carriedIn[value] =
          carry(value.getType(), value.getLoc(), "value " + Twine(values++));
    });
  return canAll;
}

func::FuncOp EntryCutter::makeFunction(unsigned number) {
  SmallVector<Type> types(entry.getArgumentTypes());
  SmallVector<Location> locations;
  for (BlockArgument argument : entry.getArguments())
    locations.push_back(argument.getLoc());
  for (const Carried &value : carried) {
    types.push_back(value.type);
    locations.push_back(value.loc);
  }
  // Behind all entries.
  builder.setInsertionPointToEnd(entry->getBlock());
  auto part =
      func::FuncOp::create(builder, entry.getLoc(),
                           (entry.getSymName() + ".part" + Twine(number)).str(),
                           builder.getFunctionType(types, {}));
  part->setDiscardableAttrs(entry->getDiscardableAttrDictionary());
  Block &block = part.getBody().emplaceBlock();
  block.addArguments(types, locations);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    part.setArgAttrs(i, entry.getArgAttrDict(i));
  return part;
}

/// The name and kind of a carried argument, and of what updates it.
static NamedAttrList portOf(MLIRContext *context, StringRef name) {
  NamedAttrList list;
  list.set(attr::name, StringAttr::get(context, name));
  list.set(attr::kind, StringAttr::get(context, attr::carriedKind));
  return list;
}

void EntryCutter::mapOuter(unsigned number, func::FuncOp part,
                           IRMapping &mapping) {
  for (auto [old, argument] :
       llvm::zip(entry.getArguments(), part.getArguments()))
    mapping.map(old, argument);
  std::function<void(Operation *)> copy = [&](Operation *op) {
    if (mapping.contains(op->getResult(0)))
      return;
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp())
        copy(made);
    builder.clone(*op, mapping);
  };
  forEachUse(number, [&](OpOperand &use) {
    Operation *made = use.get().getDefiningOp();
    if (partOf.lookup(made) == number)
      return;
    if (isFree(made))
      copy(made);
    else
      mapping.map(use.get(), part.getArgument(entry.getNumArguments() +
                                              carriedIn[use.get()]));
  });
}

void EntryCutter::finishPart(func::FuncOp part, ArrayRef<Update> updates) {
  SmallVector<Value> values;
  for (const Update &update : updates)
    values.push_back(update.second);
  func::ReturnOp::create(builder, entry.getLoc(), values);
  part.setFunctionType(builder.getFunctionType(
      part.getFunctionType().getInputs(), ValueRange(values).getTypes()));
  for (auto [i, value] : llvm::enumerate(carried))
    part.setArgAttrs(entry.getNumArguments() + i,
                     portOf(entry.getContext(), value.name)
                         .getDictionary(entry.getContext()));
  for (auto [i, update] : llvm::enumerate(updates)) {
    NamedAttrList list = portOf(entry.getContext(), carried[update.first].name);
    list.set(attr::updates, builder.getStringAttr(carried[update.first].name));
    part.setResultAttrs(i, list.getDictionary(entry.getContext()));
  }
  part->setAttr(attr::partOf, builder.getStringAttr(entry.getSymName()));
  symbols.insert(part);
}

void EntryCutter::makeStraight(unsigned number) {
  func::FuncOp part = makeFunction(number);
  builder.setInsertionPointToStart(&part.front());
  IRMapping mapping;
  mapOuter(number, part, mapping);
  for (Operation *op : parts[number].ops)
    builder.clone(*op, mapping);
  SmallVector<Update> updates;
  for (auto [value, argument] : carriedIn)
    if (Operation *made = value.getDefiningOp(); partOf.lookup(made) == number)
      updates.push_back({argument, mapping.lookup(value)});
  scf::ForOp loop = parts[number + 1].loop;
  Operation *bound = loop.getLowerBound().getDefiningOp();
  Value first = arith::ConstantOp::create(
      builder, bound ? bound->getLoc() : loop.getLoc(),
      builder.getIntegerAttr(loop.getInductionVar().getType(),
                             *getConstantIntValue(loop.getLowerBound())));
  updates.push_back({firstOfLoop[loop], first});
  for (auto [init, result] : llvm::zip(loop.getInitArgs(), loop.getResults()))
    updates.push_back({carriedIn[result], mapping.lookup(init)});
  finishPart(part, updates);
  part->setAttr(attr::times, builder.getI64IntegerAttr(1));
}

void EntryCutter::makeIteration(unsigned number) {
  scf::ForOp loop = parts[number].loop;
  func::FuncOp part = makeFunction(number);
  builder.setInsertionPointToStart(&part.front());
  IRMapping mapping;
  mapOuter(number, part, mapping);
  auto argumentOf = [&](unsigned value) {
    return part.getArgument(entry.getNumArguments() + value);
  };
  Value iteration = argumentOf(firstOfLoop[loop]);
  mapping.map(loop.getInductionVar(), iteration);
  for (auto [inside, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    mapping.map(inside, argumentOf(carriedIn[result]));
  for (Operation &op : loop.getBody()->without_terminator())
    builder.clone(op, mapping);
  Value step = arith::ConstantOp::create(
      builder, loop.getLoc(),
      builder.getIntegerAttr(loop.getInductionVar().getType(),
                             *getConstantIntValue(loop.getStep())));
  SmallVector<Update> updates;
  updates.push_back(
      {firstOfLoop[loop],
       arith::AddIOp::create(builder, loop.getLoc(), iteration, step)});
  for (auto [inside, yielded, result] : llvm::zip(
           loop.getRegionIterArgs(),
           loop.getBody()->getTerminator()->getOperands(), loop.getResults()))
    // A value that no iteration changes stays as the part before leaves it.
    if (yielded != inside)
      updates.push_back({carriedIn[result], mapping.lookupOrDefault(yielded)});
  finishPart(part, updates);
  part->setAttr(attr::times, builder.getI64IntegerAttr(*tripsOf(loop)));
  int64_t calls = callsOf(entry) * std::min(*tripsOf(loop), mostCalls);
  part->setAttr(attr::calls,
                builder.getI64IntegerAttr(std::min(calls, mostCalls)));
}

/// What stays in the entry reads what the parts left.
void EntryCutter::reduceEntry() {
  unsigned last = parts.size() - 1, given = entry.getNumArguments();
  for (const Carried &value : carried)
    (void)entry.insertArgument(entry.getNumArguments(), value.type,
                               portOf(entry.getContext(), value.name)
                                   .getDictionary(entry.getContext()),
                               value.loc);
  forEachUse(last, [&](OpOperand &use) {
    if (auto found = carriedIn.find(use.get());
        found != carriedIn.end() &&
        partOf.lookup(use.get().getDefiningOp()) != last)
      use.set(entry.getArgument(given + found->second));
  });
  SmallVector<Operation *> gone;
  for (Operation &op : entry.front().without_terminator())
    if (partOf.lookup(&op) != last)
      gone.push_back(&op);
  for (Operation *op : llvm::reverse(gone))
    if (op->use_empty())
      op->erase();
}

void EntryCutter::cut(int64_t limit) {
  collectParts(limit);
  if (parts.size() == 1 || !carryValues() ||
      !llvm::all_of(entry.getArgumentTypes(), canBeCarried))
    return;
  // What parts share they find by name.
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (!entry.getArgAttr(i, attr::name))
      entry.setArgAttr(i, attr::name,
                       builder.getStringAttr("argument" + Twine(i)));
  for (unsigned number = 0; number + 1 < parts.size(); ++number)
    if (parts[number].loop)
      makeIteration(number);
    else
      makeStraight(number);
  reduceEntry();
}

/// No host could set an argument of the model that is taken for a carried one.
static LogicalResult checkKinds(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    auto kind =
        entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::kind);
    if (kind && kind.getValue() == attr::carriedKind)
      return emitError(argument.getLoc())
             << "argument #" << argument.getArgNumber() << " has the kind '"
             << attr::carriedKind
             << "', which is for what iterations of loops leave each other; "
                "give it another one, such as 'user_input'";
  }
  return success();
}

/// A loop does not carry what no iteration changes, or nothing reads.
static LogicalResult dropUnchanged(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, module.getContext());
  FrozenRewritePatternSet frozen(std::move(patterns));
  SmallVector<Operation *> loops;
  module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  GreedyRewriteConfig config;
  config.enableFolding(false);
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(loops, frozen, config);
}

namespace {
struct OutlineLoopsPass : tp::impl::OutlineLoopsBase<OutlineLoopsPass> {
  using OutlineLoopsBase::OutlineLoopsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasLoop = false;
    module.walk([&](scf::ForOp) { hasLoop = true; });
    if (!hasLoop) {
      markAllAnalysesPreserved();
      return;
    }
    FailureOr<SmallVector<func::FuncOp>> entries =
        legalize::findEntries(module);
    if (failed(entries) || failed(legalize::inlineCalls(module, *entries)))
      return signalPassFailure();
    if (failed(dropUnchanged(module)))
      return signalPassFailure();
    if (llvm::any_of(*entries, isPartOfEntry))
      return;
    for (func::FuncOp each : *entries)
      if (failed(checkKinds(each)))
        return signalPassFailure();
    SymbolTable symbols(module);
    for (func::FuncOp each : *entries)
      if (each.getBody().hasOneBlock())
        EntryCutter(each, symbols).cut(limit);
  }
};
} // namespace
