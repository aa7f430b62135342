//===- StoredValues.h - which values are in memory, and how -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor value is either stored or recomputed where it is read. This is what
// kernels are formed and emitted from: the values that are stored, and the
// order of their elements.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_STORAGE_STOREDVALUES_H
#define TP_LIB_CODEGEN_STORAGE_STOREDVALUES_H

#include "Elements/ViewAnalysis.h"
#include "TargetTraits.h"
#include "llvm/ADT/MapVector.h"

namespace tp::target {

enum class Space { Argument, Result, Arena, Constant, Carried, Scratch };

/// A value in memory.
struct Storage {
  mlir::Value value;
  mlir::Type elementType;
  int64_t elements = 0;
  /// From the value's index to its place, in elements.
  mlir::AffineMap address;
  Space space = Space::Arena;
  /// Which argument or result.
  unsigned index = 0;

  int64_t bytes() const { return elements * elementBytes(elementType); }
};

class StoredValues {
public:
  explicit StoredValues(const TargetTraits &traits) : traits(traits) {}

  bool isStored(mlir::Value value) const { return storages.contains(value); }
  Storage &storage(mlir::Value value) { return storages.find(value)->second; }
  const Storage &storage(mlir::Value value) const {
    return storages.find(value)->second;
  }
  void add(const Storage &storage) {
    storages.insert({storage.value, storage});
  }
  llvm::MapVector<mlir::Value, Storage> &all() { return storages; }
  const TargetTraits &targetTraits() const { return traits; }

protected:
  TargetTraits traits;
  llvm::MapVector<mlir::Value, Storage> storages;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_STORAGE_STOREDVALUES_H
