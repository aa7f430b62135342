//===- VerifyProgram.cpp - what a rank's program may be -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs may be written by hand. What no op can see alone is checked here:
// that memory has an order without overlaps, that commands read what was
// written, and that the target can run them.
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "JoinedArguments.h"
#include "MemoryOrder.h"
#include "Schedule/CommandQueues.h"
#include "Storage/Calls.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// The first and the last element of memory that a buffer has, and whether each
/// of its indices has one of its own.
struct Extent {
  int64_t first = 0, last = -1;
  bool isInjective = true;

  bool overlaps(const Extent &other) const {
    return first <= other.last && other.first <= last;
  }
};

class ProgramVerifier {
public:
  ProgramVerifier(func::FuncOp program, const TargetTraits &traits)
      : program(program), traits(traits) {}

  LogicalResult verify();

private:
  LogicalResult verifyOp(Operation *op);
  LogicalResult verifyBuffer(Value buffer, Location loc);
  LogicalResult verifyCommand(Operation *op);
  LogicalResult verifyAliases(Operation *op);
  LogicalResult verifyTarget(tp::AttentionOp attention);
  LogicalResult verifyTarget(Operation *op);
  LogicalResult verifyQueue(Operation *op);
  LogicalResult verifyParts(tp::KernelOp kernel);
  LogicalResult verifyResults();
  LogicalResult verifyInPlace();
  LogicalResult verifyOffsets();

  func::FuncOp program;
  const TargetTraits &traits;
  llvm::DenseMap<Value, Extent> extents;
  llvm::DenseSet<Value> written;
};
} // namespace

/// None if the layout is no linear function of indices once dimensions are cut,
/// or if an element lies beyond 2^63.
static std::optional<Extent> extentOf(MemRefType type) {
  Extent extent;
  if (!type.hasStaticShape())
    return std::nullopt;
  AffineMap map = placeMap(type);
  if (map.getNumResults() != 1 || map.getNumSymbols() != 0)
    return std::nullopt;
  if (type.getNumElements() == 0)
    return extent;
  MLIRContext *context = type.getContext();
  Refinement refinement = Refinement::none(type.getShape(), context);
  AffineExpr place = map.getResult(0);
  for (int round = 0; round < 4; ++round) {
    IndexSpace space = IndexSpace::ofExtents(refinement.extents);
    place = applyMap(map, refinement.old, {}, space).front();
    SmallVector<SmallVector<int64_t>> cuts(refinement.extents.size());
    collectCuts(place, cuts);
    if (!refinement.splitAt(cuts, context))
      break;
  }
  auto form = linearForm(place, refinement.extents.size(), 0);
  if (!form)
    return std::nullopt;
  extent.first = extent.last = form->constant;
  SmallVector<std::pair<int64_t, int64_t>> loops;
  for (auto [size, stride] :
       llvm::zip_equal(refinement.extents, form->dimStrides)) {
    int64_t reach;
    if (size == 1)
      continue;
    if (llvm::MulOverflow(stride, size - 1, reach) ||
        llvm::AddOverflow(reach < 0 ? extent.first : extent.last, reach,
                          reach < 0 ? extent.first : extent.last))
      return std::nullopt;
    loops.push_back({std::abs(stride), size});
  }
  // With ascending strides, each steps over all that those before it reach.
  llvm::sort(loops);
  for (int64_t span = 1; auto [stride, size] : loops) {
    extent.isInjective &= stride >= span;
    span += stride * (size - 1);
  }
  return extent;
}

LogicalResult ProgramVerifier::verifyBuffer(Value buffer, Location loc) {
  if (extents.contains(buffer))
    return success();
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type)
    return emitError(loc, "expected a memref, got ") << buffer.getType();
  if (!isStorableElement(type.getElementType()))
    return emitError(loc, "element type ")
           << type.getElementType() << " is not handled by " << traits.name;
  std::optional<Extent> extent = extentOf(type);
  if (!extent)
    return emitError(loc, "expected a static shape, and a layout whose "
                          "dimensions have strides, got ")
           << type;
  Value root = rootBuffer(buffer);
  bool isView = root != buffer;
  int64_t elements = isView ? cast<MemRefType>(root.getType()).getNumElements()
                            : type.getNumElements();
  if (extent->first < 0 || extent->last >= elements)
    return emitError(loc, "reaches from element ")
           << extent->first << " to " << extent->last << " of memory with "
           << elements << " elements";
  if (!isView && !extent->isInjective)
    return emitError(loc, "expected a place of its own for every element, got ")
           << type;
  extents[buffer] = *extent;
  return success();
}

