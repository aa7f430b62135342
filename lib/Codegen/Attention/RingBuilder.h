//===- RingBuilder.h - ops of attention whose keys travel -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H
#define TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H

#include "ChunkBuilder.h"
#include "RingAttention.h"

namespace tp::target {

/// Makes the chain of rotations and of attention to chunks.
class RingBuilder : ChunkBuilder {
public:
  RingBuilder(const AttentionForm &form, const RingSource &keys,
              const RingSource &values)
      : ChunkBuilder(form), keys(keys), values(values),
        ranks(keys.runs.size()) {}

  /// False if more would be sent than a gather sends.
  bool build();

private:
  mlir::Value widened(mlir::Value chunk);
  mlir::Value withoutPadding(mlir::Value chunk);
  mlir::Value rotated(mlir::Value chunk, const RingSource &source);
  void makeTable();
  mlir::Value tableAt(mlir::OpBuilder &inner, mlir::Value owner,
                      mlir::Value run, int64_t column);
  mlir::Value ownerOf(int64_t step);
  mlir::Value spansIn(mlir::Value owner);
  mlir::Value numbersIn(mlir::Value owner);
  mlir::Value biasIn(mlir::Value owner);

  const RingSource &keys, &values;
  int64_t ranks;
  /// Whether some rank's chunk has padding.
  bool isPadded = false;
  mlir::Value position, table, global;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H
