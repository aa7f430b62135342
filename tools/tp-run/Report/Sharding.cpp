//===- Sharding.cpp - which rank holds which part of a port ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/OutputFile.h"
#include "tp/Runtime/ShardingPicture.h"

using namespace tp::run;
using namespace tp::runtime;

/// The argument of this name, else the result.
static Status find(const EntryView &entry, const std::string &name,
                   const Port *&port) {
  int64_t index = 0;
  Status asArgument = findPort(entry.arguments, name, "argument", index);
  if (asArgument.ok()) {
    port = &entry.arguments[index];
    return {};
  }
  Status asResult = findPort(entry.results, name, "result", index);
  if (!asResult.ok())
    return asArgument;
  port = &entry.results[index];
  return {};
}

Status tp::run::showShardings(const Options &options, const EntryView &entry,
                              std::string &shown) {
  std::vector<std::string> written;
  for (const NamedFile &file : options.shardings)
    if (!file.path.empty())
      written.push_back(file.path);
  if (Status status = checkOutputs(written, {options.artifact}); !status.ok())
    return status;
  for (const NamedFile &file : options.shardings) {
    const Port *port = nullptr;
    std::string drawn;
    Status status = find(entry, file.name, port);
    if (status.ok())
      status =
          drawSharding(*port, entry.mesh,
                       file.path.empty() ? Picture::Text : Picture::Svg, drawn);
    if (!status.ok())
      return status.within("--sharding");
    if (file.path.empty())
      shown += (shown.empty() ? "" : "\n") + drawn;
    else if (Status wrote = writeOutputFile(file.path, drawn); !wrote.ok())
      return wrote;
  }
  return {};
}
