//===- WhatIf.h - one value pinned differently ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHATIF_H
#define TP_LIB_TRANSFORMS_PLAN_WHATIF_H

#include "PlanFile.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp {

/// The pin of `--what-if`: a plan entry that names a value of the program.
struct WhatIfPin {
  std::string axis;
  /// `tp.argument "VALUE" LAYOUT`, where VALUE may also be a result or a
  /// module's port.
  ArgumentOp entry;
  mlir::OwningOpRef<mlir::ModuleOp> file;
};

/// Reads `VALUE=LAYOUT` or `VALUE@AXIS=LAYOUT`, the axis being that of the only
/// plan where it is left out. Fails with a located error.
mlir::FailureOr<WhatIfPin> readWhatIfPin(llvm::StringRef text,
                                         const PlanFile &file);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHATIF_H
