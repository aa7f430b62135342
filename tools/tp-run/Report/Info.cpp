//===- Info.cpp - what an artifact holds ----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"
#include "Table.h"
#include "tp/Runtime/Array.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include <algorithm>
#include <map>

using namespace tp::run;
using namespace tp::runtime;

namespace {

using Commands = std::vector<const Command *>;

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string writtenPart(const Update &update, const Port &result) {
  if (!update.writtenBytes)
    return "";
  return ", " + grouped(*update.writtenBytes) + " of " +
         grouped(result.localBytes()) + " bytes written";
}

std::string portTable(const EntryView &entry, const std::vector<Port> &ports) {
  Table table({"name", "kind", "type", "layout", "local shape", "notes"});
  for (size_t i = 0; i < ports.size(); ++i) {
    const Port &port = ports[i];
    std::string notes;
    auto note = [&](const std::string &text) {
      notes += (notes.empty() ? "" : ", ") + text;
    };
    for (size_t d = 0; d < port.permutation.size(); ++d)
      if (port.permutation[d] != int64_t(d)) {
        note("stored as " + shapeText(port.permutation));
        break;
      }
    if (port.roundedFrom)
      note(std::string("rounded from ") + spelling(*port.roundedFrom));
    if (port.dead)
      note("dead");
    if (&ports == &entry.arguments && entry.places[i].first != int64_t(i))
      note("joined to " + portName(ports, entry.places[i].first));
    if (port.update)
      note("updates " + portName(entry.arguments, port.update->argument) +
           (port.update->inPlace ? " in place" + writtenPart(*port.update, port)
            : port.update->reason.empty()
                ? ""
                : ", copied: " + port.update->reason));
    table.add({portName(ports, i), port.kind,
               describeType(port.dtype, port.shape),
               layoutText(port.layout, entry.mesh),
               shapeText(port.localShape()), notes});
  }
  return table.text();
}

std::string groupTable(const EntryView &entry) {
  Table table({">group", "axes", "ranks"});
  for (const RankGroup &group : entry.groups) {
    std::string axes, ranks;
    for (const AxisPart &part : group.axes)
      axes += (axes.empty() ? "" : ",") + entry.mesh.text(part);
    for (const std::vector<int64_t> &list : entry.mesh.groups(group.axes))
      ranks += (ranks.empty() ? "" : " ") + shapeText(list);
    table.add({std::to_string(group.id), axes, ranks});
  }
  return table.text();
}

std::string collectiveList(const EntryView &entry) {
  Table table({">id", "collective", "dtype", ">group", ">payload bytes",
               ">wire bytes", ">ring bytes", "module", "location", "reason"});
  for (const Command &command : entry.program) {
    const auto *call = std::get_if<CollectiveCommand>(&command.what);
    if (!call)
      continue;
    const Collective &row = entry.collectives[call->collective];
    std::string kind = spelling(row.kind);
    if (row.reduces())
      kind += std::string(" ") + spelling(row.reduction);
    table.add({std::to_string(row.id), kind, spelling(row.dtype),
               std::to_string(entry.groups[row.group].id),
               grouped(row.payloadBytes), grouped(row.wireBytes),
               grouped(row.ringBytes), row.module, row.location, row.reason});
  }
  return table.text();
}

/// The least and the largest of all ranks, where they differ.
std::string kText(const GemmCommand &gemm) {
  if (!gemm.shortened)
    return std::to_string(gemm.k);
  const std::vector<int64_t> &sizes = gemm.shortened->sizes;
  auto least = std::min_element(sizes.begin(), sizes.end());
  return std::to_string(*least) + "-" + std::to_string(gemm.k);
}

/// What the operands hold, each element once.
int64_t gemmBytes(const GemmCommand &gemm) {
  auto matrices = [&](const GemmOperand &operand) {
    int64_t count = 1;
    for (size_t d = 0; d < gemm.batch.size(); ++d)
      count *= operand.batchStrides[d] == 0 ? 1 : gemm.batch[d];
    return count;
  };
  int64_t results = matrices(gemm.c) * gemm.m * gemm.n;
  if (gemm.residual)
    results += matrices(*gemm.residual) * gemm.m * gemm.n;
  if (gemm.bias)
    results += gemm.n;
  return byteSize(gemm.dtype) * matrices(gemm.a) * gemm.m * gemm.k +
         byteSize(gemm.bDtype) * matrices(gemm.b) * gemm.k * gemm.n +
         byteSize(gemm.cDtype) * results;
}

/// "NT, residual, bias, gelu_tanh": transposes, and what follows the sums.
std::string formText(const GemmCommand &gemm) {
  std::string text = gemm.a.transpose ? "T" : "N";
  text += gemm.b.transpose ? "T" : "N";
  if (gemm.residual)
    text += ", residual";
  if (gemm.bias)
    text += ", bias";
  if (gemm.activation != Activation::None)
    text += std::string(", ") + spelling(gemm.activation);
  return text;
}

std::string typeText(const GemmCommand &gemm) {
  std::string text = gemm.tf32 ? "tf32" : spelling(gemm.dtype);
  if (gemm.bDtype != gemm.dtype)
    text += std::string(" x ") + spelling(gemm.bDtype);
  if (gemm.cDtype != gemm.dtype)
    text += std::string(" to ") + spelling(gemm.cDtype);
  return text;
}

std::string gemmTable(const Commands &commands) {
  // A model repeats few shapes many times.
  CountedTable table({"gemm", "batch", ">m", ">n", ">k", "form", ">bytes",
                      ">flops", ">count"});
  double total = 0;
  for (const Command *command : commands) {
    const auto *gemm = std::get_if<GemmCommand>(&command->what);
    if (!gemm)
      continue;
    double flops = gemm->flops();
    total += flops;
    table.add({typeText(*gemm), shapeText(gemm->batch), std::to_string(gemm->m),
               std::to_string(gemm->n), kText(*gemm), formText(*gemm),
               grouped(gemmBytes(*gemm)), grouped(int64_t(flops))});
  }
  if (table.empty())
    return "";
  return table.text() + "  total " + grouped(int64_t(total)) +
         " flops per step and rank\n";
}

std::string threadsText(const std::array<int64_t, 3> &sizes) {
  std::string text = std::to_string(sizes[0]);
  for (size_t d = 1; d < 3 && (sizes[1] > 1 || sizes[2] > 1); ++d)
    text += "x" + std::to_string(sizes[d]);
  return text;
}

/// In order of first launch; bytes and flops are those of one launch.
std::string launchTable(const Commands &commands) {
  CountedTable table({"kernel", ">grid", ">block", ">shared bytes", ">bytes",
                      ">flops", "module", "location", ">launches"});
  int64_t bytes = 0, flops = 0;
  for (const Command *command : commands) {
    const auto *kernel = std::get_if<KernelCommand>(&command->what);
    if (!kernel)
      continue;
    const Launch &launch = kernel->launch;
    bytes += launch.bytes;
    flops += launch.flops;
    table.add({kernel->function, threadsText(launch.grid),
               threadsText(launch.block), grouped(launch.sharedBytes),
               grouped(launch.bytes), grouped(launch.flops), command->module,
               command->location});
  }
  return withTotal(table, bytes, flops);
}

/// Functions of the user, which devices call.
std::string callTable(const Commands &commands) {
  CountedTable table({"op", "function", "module", "location", ">calls"});
  for (const Command *command : commands)
    if (const auto *call = std::get_if<CallCommand>(&command->what))
      table.add({call->op, functionOfOp(call->op, TP_DEVICE), command->module,
                 command->location});
  return table.empty() ? "" : table.text();
}

/// What a device's driver can load.
std::string codeText(const Artifact &artifact, const CudaTarget &target) {
  std::string text;
  for (const std::string &chip : target.chips) {
    size_t bytes = artifact.cubin(chip).size();
    text += "  " + chip + ": " +
            (bytes ? "cubin of " + grouped(int64_t(bytes)) + " bytes"
                   : "no cubin") +
            "\n";
  }
  size_t bytes = artifact.ptx().size();
  return text + (bytes ? "  PTX of " + grouped(int64_t(bytes)) +
                             " bytes, for the driver to assemble\n"
                       : "  no PTX\n");
}

/// "cpu x86_64-linux-gnu znver4 with avx avx2", "cuda".
std::string targetText(const Target &target) {
  std::string text = spelling(target);
  const auto *cpu = std::get_if<CpuTarget>(&target);
  if (!cpu)
    return text;
  for (const std::string &word : {cpu->triple, cpu->cpu})
    text += word.empty() ? "" : " " + word;
  if (cpu->features && !cpu->features->empty()) {
    text += " with";
    for (const std::string &feature : *cpu->features)
      text += " " + feature;
  }
  return text;
}

std::string kernelTable(const EntryView &entry, const Commands &commands) {
  if (entry.isCuda())
    return launchTable(commands);
  std::map<std::string, int64_t> counts;
  for (const Command &command : entry.program)
    if (const auto *kernel = std::get_if<KernelCommand>(&command.what))
      ++counts[kernel->function];
  Table table({"kernel", ">calls"});
  for (const auto &[function, count] : counts)
    table.add({function, grouped(count)});
  return table.text();
}

std::string describeEntry(const Artifact &artifact, const EntryView &entry) {
  const Manifest &manifest = artifact.manifest();
  std::string text = artifact.path() + ": @" + entry.name + " for mesh " +
                     entry.mesh.text() + " (" +
                     std::to_string(entry.numRanks()) + " ranks)\n";
  text += "target " + targetText(manifest.target);
  text += ", made by " + manifest.producer + ", " +
          std::to_string(entry.program.size()) + " commands per " +
          (entry.part ? "run, " + grouped(entry.part->times) + " runs per step"
                      : std::string("step")) +
          "\n";
  auto section = [&](const char *title, const std::string &body) {
    if (!body.empty())
      text += std::string("\n") + title + "\n" + body;
  };
  if (const auto *target = std::get_if<CudaTarget>(&manifest.target))
    section("code", codeText(artifact, *target));
  section("arguments", portTable(entry, entry.arguments));
  section("results", portTable(entry, entry.results));
  section("groups", groupTable(entry));
  section("collectives in order", collectiveList(entry));
  section("collectives per step and rank", collectiveTable(entry));
  Commands own, steps;
  for (const Command &command : entry.program) {
    own.push_back(&command);
    if (const auto *attention = std::get_if<AttentionCommand>(&command.what))
      for (const Command &step : attention->steps)
        steps.push_back(&step);
  }
  section("attention per step and rank", attentionTable(entry));
  section("matrix products per step and rank", gemmTable(own));
  section("kernels per step and rank", kernelTable(entry, own));
  section("functions of linked libraries per step and rank", callTable(own));
  section("what stands in for attention where no library does it",
          gemmTable(steps) + launchTable(steps));
  section("memory per rank", memoryTable(entry));
  return text;
}

} // namespace

std::string tp::run::describeArtifact(const Artifact &artifact,
                                      std::optional<int64_t> only) {
  std::string text;
  for (const EntryView &entry : artifact.entries()) {
    const std::optional<EntryPart> &part = entry.part;
    int64_t whole = part ? part->of : entry.index;
    if (whole == only.value_or(whole))
      text += (text.empty() ? "" : "\n") + describeEntry(artifact, entry);
  }
  return text;
}
