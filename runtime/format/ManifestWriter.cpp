//===- ManifestWriter.cpp - manifest to JSON ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionFields.h"
#include "BufferFields.h"
#include "CallAttributes.h"
#include "ManifestDefaults.h"
#include "tp/Runtime/Manifest.h"
#include <numeric>

using namespace tp::runtime;

namespace {

class Writer {
public:
  explicit Writer(const Manifest &manifest) : manifest(manifest) {}

  std::string write() {
    json.object([&] {
      json.member("version", Manifest::version);
      json.member("producer", manifest.producer);
      json.objectMember("target", [&] { writeTarget(); });
      json.objectMember("mesh", [&] { writeMesh(); });
      json.rows("arguments", manifest.arguments, [&](const Port &port) {
        json.object([&] { writePort(port, defaults::argumentKind); });
      });
      if (!manifest.joined.empty())
        json.rows(
            "joined", manifest.joined,
            [&](const std::vector<int64_t> &group) { json.value(group); });
      json.rows("groups", manifest.groups,
                [&](const RankGroup &group) { writeGroup(group); });
      json.rows("asserts", manifest.asserts,
                [&](const Assert &row) { writeAssert(row); });
      json.rows("entries", manifest.entries,
                [&](const Entry &entry) { writeEntry(entry); });
    });
    return json.take() + "\n";
  }

private:
  void writeTarget() {
    json.member("kind", spelling(manifest.target));
    std::visit(Overloaded{[&](const CpuTarget &target) {
                            json.memberUnless(std::string(), "triple",
                                              target.triple);
                            json.memberUnless(std::string(), "cpu", target.cpu);
                            if (target.features)
                              json.member("features", *target.features);
                          },
                          [&](const CudaTarget &target) {
                            json.member("chips", target.chips);
                          }},
               manifest.target);
  }

  void writeMesh() {
    json.key("axes");
    json.array([&] {
      for (const MeshAxis &axis : manifest.mesh.axes)
        json.object([&] {
          json.member("name", axis.name);
          json.member("size", axis.size);
        });
    });
    json.memberUnless({}, "device_order", manifest.mesh.deviceOrder);
  }

  /// "tp", or ["tp", major, size].
  void writePart(const AxisPart &part) {
    const Mesh &mesh = manifest.mesh;
    if (mesh.isWhole(part))
      return json.value(mesh.axes[part.axis].name);
    json.array([&] {
      json.value(mesh.axes[part.axis].name);
      json.value(mesh.major(part));
      json.value(part.size);
    });
  }

  void writeAxes(const AxisParts &parts) {
    json.key("axes");
    json.array([&] {
      for (const AxisPart &part : parts)
        writePart(part);
    });
  }

  void writeGroup(const RankGroup &group) {
    json.object([&] {
      json.member("id", group.id);
      writeAxes(group.axes);
    });
  }

  void writePlace(const std::string &module, const std::string &location) {
    json.memberUnless(std::string(), "module", module);
    json.memberUnless(std::string(), "location", location);
  }

  void writeAssert(const Assert &row) {
    json.object([&] {
      json.member("id", row.id);
      json.memberUnless(std::string(), "message", row.message);
      writePlace(row.module, row.location);
    });
  }

  /// Axes are named where they are not all, whole and in the mesh's order.
  void writeLayout(const PortLayout &layout) {
    PortLayout plain = replicatedLayout(manifest.mesh);
    if (layout == plain)
      return;
    bool named = layout.size() != plain.size();
    for (size_t i = 0; i < layout.size() && !named; ++i)
      named = layout[i].part != plain[i].part;
    json.key("layout");
    json.array([&] {
      for (const AxisPlacement &entry : layout)
        json.object([&] {
          if (named) {
            json.key("axis");
            writePart(entry.part);
          }
          std::visit(
              Overloaded{[](const Replicated &) {},
                         [&](const Sharded &shard) {
                           json.member("shard", shard.dim);
                           json.memberUnless(int64_t(1), "unit", shard.unit);
                           json.memberUnless({}, "segments", shard.segments);
                         },
                         [&](const Partial &partial) {
                           json.member("partial", spelling(partial.reduction));
                         }},
              entry.what);
        });
    });
  }

  void writeSource(const Port &port) {
    std::visit(
        Overloaded{[&](const WholeSource &source) {
                     if (source != defaultSource(port))
                       json.member("source_keys", source.sourceKeys);
                   },
                   [&](const JoinedSource &source) {
                     json.key("segments");
                     json.array([&] {
                       for (const SourceSegment &segment : source.segments)
                         json.object([&] {
                           json.member("source_keys", segment.sourceKeys);
                           json.member("shape", segment.shape);
                           json.member("offset", segment.offset);
                         });
                     });
                   }},
        port.source);
  }

