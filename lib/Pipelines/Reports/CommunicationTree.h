//===- CommunicationTree.h - collectives by module --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_PIPELINES_COMMUNICATIONTREE_H
#define TP_PIPELINES_COMMUNICATIONTREE_H

#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace tp {

/// What the modules of an entry send, from the report's rows of collectives
/// (docs/report.md): `{"module", "sent": [{"direction", "kind", "count",
/// "payload_bytes", "ring_bytes_per_rank"}], "modules": [...]}`, where `sent`
/// is that of the module and all modules in it. One for each entry that sends
/// something; `entry` is left out where rows have none.
llvm::json::Array communicationTrees(const llvm::json::Array &collectives);

/// The trees as lines of a table, headings first; a module's name is indented
/// below that of the module that it is in.
std::vector<std::vector<std::string>>
communicationLines(const llvm::json::Array &trees);

} // namespace tp

#endif // TP_PIPELINES_COMMUNICATIONTREE_H
