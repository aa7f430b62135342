//===- Shrink.cpp - tp-shrink ---------------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's reduction tree erases ranges of ops, which seldom leaves a tensor
// program valid: every value is used. These changes keep it valid. Each is made
// on a copy of the module and stays if the copy is still interesting.
//
//===----------------------------------------------------------------------===//

#include "Shrink.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace {

/// Changes of the function @p name of a copy of a module, kept while the
/// copy stays interesting.
class FunctionReducer {
public:
  FunctionReducer(ModuleOp module, StringRef name, const Tester &tester,
                  const std::function<void(ModuleOp)> &keep)
      : module(module.clone()), name(name), tester(tester), keep(keep) {}

  /// True if anything could be left out.
  bool run() {
    bool any = dropManyResults();
    any |= cutChunks();
    any |= dropUnusedArguments();
    for (bool changed = true; changed; any |= changed) {
      changed = dropResults();
      changed |= replaceOps();
      changed |= dropArguments();
      changed |= dropPins();
    }
    return any;
  }
  func::FuncOp function() { return functionOf(*module); }

private:
  /// A reduction whose body does not combine depends on the order of its loops,
  /// so that no result of it is wrong.
  static bool reductionsCombine(func::FuncOp function);

  using Change = llvm::function_ref<bool(func::FuncOp)>;

  func::FuncOp functionOf(ModuleOp in) {
    return in.lookupSymbol<func::FuncOp>(name);
  }

  /// Makes `change` on a copy, which replaces the module if it is interesting.
  /// A change that does not apply returns false.
  bool attempt(Change change) {
    OwningOpRef<ModuleOp> copy = module->clone();
    func::FuncOp function = functionOf(*copy);
    if (!change(function))
      return false;
    removeDeadOps(function);
    {
      // What does not verify is no error of the user's.
      ScopedDiagnosticHandler silence(copy->getContext(),
                                      [](Diagnostic &) { return success(); });
      if (failed(verify(*copy)) || !reductionsCombine(function))
        return false;
    }
    std::string text;
    llvm::raw_string_ostream(text) << *copy;
    uint64_t hash = llvm::xxh3_64bits(llvm::StringRef(text));
    if (boring.contains(hash))
      return false;
    if (tester.isInteresting(*copy).first != Tester::Interestingness::True) {
      boring.insert(hash);
      return false;
    }
    module = std::move(copy);
    keep(*module);
    return true;
  }

  static void removeDeadOps(func::FuncOp function) {
    function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }

  /// Tries `change` on runs of half of the things, of a quarter, down to two,
  /// from the last to the first.
  bool
  forChunks(llvm::function_ref<unsigned()> count,
            llvm::function_ref<bool(func::FuncOp, unsigned begin, unsigned end)>
                change);
  bool dropManyResults();
  bool cutChunks();
  bool dropUnusedArguments();
  bool dropResults();
  bool dropArguments();
  bool dropPins();
  bool replaceOps();
  bool replaceOp(unsigned position);

  OwningOpRef<ModuleOp> module;
  std::string name;
  const Tester &tester;
  const std::function<void(ModuleOp)> &keep;
  /// Hashes of programs that are known to be uninteresting.
  llvm::DenseSet<uint64_t> boring;
};

bool FunctionReducer::reductionsCombine(func::FuncOp function) {
  return !function
              .walk([](linalg::LinalgOp op) {
                if (op.getNumReductionLoops() == 0)
                  return WalkResult::advance();
                for (unsigned i = 0, e = op.getNumDpsInits(); i < e; ++i) {
                  SmallVector<Operation *> combiners;
                  if (!matchReduction(op.getRegionOutputArgs(), i, combiners))
                    return WalkResult::interrupt();
                }
                return WalkResult::advance();
              })
              .wasInterrupted();
}

bool FunctionReducer::forChunks(
    llvm::function_ref<unsigned()> count,
    llvm::function_ref<bool(func::FuncOp, unsigned, unsigned)> change) {
  bool changed = false;
  for (unsigned size = count() / 2; size > 1; size /= 2)
    for (unsigned end = count(); end > 0;) {
      unsigned begin = end > size ? end - size : 0;
      changed |=
          attempt([&](func::FuncOp copy) { return change(copy, begin, end); });
      end = std::min(begin, count());
    }
  return changed;
}

bool FunctionReducer::dropManyResults() {
  return forChunks(
      [&] { return function().getNumResults(); },
      [](func::FuncOp copy, unsigned begin, unsigned end) {
        BitVector dropped(copy.getNumResults());
        dropped.set(begin, end);
        if (dropped.all())
          return false;
        copy.walk([&](func::ReturnOp op) { op->eraseOperands(dropped); });
        return succeeded(copy.eraseResults(dropped));
      });
}