/// A command writes nothing in the places of what it reads or writes otherwise.
/// A collective, the residual of a GEMM, the state of an attention or the sum
/// before its gradient of q may be replaced in place.
LogicalResult ProgramVerifier::verifyAliases(Operation *op) {
  auto gemm = dyn_cast<tp::GemmOp>(op);
  auto attention = dyn_cast<tp::AttentionOp>(op);
  auto backward = dyn_cast<tp::AttentionBackwardOp>(op);
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(op).getEffects(effects);
  llvm::SmallDenseSet<OpOperand *> writes;
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (isa<MemoryEffects::Write>(effect.getEffect()))
      writes.insert(effect.getEffectValue<OpOperand *>());
  for (OpOperand *write : writes) {
    const Extent &extent = extents.find(write->get())->second;
    if (!extent.isInjective)
      return op->emitOpError("writes two elements in one place, got ")
             << write->get().getType();
    for (OpOperand &other : op->getOpOperands()) {
      bool inPlace = isa<tp::CommunicateOp>(op) ||
                     (gemm && other.get() == gemm.getResidual()) ||
                     (attention && other.get() == attention.getOnto()) ||
                     (backward && other.get() == backward.getOnto() &&
                      write->get() == backward.getGq());
      if (&other == write ||
          rootBuffer(other.get()) != rootBuffer(write->get()) ||
          (inPlace && other.get().getType() == write->get().getType()) ||
          !extent.overlaps(extents.find(other.get())->second))
        continue;
      return op->emitOpError("writes operand #")
             << write->getOperandNumber() << " over operand #"
             << other.getOperandNumber() << ", which it reads or writes too";
    }
  }
  return success();
}

LogicalResult ProgramVerifier::verifyTarget(tp::AttentionOp attention) {
  if (traits.scoreBytes && attention.getBias() &&
      getElementTypeOrSelf(attention.getBias().getType()).isInteger(64))
    return attention.emitOpError("expected a number for every key as bias, not "
                                 "spans of keys, on ")
           << traits.name;
  if (attention.getPartial() && !hasChunks(traits))
    return attention.emitOpError("over a chunk of keys is not handled by ")
           << traits.name;
  if (traits.scoreBytes && !hasSteps(attention))
    return attention.emitOpError("expected steps that compute the same, for a "
                                 "device whose library does not");
  if (traits.scoreBytes)
    return success();
  if (hasSteps(attention))
    return attention.emitOpError("expected no steps, as ")
           << traits.name << " runs the attention itself";
  return success();
}

LogicalResult ProgramVerifier::verifyTarget(Operation *op) {
  auto refuse = [&](StringRef what) {
    return op->emitOpError(what) << " is not handled by " << traits.name;
  };
  if (auto attention = dyn_cast<tp::AttentionOp>(op))
    return traits.hasAttention ? verifyTarget(attention)
                               : refuse("attention by a library");
  if (isa<tp::AttentionBackwardOp>(op))
    return hasChunks(traits) ? success()
                             : refuse("the backward pass of an attention");
  auto gemm = dyn_cast<tp::GemmOp>(op);
  if (!gemm)
    return success();
  if (!traits.hasEpilogues &&
      (gemm.getResidual() || gemm.getBias() || gemm.getGelu()))
    return refuse("an epilogue");
  if (!traits.leavesRows && gemm.getRows())
    return refuse("a product of some rows");
  if (!traits.leavesRows && gemm.getTerms())
    return refuse("a product of some terms");
  if (!traits.looksUpMatrices && gemm.getPlaces())
    return refuse("a product that looks up matrices");
  Type type = getElementTypeOrSelf(gemm.getA()),
       f32 = Float32Type::get(op->getContext());
  Type other = getElementTypeOrSelf(gemm.getB());
  auto isNarrow = [](Type type) { return type.isF16() || type.isBF16(); };
  if (!type.isF32() && !type.isF64() && !isNarrow(type))
    return refuse("this element type of a product");
  bool isMixed =
      (type.isF32() && isNarrow(other)) || (isNarrow(type) && other.isF32());
  if (type != other && !(isMixed && traits.multipliesMixed))
    return op->emitOpError("expected both factors of one element type")
           << (traits.multipliesMixed ? ", or of f32 and of f16 or bf16" : "")
           << ", got " << type << " and " << other;
  if (!traits.hasEpilogues &&
      getElementTypeOrSelf(gemm.getC()) != (type.isF64() ? type : f32))
    return refuse("a product that rounds its sums");
  return success();
}

