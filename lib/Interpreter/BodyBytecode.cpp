//===- BodyBytecode.cpp - a body as instructions on lanes -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyBytecode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interpreter/Identity.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

unsigned BodyBytecode::registerOf(Value value) {
  auto [it, inserted] = registers.try_emplace(value, numRegisters);
  if (!inserted)
    return it->second;
  captures.emplace_back(addRegister(), value);
  return it->second;
}

static void runLookup(const Instr &instr, BodyState &state, int lanes) {
  const Lookup &lookup = state.program.lookups[instr.immediate];
  const ShardView &table = state.tables[lookup.table];
  ArrayRef<int64_t> strides = state.tableStrides[lookup.table];
  Lanes &to = state.registers[instr.to];
  auto type = cast<RankedTensorType>(
      cast<tensor::ExtractOp>(instr.op).getTensor().getType());
  BodyState::LanesOfTable &lanesOf = state.lanesOfTables[lookup.table];
  Scalar identity = identityOf(ReductionKind::Sum, type.getElementType());
  for (int lane = 0; lane < lanes; ++lane) {
    int64_t offset = 0;
    for (auto [dim, reg] : llvm::enumerate(lookup.indices)) {
      int64_t index = state.registers[reg].integers[lane];
      if (index < 0 || index >= type.getDimSize(dim)) {
        if (state.missed[lane]) {
          offset = -1;
          break;
        }
        state.failOnData(instr.op, "reads index " + std::to_string(index) +
                                       " of dimension " + std::to_string(dim) +
                                       " of size " +
                                       std::to_string(type.getDimSize(dim)));
        return;
      }
      int64_t local = table.localIndex(dim, index);
      if (local >= 0) {
        offset += local * strides[dim];
        continue;
      }
      if (!state.mayMiss[lookup.table][dim]) {
        SmallVector<int64_t> at;
        for (unsigned r : lookup.indices)
          at.push_back(state.registers[r].integers[lane]);
        state.fail(instr.op, "reads element " + indexText(at) +
                                 " of the captured tensor, which it does not "
                                 "hold");
        return;
      }
      offset = -1;
      break;
    }
    if (offset < 0)
      state.missed[lane] = state.anyMissed = lanesOf.missed[lane] = true;
    else
      lanesOf.held[lane] = true;
    if (offset >= 0 && !table.array.isDefined(offset)) {
      state.failOnData(instr.op, "reads an element that nothing has written");
      return;
    }
    switch (table.array.storage()) {
    case ElementStorage::Float:
      to.floats[lane] = offset < 0 ? static_cast<float>(identity.real)
                                   : table.array.floats()[offset];
      break;
    case ElementStorage::Double:
      to.doubles[lane] =
          offset < 0 ? identity.real : table.array.doubles()[offset];
      break;
    case ElementStorage::Int:
      to.integers[lane] =
          offset < 0 ? identity.integer : table.array.integers()[offset];
      break;
    }
  }
}

static void runAssert(const Instr &instr, BodyState &state, int lanes) {
  const Lanes &condition = state.registers[instr.from[0]];
  for (int lane = 0; lane < lanes; ++lane)
    if (!condition.integers[lane] && !state.missed[lane]) {
      state.failOnData(instr.op,
                       "finds the assertion broken: " +
                           cast<cf::AssertOp>(instr.op).getMsg().str());
      return;
    }
}

LogicalResult BodyBytecode::append(Operation *op) {
  if (failed(checkTypes(op)))
    return failure();
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    unsigned reg = registers[index.getResult()] = addRegister();
    loopIndices.emplace_back(reg, index.getDim());
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    unsigned reg = registers[constant.getResult()] = addRegister();
    std::optional<Scalar> value = scalarOf(constant.getValue());
    if (!value)
      return unrunnable(op) << "cannot be simulated";
    constants.push_back({reg, *value, *storageOf(constant.getType())});
    return success();
  }
  Instr instr;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Lookup lookup;
    auto it = llvm::find(tables, extract.getTensor());
    lookup.table = it - tables.begin();
    if (it == tables.end())
      tables.push_back(extract.getTensor());
    for (Value index : extract.getIndices())
      lookup.indices.push_back(registerOf(index));
    lookups.push_back(std::move(lookup));
    instr.kernel = runLookup;
    instr.immediate = lookups.size() - 1;
  } else if (isa<cf::AssertOp>(op)) {
    instr.kernel = runAssert;
    instr.from[0] = registerOf(op->getOperand(0));
  } else {
    instr = scalarInstr(op);
    if (!instr.kernel)
      return unrunnable(op) << "cannot be simulated";
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      instr.from[i] = registerOf(operand);
  }
  instr.op = op;
  if (op->getNumResults() == 0) {
    instrs.push_back(instr);
    return success();
  }
  instr.to = registers[op->getResult(0)] = addRegister();
  instrs.push_back(instr);
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  if (Instr normalize = normalizeInstr(type); normalize.kernel) {
    normalize.to = normalize.from[0] = instr.to;
    normalize.op = op;
    instrs.push_back(normalize);
  }
  return success();
}

LogicalResult BodyBytecode::append(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(append(&op)))
      return failure();
  return success();
}

void BodyState::run(int lanes) {
  if (anyMissed) {
    std::fill_n(skipped, laneCount, false);
    std::fill_n(missed, laneCount, false);
  }
  anySkipped = anyMissed = false;
  lanesOfTables.assign(tables.size(), LanesOfTable());
  for (const Instr &instr : program.instrs) {
    instr.kernel(instr, *this, lanes);
    if (failedOp)
      return;
  }
  if (anyMissed)
    skipLanes(lanes);
}

void BodyState::skipLanes(int lanes) {
  for (const LanesOfTable &table : lanesOfTables)
    for (int lane = 0; lane < lanes; ++lane)
      if (table.missed[lane] && !table.held[lane])
        skipped[lane] = anySkipped = true;
}

void BodyState::fill(unsigned reg, Scalar value, ElementStorage storage) {
  Lanes &lanes = registers[reg];
  switch (storage) {
  case ElementStorage::Float:
    std::fill_n(lanes.floats, laneCount, static_cast<float>(value.real));
    return;
  case ElementStorage::Double:
    std::fill_n(lanes.doubles, laneCount, value.real);
    return;
  case ElementStorage::Int:
    std::fill_n(lanes.integers, laneCount, value.integer);
    return;
  }
}