bool FunctionReducer::dropUnusedArguments() {
  return attempt([](func::FuncOp copy) {
    BitVector unused(copy.getNumArguments());
    for (BlockArgument argument : copy.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    return unused.any() && succeeded(copy.eraseArguments(unused));
  });
}

bool FunctionReducer::dropResults() {
  bool changed = false;
  for (unsigned i = function().getNumResults(); i-- > 0;)
    changed |= attempt([&](func::FuncOp copy) {
      if (copy.getNumResults() == 1)
        return false;
      BitVector dropped(copy.getNumResults());
      dropped.set(i);
      copy.walk([&](func::ReturnOp op) { op->eraseOperands(dropped); });
      return succeeded(copy.eraseResults(dropped));
    });
  return changed;
}

bool FunctionReducer::dropArguments() {
  bool changed = false;
  for (unsigned i = function().getNumArguments(); i-- > 0;)
    changed |= attempt([&](func::FuncOp copy) {
      return copy.getArgument(i).use_empty() &&
             succeeded(copy.eraseArgument(i));
    });
  return changed;
}

bool FunctionReducer::dropPins() {
  bool changed = false;
  for (unsigned i = 0, e = function().getNumArguments(); i < e; ++i)
    changed |= attempt([&](func::FuncOp copy) {
      return bool(copy.removeArgAttr(i, tp::attr::pin));
    });
  for (unsigned i = 0, e = function().getNumResults(); i < e; ++i)
    changed |= attempt([&](func::FuncOp copy) {
      return bool(copy.removeResultAttr(
          i, StringAttr::get(copy.getContext(), tp::attr::pin)));
    });
  return changed;
}

/// What may be replaced, in the order of the text.
SmallVector<Operation *> replaceableOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (op->getNumResults() && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  return ops;
}

/// From the last op to the first, so that what an op read goes with it.
bool FunctionReducer::replaceOps() {
  bool changed = false;
  for (unsigned i = replaceableOps(function()).size(); i-- > 0;) {
    changed |= replaceOp(i);
    i = std::min<unsigned>(i, replaceableOps(function()).size());
  }
  return changed;
}

/// A constant of one number, or null for a type that has none.
Value numberOf(OpBuilder &builder, Location loc, Type type) {
  Type element = getElementTypeOrSelf(type);
  auto shaped = dyn_cast<RankedTensorType>(type);
  if ((!isa<FloatType>(element) && !element.isIntOrIndex()) ||
      (shaped && !shaped.hasStaticShape()))
    return {};
  TypedAttr one = builder.getOneAttr(element);
  if (shaped)
    one = DenseElementsAttr::get(shaped, Attribute(one));
  return arith::ConstantOp::create(builder, loc, one);
}

/// A new argument of the function, named after what it stands for.
Value addArgument(func::FuncOp function, Type type, Location loc) {
  Builder builder(function.getContext());
  std::string name;
  auto isTaken = [&] {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      if (auto other = function.getArgAttrOfType<StringAttr>(i, tp::attr::name))
        if (other == name)
          return true;
    return false;
  };
  for (unsigned i = 0; name.empty() || isTaken(); ++i)
    name = "cut" + std::to_string(i);
  unsigned position = function.getNumArguments();
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr(tp::attr::name, builder.getStringAttr(name)),
       builder.getNamedAttr(tp::attr::kind,
                            builder.getStringAttr("user_input"))});
  if (failed(function.insertArgument(position, type, attributes, loc)))
    return {};
  return function.getArgument(position);
}

/// Ops of the function's block whose results arguments can stand for.
static SmallVector<Operation *> cutOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    if (op.getNumOperands() && op.getNumResults() &&
        llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      ops.push_back(&op);
  return ops;
}

/// What a run of ops reads from elsewhere, the last of the type. An empty tensor
/// has no values to go on with.
static Value inputOf(ArrayRef<Operation *> chunk,
                     const llvm::SmallPtrSetImpl<Operation *> &inside,
                     Type type) {
  for (Operation *op : llvm::reverse(chunk))
    for (Value operand : llvm::reverse(op->getOperands())) {
      Operation *made = operand.getDefiningOp();
      bool hasValues = !made || made->getNumOperands() > 0;
      if (operand.getType() == type && hasValues && !inside.contains(made))
        return operand;
    }
  return {};
}