/// What is not computed has to be there.
LogicalResult ProgramVerifier::verifyParts(tp::KernelOp kernel) {
  auto loops = kernel.getBody().front().getOps<tp::ComputeOp>();
  for (tp::ComputeOp compute : loops) {
    if (!compute.getPlaces().empty() && !llvm::hasSingleElement(loops))
      return compute.emitOpError("is a scatter, expected no other compute loop "
                                 "in its kernel");
    if (compute.getCondition() && !llvm::hasSingleElement(loops))
      return compute.emitOpError("has a condition, expected no other compute "
                                 "loop in its kernel");
    if (compute.getCondition() && !traits.leavesRows)
      return compute.emitOpError("with a condition is not handled by ")
             << traits.name;
    if (compute.getStarts().empty())
      continue;
    if (!traits.computesParts)
      return compute.emitOpError("of a part is not handled by ") << traits.name;
    auto buffer = dyn_cast<BlockArgument>(compute.getBuffers().front());
    auto alloc = buffer ? kernel->getOperand(buffer.getArgNumber())
                              .getDefiningOp<tp::AllocOp>()
                        : tp::AllocOp();
    if (!alloc || !alloc.getMemory())
      return compute.emitOpError("computes a part, expected the memory of an "
                                 "argument that it updates");
    if (!llvm::hasSingleElement(loops))
      return compute.emitOpError("computes a part, expected no other compute "
                                 "loop in its kernel");
  }
  return success();
}

LogicalResult ProgramVerifier::verifyCommand(Operation *op) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(op).getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    Value root = rootBuffer(effect.getValue());
    bool isMemory = root.getDefiningOp<tp::AllocOp>() != nullptr;
    if (isa<MemoryEffects::Write>(effect.getEffect()) && !isMemory)
      return op->emitOpError("writes an argument or a constant, expected the "
                             "memory of a tp.alloc");
    if (isa<MemoryEffects::Read>(effect.getEffect()) && isMemory &&
        !written.contains(root)) {
      InFlightDiagnostic error =
          op->emitOpError("reads memory that no command has written");
      error.attachNote(root.getLoc()) << "the memory is here";
      return error;
    }
  }
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (isa<MemoryEffects::Write>(effect.getEffect()))
      written.insert(rootBuffer(effect.getValue()));
  auto kernel = dyn_cast<tp::KernelOp>(op);
  if (failed(verifyTarget(op)) || failed(verifyAliases(op)) ||
      (kernel && failed(checkKernel(kernel, traits))))
    return failure();
  if (!kernel)
    return success();
  if (failed(verifyParts(kernel)))
    return failure();
  for (BlockArgument argument : kernel.getBody().getArguments())
    extents[argument] =
        extents.lookup(kernel->getOperand(argument.getArgNumber()));
  for (auto scratch : kernel.getBody().front().getOps<tp::ScratchOp>())
    if (failed(verifyBuffer(scratch.getResult(), scratch.getLoc())))
      return failure();
  return success();
}

/// Whether the target has queues, if the op is about them.
LogicalResult ProgramVerifier::verifyQueue(Operation *op) {
  if (hasQueues(traits))
    return success();
  for (StringRef name : {tp::attr::queue, tp::attr::withPrevious})
    if (op->hasAttr(name))
      return op->emitOpError("'")
             << name << "' is not handled by " << traits.name;
  if (isa<tp::SignalOp, tp::WaitOp>(op))
    return op->emitOpError("is not handled by ") << traits.name;
  return success();
}

LogicalResult ProgramVerifier::verifyOp(Operation *op) {
  if (failed(verifyQueue(op)))
    return failure();
  if (isa<tp::SignalOp, tp::WaitOp>(op))
    return success();
  if (auto attention = dyn_cast<tp::AttentionOp>(op)) {
    for (Operation &step : attention.getSteps().front())
      if (!isa<memref::ReinterpretCastOp, tp::KernelOp, tp::GemmOp>(step))
        return step.emitOpError("is no step of an attention: expected views, "
                                "kernels and GEMMs");
      else if (failed(verifyOp(&step)))
        return failure();
  } else if (!isa<tp::AllocOp, tp::ConstantOp, memref::ReinterpretCastOp,
                  func::ReturnOp, tp::KernelOp, tp::GemmOp, tp::CommunicateOp,
                  tp::CallOp, tp::ResumeOp, tp::AttentionBackwardOp>(op)) {
    return op->emitOpError("is not one of a rank's program: expected memory, "
                           "views and commands");
  }
  for (Value operand : op->getOperands()) {
    Value root = rootBuffer(operand);
    if (!isa<BlockArgument>(root) && !root.getDefiningOp<tp::AllocOp>() &&
        !root.getDefiningOp<tp::ConstantOp>())
      return op->emitOpError("expected a view of an argument, of a tp.alloc or "
                             "of a tp.constant, got ")
             << operand;
    if (failed(verifyBuffer(operand, op->getLoc())))
      return failure();
  }
  for (Value result : op->getResults())
    if (failed(verifyBuffer(result, op->getLoc())))
      return failure();
  if (isa<tp::KernelOp, tp::GemmOp, tp::CommunicateOp, tp::CallOp,
          tp::AttentionBackwardOp>(op))
    return verifyCommand(op);
  auto attention = dyn_cast<tp::AttentionOp>(op);
  if (!attention)
    return success();
  // Steps have been checked, and have written the result.
  return hasSteps(attention) ? verifyTarget(op) : verifyCommand(op);
}

