//===- Calls.cpp - which function is compiled, and its calls --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "tp/IR/Entries.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

FailureOr<SmallVector<func::FuncOp>> legalize::findEntries(ModuleOp module) {
  SmallVector<func::FuncOp> found = entriesOf(module);
  if (!found.empty())
    return found;
  // A recursion has no beginning; the inliner refuses it by name.
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !function.isPrivate())
      return SmallVector<func::FuncOp>{function};
  return module.emitError()
         << "expected a public func.func with a body, got none";
}

namespace {
class CallInliner {
public:
  explicit CallInliner(ModuleOp module)
      : symbols(module), builder(module.getContext()) {}

  LogicalResult inlineInto(func::FuncOp function);

private:
  LogicalResult inlineCall(func::CallOp call);
  LogicalResult checkCallee(func::CallOp call, func::FuncOp callee);
  /// Where an inlined op comes from: its own module if it names one, else the
  /// call's.
  Location locationOf(Location inner, func::CallOp call);

  SymbolTable symbols;
  OpBuilder builder;
  /// The functions being inlined, the entry first.
  SmallVector<func::FuncOp> stack;
  llvm::DenseSet<Operation *> done;
};
} // namespace

Location CallInliner::locationOf(Location inner, func::CallOp call) {
  if (!moduleOf(inner).empty())
    return inner;
  if (!moduleOf(call.getLoc()).empty())
    return FusedLoc::get(call.getContext(), {call.getLoc(), inner});
  return CallSiteLoc::get(inner, call.getLoc());
}

LogicalResult CallInliner::checkCallee(func::CallOp call, func::FuncOp callee) {
  if (!callee || callee.isExternal())
    return call.emitError()
           << "calls the external function @" << call.getCallee()
           << ", expected one with a body in this module";
  if (llvm::is_contained(stack, callee))
    return call.emitError() << "calls @" << call.getCallee()
                            << " recursively, expected calls that end; unroll "
                               "the recursion before";
  if (!callee.getBody().hasOneBlock())
    return callee.emitError() << "expected a function of one block, got "
                              << callee.getBody().getBlocks().size()
                              << "; write branches as select or scf.if";
  for (unsigned i = 0; i < callee.getNumArguments(); ++i)
    for (NamedAttribute attribute :
         function_interface_impl::getArgAttrs(callee, i))
      if (isa_and_present<TPDialect>(attribute.getNameDialect()))
        return callee.emitError()
               << "argument #" << i << " has '"
               << attribute.getName().getValue()
               << "', which only arguments of the compiled function can have";
  return success();
}

LogicalResult CallInliner::inlineCall(func::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (failed(checkCallee(call, callee)) || failed(inlineInto(callee)))
    return failure();
  builder.setInsertionPoint(call);
  IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    clone->walk([&](Operation *inner) {
      inner->setLoc(locationOf(inner->getLoc(), call));
    });
  }
  for (auto [result, returned] :
       llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(returned));
  call.erase();
  return success();
}

LogicalResult CallInliner::inlineInto(func::FuncOp function) {
  if (!done.insert(function).second)
    return success();
  stack.push_back(function);
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls)
    if (failed(inlineCall(call)))
      return failure();
  stack.pop_back();
  return success();
}

LogicalResult legalize::inlineCalls(ModuleOp module,
                                    ArrayRef<func::FuncOp> entries) {
  CallInliner inliner(module);
  for (func::FuncOp entry : entries) {
    if (failed(inliner.inlineInto(entry)))
      return failure();
    WalkResult walk = entry.walk([](Operation *op) {
      if (!isa<func::CallIndirectOp, func::ConstantOp>(op))
        return WalkResult::advance();
      op->emitError() << "'" << op->getName()
                      << "' calls a function that is known only at run time, "
                         "expected func.call";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (llvm::is_contained(entries, function))
      continue;
    if (!function.isPrivate() && !function.isExternal())
      function.emitRemark()
          << "@" << function.getSymName()
          << " is called, so it is no entry: a host cannot run it";
    function.erase();
  }
  return success();
}