  /// `arguments` are those that a result may update.
  void writePort(const Port &port, const char *kind,
                 const std::vector<Port> &arguments = {}) {
    json.member("name", port.name);
    json.memberUnless(std::string(kind), "kind", port.kind);
    json.member("shape", port.shape);
    json.member("dtype", spelling(port.dtype));
    if (port.roundedFrom)
      json.member("rounded_from", spelling(*port.roundedFrom));
    writeLayout(port.layout);
    writeSource(port);
    if (port.permutation != defaults::permutation(port.shape.size()))
      json.objectMember("storage",
                        [&] { json.member("permutation", port.permutation); });
    if (port.update) {
      json.member("updates", portName(arguments, port.update->argument));
      json.memberUnless(false, "in_place", port.update->inPlace);
      json.memberUnless(std::string(), "reason", port.update->reason);
      if (port.update->writtenBytes)
        json.member("written_bytes", *port.update->writtenBytes);
    }
    json.memberUnless(false, "dead", port.dead);
  }

  void writeEntry(const Entry &entry) {
    EntryView view(manifest, entry);
    json.object([&] {
      json.member("name", entry.name);
      json.rows("inputs", entry.inputs, [&](const Port &port) {
        json.object([&] { writePort(port, defaults::inputKind); });
      });
      if (entry.signature != defaults::signature(manifest, entry))
        json.member("signature", entry.signature);
      json.rows("results", entry.results, [&](const Port &port) {
        json.object(
            [&] { writePort(port, defaults::resultKind, view.arguments); });
      });
      int64_t position = 0;
      json.rows("collectives", entry.collectives, [&](const Collective &row) {
        writeCollective(row, position++);
      });
      json.objectMember("memory", [&] { writeMemory(entry.memory); });
      json.rows("program", entry.program,
                [&](const Command &command) { writeCommand(entry, command); });
      if (entry.endWaitsFor)
        json.member("end_waits_for", *entry.endWaitsFor);
      if (entry.agreeAt)
        json.member("agree_at", *entry.agreeAt);
      if (entry.part) {
        json.member("part_of", entry.part->of);
        json.memberUnless(int64_t(1), "times", entry.part->times);
      }
      if (!entry.carried.empty())
        json.rows("carried", entry.carried, [&](const CarriedValue &value) {
          json.object([&] {
            json.member("name", value.name);
            json.member("bytes", value.bytes);
          });
        });
    });
  }

  void writeCollective(const Collective &row, int64_t position) {
    json.object([&] {
      json.memberUnless(position, "id", row.id);
      json.member("kind", spelling(row.kind));
      json.member("group", manifest.groups[row.group].id);
      json.member("dtype", spelling(row.dtype));
      if (row.reduces())
        json.member("reduction", spelling(row.reduction));
      json.member("wire_bytes", row.wireBytes);
      json.memberUnless(row.wireBytes, "payload_bytes", row.payloadBytes);
      json.member("ring_bytes_per_rank", row.ringBytes);
      json.memberUnless(int64_t(1), "count", row.count);
      writePlace(row.module, row.location);
      json.memberUnless(std::string(), "reason", row.reason);
    });
  }

  void writeMemory(const MemoryPlan &memory) {
    json.member("arena_bytes", memory.arenaBytes);
    json.member("peak_live_bytes", memory.peakLiveBytes);
    json.member("weights_bytes", memory.weightsBytes);
    json.member("constants_bytes", memory.constantsBytes);
    json.member("scratch_bytes", memory.scratchBytes);
  }

  void writeCommand(const Entry &entry, const Command &command) {
    json.object([&] {
      std::visit(
          Overloaded{[&](const KernelCommand &kernel) { writeKernel(kernel); },
                     [&](const GemmCommand &gemm) { writeGemm(gemm); },
                     [&](const CollectiveCommand &collective) {
                       writeCollective(entry, collective);
                     },
                     [&](const AttentionCommand &attention) {
                       writeAttention(entry, attention);
                     },
                     [&](const AttentionBackwardCommand &attention) {
                       writeAttentionBackward(json, attention);
                     },
                     [&](const CallCommand &call) { writeCall(call); }},
          command.what);
      // That of a collective is in its row.
      if (!std::holds_alternative<CollectiveCommand>(command.what))
        writePlace(command.module, command.location);
      if (command.queue != Queue::Compute)
        json.member("queue", spelling(command.queue));
      if (command.waitFor)
        json.member("wait_for", *command.waitFor);
      json.memberUnless(false, "with_previous", command.withPrevious);
    });
  }

  void writeBuffer(std::string_view name, const BufferRef &buffer) {
    tp::runtime::writeBuffer(json, name, buffer);
  }