LogicalResult ProgramVerifier::verifyResults() {
  llvm::DenseSet<Value> roots;
  Operation *terminator = program.front().getTerminator();
  for (Value result : terminator->getOperands()) {
    Value root = rootBuffer(result);
    auto alloc = root.getDefiningOp<tp::AllocOp>();
    if (!alloc || !roots.insert(root).second)
      return terminator->emitOpError("expected every result to be an "
                                     "allocation of its own, got ")
             << result;
    auto type = cast<MemRefType>(result.getType());
    const Extent &extent = extents.find(result)->second;
    if (!isRowMajor(type) || extent.first != 0 ||
        type.getNumElements() !=
            cast<MemRefType>(root.getType()).getNumElements())
      return terminator->emitOpError("expected a result to be all of its "
                                     "allocation, row-major, got ")
             << type;
    if (alloc.getOffset())
      return alloc.emitOpError("is a result, which has memory of its own and "
                               "no offset in the arena");
    if (!written.contains(root) && type.getNumElements() > 0)
      return alloc.emitOpError("is a result that no command writes");
  }
  return verifyInPlace();
}

/// Only the result that updates an argument is in the argument's memory.
LogicalResult ProgramVerifier::verifyInPlace() {
  Operation *terminator = program.front().getTerminator();
  llvm::MapVector<unsigned, unsigned> updates = tp::updatesOf(program);
  for (auto alloc : program.front().getOps<tp::AllocOp>()) {
    if (!alloc.getMemory())
      continue;
    auto argument = dyn_cast<BlockArgument>(alloc.getMemory());
    auto *update =
        argument ? updates.find(argument.getArgNumber()) : updates.end();
    if (update == updates.end() ||
        rootBuffer(terminator->getOperand(update->second)) != alloc)
      return alloc.emitOpError("expected memory of the argument that the "
                               "allocation, as a result, updates");
    if (!isRowMajor(cast<MemRefType>(argument.getType())))
      return alloc.emitOpError("expected memory of a row-major argument, got ")
             << argument.getType();
  }
  return success();
}

/// Offsets are given to all or to none.
LogicalResult ProgramVerifier::verifyOffsets() {
  Buffers buffers(program);
  Operation *with = nullptr, *without = nullptr;
  for (Operation &op : program.front()) {
    auto alloc = dyn_cast<tp::AllocOp>(op);
    auto constant = dyn_cast<tp::ConstantOp>(op);
    if ((!alloc && !constant) || !isUsed(op.getResult(0)) ||
        (alloc && buffers.spaceOf(alloc) != Space::Arena))
      continue;
    bool has = alloc ? alloc.getOffset().has_value()
                     : constant.getOffset().has_value();
    (has ? with : without) = &op;
  }
  if (!with || !without)
    return success();
  InFlightDiagnostic error = without->emitOpError(
      "has no offset, expected one on all memory or on none");
  error.attachNote(with->getLoc()) << "this has one";
  return error;
}

LogicalResult ProgramVerifier::verify() {
  if (program.isExternal() || !program.getBody().hasOneBlock())
    return program.emitError("expected a program of one block");
  for (BlockArgument argument : program.getArguments())
    if (failed(verifyBuffer(argument, argument.getLoc())))
      return failure();
  if (failed(joinedArguments(program)))
    return failure();
  for (Operation &op : program.front())
    if (failed(verifyOp(&op)))
      return failure();
  return failure(failed(verifyResults()) || failed(verifyOffsets()));
}

LogicalResult tp::target::verifyProgram(func::FuncOp program,
                                        const TargetTraits &traits) {
  return ProgramVerifier(program, traits).verify();
}
