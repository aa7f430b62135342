//===- AbiArtifact.cpp - artifacts of the C ABI ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;
using namespace tp::capi;

uint32_t tp_abi_version(void) { return TP_ABI_VERSION; }

tp_status *tp_link(const char *path) {
  return guarded(
      [&] { return path ? linkLibrary(path) : invalidArgument("null path"); });
}

tp_status *tp_artifact_open(const char *path, tp_artifact **artifact) {
  return guarded([&]() -> Status {
    if (!path || !artifact)
      return invalidArgument("null path or handle");
    std::unique_ptr<Artifact> opened;
    if (Status status = Artifact::open(path, opened); !status.ok())
      return status;
    std::shared_ptr<Artifact> shared = std::move(opened);
    auto handle = std::make_unique<tp_artifact>();
    handle->artifact = shared;
    handle->views = std::make_shared<ViewTable>();
    for (int64_t i = 1; i < shared->numHostEntries(); ++i) {
      handle->others.push_back(std::make_unique<tp_artifact>());
      handle->others.back()->artifact = shared;
      handle->others.back()->views = handle->views;
      handle->others.back()->index = i;
    }
    *artifact = handle.release();
    return {};
  });
}
void tp_artifact_close(tp_artifact *artifact) { delete artifact; }

const char *tp_artifact_manifest(const tp_artifact *artifact) {
  return artifact->artifact->manifestText().c_str();
}
int64_t tp_artifact_size(const tp_artifact *artifact) {
  return artifact->entry().numRanks();
}
int64_t tp_artifact_num_entries(const tp_artifact *artifact) {
  return artifact->artifact->numHostEntries();
}
const char *tp_artifact_entry_name(const tp_artifact *artifact, int64_t index) {
  const std::vector<EntryView> &entries = artifact->artifact->entries();
  bool isThere = index >= 0 && index < artifact->artifact->numHostEntries();
  return isThere ? entries[index].name.c_str() : nullptr;
}
tp_status *tp_artifact_entry(const tp_artifact *artifact, const char *name,
                             const tp_artifact **entry) {
  return guarded([&]() -> Status {
    if (!artifact || !name || !entry)
      return invalidArgument("null handle or name");
    int64_t index = 0;
    if (Status status = artifact->artifact->findEntry(name, index);
        !status.ok())
      return status;
    if (index == artifact->index)
      *entry = artifact;
    else if (artifact->others.empty())
      return invalidArgument("expected the handle of tp_artifact_open, got one "
                             "of entry '" +
                             artifact->entry().name + "'");
    else
      *entry = artifact->others[index - 1].get();
    return {};
  });
}
int64_t tp_artifact_num_ports(const tp_artifact *artifact, tp_port_side side) {
  return int64_t(portsOf(artifact->entry(), side).size());
}
tp_status *tp_artifact_find_port(const tp_artifact *artifact, tp_port_side side,
                                 const char *name, int64_t *index) {
  return guarded([&]() -> Status {
    if (!artifact || !name || !index)
      return invalidArgument("null handle, name or index");
    const EntryView &entry = artifact->entry();
    Status status = findPort(portsOf(entry, side), name, nameOf(side), *index);
    if (status.ok())
      return status;
    tp_port_side other = side == TP_RESULT ? TP_ARGUMENT : TP_RESULT;
    int64_t there = -1;
    if (findPort(portsOf(entry, other), name, nameOf(other), there).ok())
      return {status.code(),
              status.message() +
                  (other == TP_RESULT ? "; a result is" : "; an argument is")};
    return status;
  });
}
const char *tp_artifact_port_name(const tp_artifact *artifact,
                                  tp_port_side side, int64_t index) {
  if (!artifact)
    return nullptr;
  const EntryView &entry = artifact->entry();
  const std::vector<Port> &ports = portsOf(entry, side);
  if (index < 0 || index >= int64_t(ports.size()))
    return nullptr;
  try {
    std::lock_guard<std::mutex> lock(artifact->namesLock);
    std::string &name = artifact->names[{side, index}];
    if (name.empty())
      name = portName(ports, index);
    return name.c_str();
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}
tp_status *tp_artifact_port(const tp_artifact *artifact, tp_port_side side,
                            int64_t index, tp_tensor *global) {
  return guarded([&]() -> Status {
    if (Status status = checkHandles(artifact, global); !status.ok())
      return status;
    const EntryView &entry = artifact->entry();
    if (Status status = checkPort(entry, side, index); !status.ok())
      return status;
    const Port &port = portsOf(entry, side)[index];
    describeTensor(global, port.dtype, port.shape, rowMajorStrides(port.shape),
                   nullptr);
    return {};
  });
}
static int64_t copiesOf(const PortLayout &layout) {
  int64_t copies = 1;
  for (const AxisPlacement &placement : layout)
    if (std::holds_alternative<Replicated>(placement.what))
      copies *= placement.part.size;
  return copies;
}

tp_status *tp_artifact_port_info(const tp_artifact *artifact, tp_port_side side,
                                 int64_t index, tp_port_info *info) {
  return guarded([&]() -> Status {
    if (Status status = checkHandles(artifact, info); !status.ok())
      return status;
    if (Status status = checkStructSize(info); !status.ok())
      return status;
    const EntryView &entry = artifact->entry();
    if (Status status = checkPort(entry, side, index); !status.ok())
      return status;
    const Port &port = portsOf(entry, side)[index];
    tp_port_info whole = {};
    whole.struct_size = info->struct_size;
    whole.dead = port.dead;
    whole.kind = port.kind.c_str();
    whole.updates = port.update ? port.update->argument : -1;
    whole.copies = copiesOf(port.layout);
    describeTensor(&whole.local, port.dtype, port.localShape(),
                   port.localStrides(), nullptr);
    std::memcpy(info, &whole,
                std::min(size_t(info->struct_size), sizeof(whole)));
    return {};
  });
}
tp_status *tp_artifact_port_key(const tp_artifact *artifact, tp_port_side side,
                                int64_t index, int64_t n, const char **key) {
  return guarded([&]() -> Status {
    if (Status status = checkHandles(artifact, key); !status.ok())
      return status;
    const EntryView &entry = artifact->entry();
    if (Status status = checkPort(entry, side, index); !status.ok())
      return status;
    if (n < 0)
      return invalidArgument("key " + std::to_string(n) +
                             ", expected a number from 0 on");
    const Port &port = portsOf(entry, side)[index];
    if (const auto *joined = std::get_if<JoinedSource>(&port.source))
      return unsupported(std::string(nameOf(side)) + " '" + port.name +
                         "' is joined from " +
                         std::to_string(joined->segments.size()) +
                         " tensors of the file: read their keys in 'segments' "
                         "of the manifest");
    const std::vector<std::string> &keys =
        std::get<WholeSource>(port.source).sourceKeys;
    *key = n < int64_t(keys.size()) ? keys[n].c_str() : nullptr;
    return {};
  });
}