  void writeKernel(const KernelCommand &kernel) {
    json.member("command", "kernel");
    json.member("function", kernel.function);
    if (manifest.isCuda()) {
      writeSizes("grid", kernel.launch.grid);
      writeSizes("block", kernel.launch.block);
      json.memberUnless(int64_t(0), "shared_bytes", kernel.launch.sharedBytes);
      json.memberUnless(int64_t(0), "flops", kernel.launch.flops);
      json.memberUnless(int64_t(0), "bytes", kernel.launch.bytes);
    }
    json.key("buffers");
    json.array([&] {
      for (size_t i = 0; i < kernel.buffers.size(); ++i)
        json.object([&] {
          writeMembers(json, kernel.buffers[i]);
          if (manifest.isCuda())
            writeAccess(kernel.launch.accesses[i]);
        });
    });
  }

  template <size_t N>
  void writeSizes(std::string_view name, const std::array<int64_t, N> &sizes) {
    json.member(name, std::vector<int64_t>(sizes.begin(), sizes.end()));
  }

  void writeAccess(const BufferAccess &access) {
    if (access.bytes)
      json.member("bytes", *access.bytes);
    if (!access.reads || !access.writes)
      json.member("access", access.reads ? "read" : "write");
  }

  /// Of all ranks, or of every position along some axes.
  void writeSize(int64_t most, const std::optional<ShortenedK> &shortened) {
    if (!shortened)
      return json.value(most);
    json.object([&] {
      writeAxes(shortened->axes);
      json.member("sizes", shortened->sizes);
    });
  }

  void writeTensors(std::string_view name,
                    const std::vector<CallTensor> &tensors) {
    json.key(name);
    json.array([&] {
      for (const CallTensor &tensor : tensors)
        json.object([&] {
          writeBuffer("buffer", tensor.buffer);
          json.member("dtype", spelling(tensor.dtype));
          json.key("sizes");
          json.array([&] {
            for (const CallSize &size : tensor.sizes)
              writeSize(size.most, size.shortened);
          });
          json.member("strides", tensor.strides);
        });
    });
  }

  void writeOperand(std::string_view name, const GemmOperand &operand) {
    json.objectMember(name, [&] {
      writeBuffer("buffer", operand.buffer);
      json.member("ld", operand.ld);
      json.memberUnless(false, "transpose", operand.transpose);
      json.memberUnless({}, "batch_strides", operand.batchStrides);
    });
  }

  void writeGemm(const GemmCommand &gemm) {
    json.member("command", "gemm");
    json.member("dtype", gemm.tf32 ? "tf32" : spelling(gemm.dtype));
    if (gemm.bDtype != gemm.dtype)
      json.member("b_dtype", spelling(gemm.bDtype));
    if (gemm.cDtype != gemm.dtype)
      json.member("c_dtype", spelling(gemm.cDtype));
    json.member("m", gemm.m);
    json.member("n", gemm.n);
    json.key("k");
    writeSize(gemm.k, gemm.shortened);
    json.memberUnless(1.0, "alpha", gemm.alpha);
    json.memberUnless(0.0, "beta", gemm.beta);
    writeOperand("a", gemm.a);
    writeOperand("b", gemm.b);
    writeOperand("c", gemm.c);
    json.memberUnless({}, "batch", gemm.batch);
    if (gemm.residual)
      writeOperand("residual", *gemm.residual);
    if (gemm.bias)
      json.objectMember("bias", [&] { writeBuffer("buffer", *gemm.bias); });
    if (gemm.activation != Activation::None)
      json.member("activation", spelling(gemm.activation));
    writeChoosers(json, gemm);
  }

  void writeCall(const CallCommand &call) {
    json.member("command", "call");
    json.member("op", call.op);
    writeTensors("inputs", call.inputs);
    writeTensors("outputs", call.outputs);
    if (!call.attributes.empty())
      writeAttributes(json, call.attributes);
  }

  void writeCollective(const Entry &entry, const CollectiveCommand &command) {
    json.member("command", "collective");
    json.member("id", entry.collectives[command.collective].id);
    writeBuffer("input", command.input);
    writeBuffer("output", command.output);
    json.memberUnless(int64_t(1), "outer", command.outer);
    json.member("block", command.block);
    json.memberUnless({}, "sources", command.sources);
  }

  void writeAttention(const Entry &entry, const AttentionCommand &attention) {
    json.member("command", "attention");
    writeWeights(json, attention);
    if (attention.emptyRows != EmptyRows::None)
      json.member("empty_rows", spelling(attention.emptyRows));
    writeAttentionOperand(json, "o", attention.o);
    json.memberUnless(false, "partial", attention.isPartial);
    if (const auto &onto = attention.onto)
      json.objectMember("onto", [&] { writeBuffer("buffer", *onto); });
    json.memberUnless(int64_t(0), "flops", attention.flops);
    json.memberUnless(int64_t(0), "bytes", attention.bytes);
    json.rows("steps", attention.steps,
              [&](const Command &step) { writeCommand(entry, step); });
  }

  const Manifest &manifest;
  JsonWriter json;
};

} // namespace

std::string tp::runtime::writeManifest(const Manifest &manifest) {
  return Writer(manifest).write();
}
