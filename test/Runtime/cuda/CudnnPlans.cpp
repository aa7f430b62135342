//===- CudnnPlans.cpp - what a real cuDNN says to tp's attentions ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For scripts/check-cudnn.sh. cuDNN makes plans without a device when it is
// told the device's properties.
//
//===----------------------------------------------------------------------===//

#include "cuda/Attention/AttentionPlan.h"
#include "tp/Runtime/Artifact.h"
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

/// As cuDNN 9.19 and 9.28 read them; sizes of the A100, the H200 and the B200.
std::string propertiesOf(int chip) {
  struct {
    const char *name;
    int processors, clock, memoryClock, busWidth;
    int64_t cache, shared, memory;
  } device =
      chip == 80 ? decltype(device){"NVIDIA A100-SXM4-80GB",
                                    108,
                                    1410000,
                                    1593000,
                                    5120,
                                    41943040,
                                    166912,
                                    85899345920}
      : chip == 90
          ? decltype(device){"NVIDIA H200", 132,      1980000, 2619000,
                             6144,          62914560, 232448,  150000000000}
          : decltype(device){"NVIDIA B200", 148,       1965000, 3996000,
                             8192,          132644864, 232448,  190000000000};
  return nlohmann::json({{"deviceVer", 10 * chip},
                         {"deviceName", device.name},
                         {"multiProcessorCount", device.processors},
                         // New in 9.28.
                         {"smCountOrigin", 0},
                         {"oversizedSharedMemoryPerBlock", 0},
                         {"memoryBusWidth", device.busWidth},
                         {"smClockRateKHz", device.clock},
                         {"memClockRateKHz", device.memoryClock},
                         {"l2CacheSize", device.cache},
                         {"maxSharedMemoryPerBlockOptin", device.shared},
                         {"totalGlobalMem", device.memory},
                         {"maxGridSize", {2147483647, 65535, 65535}},
                         {"maxBlockSize", {1024, 1024, 64}},
                         {"driverVer", 13000},
                         {"cudaDeviceId", 0},
                         {"regsPerBlock", 65536},
                         {"warpSize", 32},
                         {"maxSharedMemoryPerBlock", 49152},
                         {"reservedSharedMemoryPerBlock", 1024},
                         {"maxRegistersPerSM", 65536},
                         {"pciDeviceId", 0},
                         {"maxCtasPerSM", 32},
                         {"maxThreadsPerBlock", 1024},
                         {"maxThreadsPerSM", 2048},
                         {"isTccDriver", 0},
                         {"supportCoopLaunch", 1}})
      .dump();
}

struct Form {
  const char *name;
  int64_t heads, kvHeads, queries, keys, headSize, valueSize;
  std::optional<int64_t> lower, upper;
  std::optional<DataType> biasDtype = {};
  /// Which of batch, head and query a bias has.
  std::array<bool, 3> biased = {false, false, false};
  DataType dtype = DataType::BF16;
  int64_t batch = 1;

  Form withBias(DataType type, std::array<bool, 3> over) const {
    Form made = *this;
    made.biasDtype = type;
    made.biased = over;
    return made;
  }
  Form of(DataType type) const {
    Form made = *this;
    made.dtype = type;
    return made;
  }
  Form batches(int64_t count) const {
    Form made = *this;
    made.batch = count;
    return made;
  }
};

constexpr std::nullopt_t none = std::nullopt;
const Form forms[] = {
    {"Llama 3 8B, one rank of 8", 4, 1, 4096, 4096, 128, 128, none, 0},
    {"Llama 3 70B, one rank of 8", 8, 1, 4096, 4096, 128, 128, none, 0},
    {"GPT-2", 12, 12, 1024, 1024, 64, 64, none, 0},
    Form{"BERT", 12, 12, 512, 512, 64, 64, none, none}
        .withBias(DataType::BF16, {true, false, false})
        .batches(8),
    Form{"f16", 8, 8, 512, 512, 64, 64, none, none}.of(DataType::F16),
    Form{"causal f16", 8, 8, 512, 512, 64, 64, none, 0}.of(DataType::F16),
    {"the last queries", 8, 2, 128, 512, 128, 128, none, 384},
    {"a diagonal in between", 8, 8, 128, 512, 64, 64, none, 100},
    {"more queries than keys", 8, 8, 512, 128, 64, 64, none, 0},
    {"window", 8, 8, 512, 512, 64, 64, -63, none},
    {"causal window", 8, 2, 2048, 2048, 128, 128, -1023, 0},
    {"window of the last queries", 8, 8, 128, 512, 64, 64, 321, 384},
    {"one query", 32, 8, 1, 777, 128, 128, none, none},
    Form{"odd sizes", 3, 1, 50, 37, 64, 64, none, 0}.batches(2),
    {"tiny", 2, 1, 3, 5, 16, 16, none, none},
    {"one key", 2, 2, 3, 1, 16, 16, none, none},
    {"head size 8", 4, 4, 64, 64, 8, 8, none, 0},
    {"head size 72", 4, 4, 300, 300, 72, 72, none, 0},
    {"head size 80", 4, 4, 300, 300, 80, 80, none, 0},
    {"head size 96", 4, 4, 300, 300, 96, 96, none, 0},
    {"head sizes 192 and 128", 4, 4, 300, 300, 192, 128, none, 0},
    {"head size 256", 4, 4, 300, 300, 256, 256, none, 0},
    Form{"bias of everything", 8, 8, 128, 256, 64, 64, none, none}
        .withBias(DataType::BF16, {true, true, true})
        .batches(2),
    Form{"bias of everything, f32", 8, 8, 128, 256, 64, 64, none, none}
        .withBias(DataType::F32, {true, true, true})
        .batches(2),
    Form{"bias of queries and keys", 8, 8, 128, 256, 64, 64, none, none}
        .withBias(DataType::F32, {false, false, true}),
    Form{"bias of heads", 8, 8, 128, 256, 64, 64, none, none}.withBias(
        DataType::BF16, {false, true, true}),
    Form{"bias of keys, odd", 3, 3, 50, 37, 64, 64, none, none}
        .withBias(DataType::F32, {true, false, false})
        .batches(2),
    Form{"bias and causal", 8, 8, 256, 256, 64, 64, none, 0}.withBias(
        DataType::BF16, {false, false, true}),
    Form{"bias and causal window", 8, 8, 256, 256, 64, 64, -31, 0}.withBias(
        DataType::BF16, {false, false, true}),
};