/// Cuts a run of ops: in the place of what leaves it stands what enters it, or
/// a new argument.
static bool cutChunk(func::FuncOp function, unsigned begin, unsigned end,
                     bool withInputs) {
  SmallVector<Operation *> all = cutOps(function);
  ArrayRef<Operation *> chunk = ArrayRef(all).slice(begin, end - begin);
  llvm::SmallPtrSet<Operation *, 16> inside(chunk.begin(), chunk.end());
  Block &block = function.getBody().front();
  auto isOutside = [&](OpOperand &use) {
    return !inside.contains(block.findAncestorOpInBlock(*use.getOwner()));
  };
  for (Operation *op : chunk)
    for (Value result : op->getResults()) {
      if (llvm::none_of(result.getUses(), isOutside))
        continue;
      Value instead =
          withInputs ? inputOf(chunk, inside, result.getType()) : Value();
      if (!instead)
        instead = addArgument(function, result.getType(), op->getLoc());
      if (!instead)
        return false;
      result.replaceUsesWithIf(instead, isOutside);
    }
  return true;
}

bool FunctionReducer::cutChunks() {
  bool changed = false;
  for (bool withInputs : {true, false})
    changed |= forChunks([&] { return cutOps(function()).size(); },
                         [&](func::FuncOp copy, unsigned begin, unsigned end) {
                           return cutChunk(copy, begin, end, withInputs);
                         });
  return changed;
}

bool FunctionReducer::replaceOp(unsigned position) {
  auto with = [&](llvm::function_ref<Value(Operation *, func::FuncOp)> choose) {
    return attempt([&](func::FuncOp copy) {
      Operation *op = replaceableOps(copy)[position];
      Value instead = choose(op, copy);
      if (!instead || op->getNumResults() != 1 ||
          instead.getType() != op->getResult(0).getType())
        return false;
      op->getResult(0).replaceAllUsesWith(instead);
      return true;
    });
  };
  Operation *op = replaceableOps(function())[position];
  bool isConstant = op->hasTrait<OpTrait::ConstantLike>();
  bool isInBody = op->getParentOp() != function();
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    if (with(
            [&](Operation *copy, func::FuncOp) { return copy->getOperand(i); }))
      return true;
  if (!isInBody && !isConstant)
    for (unsigned i = 0, e = function().getNumArguments(); i < e; ++i)
      if (with([&](Operation *, func::FuncOp copy) {
            return Value(copy.getArgument(i));
          }))
        return true;
  bool isFill = isa<linalg::FillOp>(op) || op->getNumOperands() == 0;
  if (!isInBody && !isFill && isa<RankedTensorType>(op->getResult(0).getType()))
    if (with([&](Operation *copy, func::FuncOp in) {
          return addArgument(in, copy->getResult(0).getType(), copy->getLoc());
        }))
      return true;
  DenseElementsAttr numbers;
  bool isOneNumber = isConstant && (!matchPattern(op, m_Constant(&numbers)) ||
                                    numbers.isSplat());
  if (!isOneNumber && with([&](Operation *copy, func::FuncOp) {
        OpBuilder builder(copy);
        return numberOf(builder, copy->getLoc(), copy->getResult(0).getType());
      }))
    return true;
  // Inputs that a body no longer reads.
  return isa<linalg::GenericOp>(op) && attempt([&](func::FuncOp copy) {
           RewritePatternSet patterns(copy.getContext());
           linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
           bool changed = false;
           (void)applyOpPatternsGreedily({replaceableOps(copy)[position]},
                                         std::move(patterns),
                                         GreedyRewriteConfig(), &changed);
           return changed;
         });
}

struct ShrinkPass : PassWrapper<ShrinkPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShrinkPass)
  explicit ShrinkPass(std::function<void(ModuleOp)> keep)
      : keep(std::move(keep)) {}
  ShrinkPass(const ShrinkPass &other) : PassWrapper(other), keep(other.keep) {}

  StringRef getArgument() const override { return "tp-shrink"; }
  StringRef getDescription() const override {
    return "Leaves out what an interesting tensor program does not need";
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Tester tester(test, testArguments);
    if (tester.isInteresting(module).first != Tester::Interestingness::True) {
      module.emitError("is not interesting to '") << test << "'";
      return signalPassFailure();
    }
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!function.isDeclaration())
        reduce(module, function, tester);
  }

private:
  void reduce(ModuleOp module, func::FuncOp function, const Tester &tester) {
    FunctionReducer reducer(module, function.getName(), tester, keep);
    if (!reducer.run())
      return;
    func::FuncOp smaller = reducer.function();
    // A function without arguments has no list of their attributes.
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
    function->setAttrs(smaller->getAttrs());
    function.getBody().takeBody(smaller.getBody());
  }

  std::function<void(ModuleOp)> keep;
  Option<std::string> test{
      *this, "test",
      llvm::cl::desc("Program that gets a file of MLIR and ends with a status "
                     "other than 0 if it is interesting")};
  ListOption<std::string> testArguments{
      *this, "test-arg", llvm::cl::desc("What the program gets besides")};
};
} // namespace

void tp::registerShrinkPass(std::function<void(ModuleOp)> keep) {
  registerPass([keep = std::move(keep)]() -> std::unique_ptr<Pass> {
    return std::make_unique<ShrinkPass>(keep);
  });
}
