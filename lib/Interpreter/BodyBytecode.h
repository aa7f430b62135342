//===- BodyBytecode.h - a body as instructions on lanes ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scalar body of an op, compiled once per op and run for up to `laneCount`
// points of its iteration space at a time. Every SSA value of the body is a
// register; an instruction is a function over all lanes of its registers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_BODYBYTECODE_H
#define TP_LIB_INTERPRETER_BODYBYTECODE_H

#include "tp/Interpreter/Frame.h"

namespace tp::simulator {

inline constexpr int laneCount = 128;

union alignas(64) Lanes {
  float floats[laneCount];
  double doubles[laneCount];
  int64_t integers[laneCount];
};

struct Instr;
struct BodyState;
using LaneFunction = void (*)(const Instr &, BodyState &, int lanes);

struct Instr {
  LaneFunction kernel = nullptr;
  unsigned to = 0;
  unsigned from[3] = {0, 0, 0};
  /// Width of integers, or the number of a lookup.
  int64_t immediate = 0;
  mlir::Operation *op = nullptr;
};

/// tensor.extract of a captured tensor.
struct Lookup {
  unsigned table;
  llvm::SmallVector<unsigned, 4> indices;
};

struct BodyConstant {
  unsigned reg;
  Scalar value;
  ElementStorage storage;
};

struct BodyBytecode {
  std::vector<Instr> instrs;
  unsigned numRegisters = 0;
  llvm::DenseMap<mlir::Value, unsigned> registers;
  std::vector<BodyConstant> constants;
  /// Scalars defined outside the body.
  std::vector<std::pair<unsigned, mlir::Value>> captures;
  /// Registers that hold the position along a loop.
  std::vector<std::pair<unsigned, unsigned>> loopIndices;
  /// Tensors defined outside the body, and where they are read.
  llvm::SmallVector<mlir::Value> tables;
  std::vector<Lookup> lookups;

  unsigned addRegister() { return numRegisters++; }
  /// The register of a value; one from outside becomes a capture.
  unsigned registerOf(mlir::Value value);
  /// Adds what `op` computes. Emits an error where it is unknown.
  mlir::LogicalResult append(mlir::Operation *op);
  /// Adds all ops of `block` but its terminator.
  mlir::LogicalResult append(mlir::Block &block);
};

/// One run of a body.
struct BodyState {
  explicit BodyState(const BodyBytecode &program)
      : program(program), registers(program.numRegisters) {}

  const BodyBytecode &program;
  std::vector<Lanes> registers;
  llvm::SmallVector<ShardView> tables;
  llvm::SmallVector<llvm::SmallVector<int64_t>> tableStrides;
  /// Per table and dimension: an index that this rank does not hold makes the
  /// lane contribute nothing, instead of being an error.
  llvm::SmallVector<llvm::SmallVector<bool>> mayMiss;
  /// Lanes that contribute nothing: those that read a table, but no element of
  /// it that this rank holds. A missed read beside one that is held is the
  /// identity of a sum.
  bool anySkipped = false;
  bool skipped[laneCount] = {};
  /// Lanes with a missed read; what they compute from it is no fault.
  bool anyMissed = false;
  bool missed[laneCount] = {};
  /// Per table: lanes with a missed read of it, and with one that is held.
  struct LanesOfTable {
    bool missed[laneCount] = {};
    bool held[laneCount] = {};
  };
  llvm::SmallVector<LanesOfTable, 0> lanesOfTables;
  /// The first thing that went wrong; empty: nothing.
  mlir::Operation *failedOp = nullptr;
  std::string failure;
  /// The numbers do not suit the op, whoever runs it.
  bool failedOnData = false;

  void fail(mlir::Operation *op, std::string message) {
    if (failedOp)
      return;
    failedOp = op;
    failure = std::move(message);
  }
  void failOnData(mlir::Operation *op, std::string message) {
    failedOnData |= !failedOp;
    fail(op, std::move(message));
  }
  void run(int lanes);
  /// Says which lanes contribute nothing, from what they missed.
  void skipLanes(int lanes);
  /// Writes one value to all lanes of a register.
  void fill(unsigned reg, Scalar value, ElementStorage storage);
};

/// The instruction for an op of dialects arith and math, by its name and types;
/// a null kernel where it is unknown.
Instr scalarInstr(mlir::Operation *op);
/// Rounds a register to an f16 or bf16, or wraps it to an integer type; a null
/// kernel where its storage is exact.
Instr normalizeInstr(mlir::Type type);

} // namespace tp::simulator

#endif // TP_LIB_INTERPRETER_BODYBYTECODE_H