AttentionCommand commandOf(const Form &form) {
  AttentionCommand made;
  made.dtype = form.dtype;
  made.batch = form.batch;
  made.heads = form.heads, made.kvHeads = form.kvHeads;
  made.queries = form.queries, made.keys = form.keys;
  made.headSize = form.headSize, made.valueSize = form.valueSize;
  made.scale = 0.125;
  made.lower = form.lower, made.upper = form.upper;
  auto layOut = [](AttentionOperand &operand, int64_t heads, int64_t rows,
                   int64_t columns) {
    operand.strides = {heads * rows * columns, columns, heads * columns};
  };
  layOut(made.q, form.heads, form.queries, form.headSize);
  layOut(made.k, form.kvHeads, form.keys, form.headSize);
  layOut(made.v, form.kvHeads, form.keys, form.valueSize);
  layOut(made.o, form.heads, form.queries, form.valueSize);
  if (form.biasDtype) {
    made.bias.emplace();
    made.bias->dtype = *form.biasDtype;
    int64_t sizes[] = {form.batch, form.heads, form.queries};
    int64_t stride = form.keys;
    for (size_t d = 3; d-- > 0;)
      if (form.biased[d]) {
        made.bias->strides[d] = stride;
        stride *= sizes[d];
      }
    made.bias->strides[3] = 1;
  }
  return made;
}

/// Asks for plans of one attention for all chips; how many there are not.
int ask(const Cudnn &library, const std::string &name,
        const AttentionCommand &command, const AttentionAddresses &addresses) {
  std::string reason =
      reasonAgainstCudnn(command, addresses, library.version());
  if (!reason.empty()) {
    std::printf("%-28s not asked: %s\n", name.c_str(), reason.c_str());
    return 1;
  }
  int refused = 0;
  for (int chip : {80, 90, 100}) {
    std::unique_ptr<AttentionPlan> plan;
    Status status = AttentionPlan::create(
        library, /*handle=*/nullptr, propertiesOf(chip), command, plan, reason);
    std::printf("%-28s sm_%-4d", name.c_str(), chip);
    if (plan)
      std::printf("plan, workspace of %lld bytes\n",
                  static_cast<long long>(plan->workspaceBytes()));
    else
      std::printf("none: %s\n",
                  status.ok() ? reason.c_str() : status.message().c_str());
    std::fflush(stdout);
    refused += !plan;
  }
  return refused;
}

/// Those of an artifact, each form once. Spaces of a rank's memory begin
/// aligned, so that offsets tell how addresses are.
int askForArtifact(const Cudnn &library, const char *path) {
  std::unique_ptr<Artifact> artifact;
  if (Status status = Artifact::open(path, artifact); !status.ok()) {
    std::printf("%s\n", status.message().c_str());
    return 1;
  }
  int refused = 0;
  std::set<std::string> seen;
  artifact->entry().forEachCommand([&](const Command &command, int64_t) {
    const auto *attention = std::get_if<AttentionCommand>(&command.what);
    if (!attention || !seen.insert(formOf(*attention)).second)
      return;
    auto at = [](const BufferRef &buffer) {
      constexpr CUdeviceptr space = 4096;
      return space + CUdeviceptr(buffer.offset);
    };
    refused += ask(library, command.module + " " + command.location, *attention,
                   {at(attention->q.buffer), at(attention->k.buffer),
                    at(attention->v.buffer), at(attention->o.buffer),
                    attention->bias ? at(attention->bias->buffer) : 0});
  });
  return refused;
}

} // namespace

int main(int argc, char **argv) {
  std::unique_ptr<Cudnn> library;
  if (Status status = Cudnn::open(library); !status.ok()) {
    std::printf("skipped: %s\n", status.message().c_str());
    return 0;
  }
  std::printf("cuDNN %zu\n", library->version());
  int refused = 0;
  for (int i = 1; i < argc; ++i)
    refused += askForArtifact(*library, argv[i]);
  for (const Form &form : forms)
    if (argc == 1)
      refused += ask(*library, form.name, commandOf(form), {});
  return refused ? 1 : 0;
}
