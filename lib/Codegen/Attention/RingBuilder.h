//===- RingBuilder.h - ops of attention whose keys travel -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H
#define TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H

#include "Backward/GradientBuilder.h"
#include "Backward/RingGradient.h"
#include "RingAttention.h"

namespace tp::target {

/// Makes the chains of rotations and of attention to chunks.
class RingBuilder : GradientBuilder {
public:
  RingBuilder(const AttentionForm &form, const RingSource &keys,
              const RingSource &values)
      : GradientBuilder(form), keys(keys), values(values),
        ranks(keys.runs.size()) {}

  /// Makes what both chains read. False if more would be sent than a gather
  /// sends.
  bool begin();
  /// Makes the attention.
  void build() { replaceResult(quotient(attended())); }
  /// Makes the attention and its gradients; `keyGradient` and `valueGradient`
  /// where it has such.
  void build(const BackwardForm &backward,
             const std::optional<RingGradient> &keyGradient,
             const std::optional<RingGradient> &valueGradient);

private:
  mlir::Value widened(mlir::Value chunk);
  mlir::Value withoutPadding(mlir::Value chunk);
  tp::PermuteOp rotated(mlir::Value chunk, mlir::Operation *cause);
  mlir::Value attended();
  void
  visit(llvm::function_ref<void(int64_t step, mlir::Value k, mlir::Value v)>
            attend);
  mlir::Value sum(mlir::Value first, mlir::Value second);
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
  /// The rank's own chunks, and what its queries see of the chunk that it has
  /// after as many rotations.
  mlir::Value q, ownK, ownV;
  bool isBackward = false;
  llvm::SmallVector<mlir::Value> masks;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H
