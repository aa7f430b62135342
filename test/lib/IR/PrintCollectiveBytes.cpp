//===- PrintCollectiveBytes.cpp - bytes of all collectives ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintCollectiveBytes.h"
#include "mlir/Pass/Pass.h"
#include "tp/IR/Collectives/CollectiveBytes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

namespace {
struct PrintCollectiveBytes
    : PassWrapper<PrintCollectiveBytes, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintCollectiveBytes)
  StringRef getArgument() const final { return "tp-print-collective-bytes"; }
  StringRef getDescription() const final {
    return "Print the bytes of every collective, before tp-partition or after";
  }
  void runOnOperation() final {
    getOperation()->walk([](Operation *op) {
      std::optional<Collective> collective = asCollective(op);
      if (!collective)
        return;
      CollectiveBytes bytes = bytesOfCollective(op);
      llvm::outs() << tp::toString(collective->kind) << ": " << bytes.payload
                   << " payload, " << bytes.wire << " wire, " << bytes.ring
                   << " ring\n";
    });
  }
};
} // namespace

void tp::registerPrintCollectiveBytesPass() {
  PassRegistration<PrintCollectiveBytes>();
}
