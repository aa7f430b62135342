//===- tp-manifest-fuzzer.cpp - manifests, and the programs they hold -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// A manifest that the reader lets through is run: what docs/artifact.md says a
// reader may rely on has to be enough for gemm and collectives to stay inside
// their buffers.
//
//===----------------------------------------------------------------------===//

#include "../MemoryFile.h"
#include "tp/Runtime/Array.h"
#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/CreateRank.h"
#include "tp/Runtime/Slices.h"
#include <thread>

using namespace tp::runtime;

namespace {

constexpr int64_t constantBytes = 256;

/// Small enough to be run thousands of times, and no kernels: their code is
/// the compiler's.
bool isSmall(const EntryView &entry) {
  if (entry.numRanks() > 4 || entry.program.size() > 32 ||
      RankMemory(entry).bytes > 1 << 20)
    return false;
  for (const auto *ports : {&entry.arguments, &entry.results})
    for (const Port &port : *ports)
      if (port.slice({}).boxes.size() > 64 ||
          elementCount(port.shape).value_or(0) > 1 << 16)
        return false;
  for (const Command &command : entry.program) {
    if (std::holds_alternative<KernelCommand>(command.what))
      return false;
    const auto *gemm = std::get_if<GemmCommand>(&command.what);
    if (!gemm)
      continue;
    double work =
        double(gemm->m + 1) * double(gemm->n + 1) * double(gemm->k + 1);
    for (int64_t size : gemm->batch)
      work *= double(size);
    if (work > 1e5)
      return false;
  }
  for (const Collective &collective : entry.collectives)
    if (collective.wireBytes > 1 << 18)
      return false;
  return true;
}

/// Longer than a rank stands still on a machine that is busy.
constexpr double meetSeconds = 120;

void runRank(const Artifact &artifact, Transport &transport, int64_t number) {
  RankOptions options;
  options.timeoutSeconds = meetSeconds;
  options.poison = number % 2;
  std::unique_ptr<Rank> rank;
  Status status = createRank(artifact, transport, number, options, rank);
  const EntryView &entry = artifact.entry();
  for (size_t i = 0; status.ok() && i < entry.arguments.size(); ++i) {
    const Port &port = entry.arguments[i];
    if (port.dead)
      continue;
    char *bytes = nullptr;
    Array array = makeArray(port.dtype, port.shape, bytes);
    scatter(port.slice(entry.coordinates(number)), array.data, array.strides,
            rank->argument(i));
  }
  if (status.ok())
    status = transport.barrier(number, meetSeconds);
  for (int step = 0; status.ok() && step < 2; ++step)
    status = rank->step();
  for (size_t i = 0; status.ok() && i < entry.results.size(); ++i) {
    const Port &port = entry.results[i];
    char *bytes = nullptr;
    Array array = makeArray(port.dtype, port.shape, bytes);
    assemble(port.slice(entry.coordinates(number)), rank->result(i), bytes,
             array.strides);
  }
  if (!status.ok())
    transport.abort({status.code(), number, status.message()});
  // A program is the same on all ranks: none can wait for another for long.
  if (status.code() == Code::Timeout)
    abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Manifest manifest;
  if (!parseManifest(text, constantBytes, manifest).ok())
    return 0;
  // What was read is what is written, whatever the fuzzer came up with.
  Manifest again;
  if (!parseManifest(writeManifest(manifest), constantBytes, again).ok() ||
      !(again == manifest))
    abort();
  EntryView entry(manifest, manifest.entries.front());
  if (manifest.entries.size() > 1 || !isSmall(entry))
    return 0;
  ArtifactWriter writer;
  writer.addSection("manifest", std::string(text));
  writer.addSection("constants", std::string(constantBytes, '\1'));
  std::string bytes;
  if (!writer.serialize(bytes).ok())
    abort();
  tp::fuzz::MemoryFile file(bytes);
  std::unique_ptr<Artifact> artifact;
  std::unique_ptr<Transport> transport;
  if (!Artifact::open(file.path(), artifact).ok() ||
      !createThreadTransport(artifact->entry(), transport).ok())
    abort();
  std::vector<std::thread> ranks;
  for (int64_t rank = 0; rank < entry.numRanks(); ++rank)
    ranks.emplace_back([&, rank] { runRank(*artifact, *transport, rank); });
  for (std::thread &rank : ranks)
    rank.join();
  return 0;
}
