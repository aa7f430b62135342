//===- run-kernels.cpp - a program's GPU kernels on the host --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   tp-run-kernels KERNELS.so LAUNCHES ARGUMENT.npy... -- RESULT=BYTES...
//
// KERNELS.so and LAUNCHES are what tp-cuda-compile writes as `host` and prints
// as `launches`, of a program of kernels alone without constants. Results are
// written as plain elements. Prints the status that a failed check left.
//
//   tp-run-kernels --accesses KERNELS.so LAUNCHES
//
// runs some blocks of every kernel on zeros, of any program whose kernels tell
// of their accesses, and prints what their warps load and store.
//
//===----------------------------------------------------------------------===//

#include "Blocks/BlockRunner.h"
#include "tp/Runtime/Kernel.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>

using namespace llvm;

namespace {
/// Memory that begins at multiples of 256 bytes and is full of NaN.
struct Block {
  explicit Block(int64_t bytes)
      : bytes(bytes), data(static_cast<char *>(
                          std::aligned_alloc(256, alignTo(bytes + 1, 256)))) {
    std::memset(data, 0xff, alignTo(bytes + 1, 256));
  }
  int64_t bytes;
  char *data;
};
} // namespace

[[noreturn]] static void fail(const Twine &message) {
  errs() << "tp-run-kernels: error: " << message << "\n";
  std::exit(1);
}

static std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    fail("cannot read " + path);
  return (*buffer)->getBuffer().str();
}

namespace {
/// The kernels of a program and what is in memory.
struct Device {
  void *library = nullptr;
  std::vector<json::Value> launches;
  std::vector<Block> arguments, results;
  std::unique_ptr<Block> arena, scratch;
  int32_t status = 0;
  tp_kernel_context context = {};

  void load(const char *kernels, const char *file);
  std::vector<void *> pointersOf(const json::Object &launch);
};

struct Launch {
  StringRef name;
  tp::fakes::HostKernel kernel;
  std::array<int64_t, 3> grid, block;
  int64_t sharedBytes;
};
} // namespace

void Device::load(const char *kernels, const char *file) {
  library = dlopen(kernels, RTLD_NOW);
  if (!library)
    fail(dlerror());
  int64_t arenaBytes = 0, scratchBytes = 0;
  SmallVector<StringRef> lines;
  std::string text = readFile(file);
  StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto value = json::parse(line);
    if (!value)
      fail("LAUNCHES: " + toString(value.takeError()));
    launches.push_back(*value);
    const json::Object &launch = *value->getAsObject();
    scratchBytes = std::max(scratchBytes, *launch.getInteger("scratch_bytes"));
    for (const json::Value &buffer : *launch.getArray("buffers"))
      if (*buffer.getAsObject()->getString("space") == "arena")
        arenaBytes = std::max(arenaBytes,
                              *buffer.getAsObject()->getInteger("offset") +
                                  *buffer.getAsObject()->getInteger("bytes"));
  }
  arena = std::make_unique<Block>(arenaBytes);
  scratch = std::make_unique<Block>(scratchBytes);
  context.status = &status;
  context.scratch = scratch->data;
}

std::vector<void *> Device::pointersOf(const json::Object &launch) {
  std::vector<void *> pointers;
  for (const json::Value &entry : *launch.getArray("buffers")) {
    const json::Object &buffer = *entry.getAsObject();
    StringRef space = *buffer.getString("space");
    int64_t offset = *buffer.getInteger("offset");
    std::vector<Block> *blocks = space == "argument" ? &arguments
                                 : space == "result" ? &results
                                                     : nullptr;
    if (!blocks && space != "arena")
      fail("a buffer in " + space);
    size_t index = blocks ? *buffer.getInteger("index") : 0;
    if (blocks && (index >= blocks->size() ||
                   (*blocks)[index].bytes < *buffer.getInteger("bytes")))
      fail(space + " " + Twine(index) + " is missing or too small");
    pointers.push_back((blocks ? (*blocks)[index].data : arena->data) + offset);
  }
  pointers.push_back(&context);
  return pointers;
}

static Launch launchOf(const Device &device, const json::Object &launch) {
  Launch result;
  result.name = *launch.getString("function");
  result.kernel = reinterpret_cast<tp::fakes::HostKernel>(
      dlsym(device.library, result.name.str().c_str()));
  if (!result.kernel)
    fail(dlerror());
  auto triple = [&](StringRef key) {
    const json::Array &sizes = *launch.getArray(key);
    return std::array<int64_t, 3>{*sizes[0].getAsInteger(),
                                  *sizes[1].getAsInteger(),
                                  *sizes[2].getAsInteger()};
  };
  result.grid = triple("grid");
  result.block = triple("block");
  result.sharedBytes = *launch.getInteger("shared_bytes");
  return result;
}

/// Addresses of addresses, as a launch takes them.
static std::vector<void *> paramsOf(std::vector<void *> &pointers) {
  std::vector<void *> params;
  for (void *&pointer : pointers)
    params.push_back(&pointer);
  return params;
}

/// Every buffer becomes room of its size that holds zeros and takes no memory
/// until it is written.
static int measureAccesses(const char *kernels, const char *file) {
  Device device;
  device.load(kernels, file);
  DenseSet<StringRef> seen;
  for (const json::Value &value : device.launches) {
    const json::Object &object = *value.getAsObject();
    Launch launch = launchOf(device, object);
    if (!seen.insert(launch.name).second)
      continue;
    std::vector<std::pair<void *, size_t>> mapped;
    std::vector<void *> pointers;
    auto room = [&](int64_t bytes) {
      void *data = mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (data == MAP_FAILED)
        fail("no room for a buffer");
      mapped.push_back({data, bytes + 1});
      return data;
    };
    for (const json::Value &buffer : *object.getArray("buffers"))
      pointers.push_back(room(*buffer.getAsObject()->getInteger("bytes")));
    device.context.scratch = room(*object.getInteger("scratch_bytes"));
    pointers.push_back(&device.context);
    std::vector<void *> params = paramsOf(pointers);
    int64_t last = launch.grid[0] - 1;
    std::vector<int64_t> numbers = {0, last / 3, last * 2 / 3, last};
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    tp::fakes::AccessMeter meter;
    std::string error =
        tp::fakes::runBlocks(launch.kernel, params.data(), launch.grid,
                             launch.block, launch.sharedBytes, numbers, &meter);
    if (!error.empty())
      fail(launch.name + ", " + error);
    auto counts = [](const tp::fakes::AccessCount &count) {
      return json::Object{{"requests", count.requests},
                          {"bytes", count.bytes},
                          {"sectors", count.sectors},
                          {"least_sectors", count.leastSectors}};
    };
    json::Object line{
        {"function", launch.name},      {"grid", launch.grid[0]},
        {"block", launch.block[0]},     {"bytes", *object.getInteger("bytes")},
        {"loads", counts(meter.loads)}, {"stores", counts(meter.stores)}};
    outs() << json::Value(std::move(line)) << "\n";
    for (auto [data, bytes] : mapped)
      munmap(data, bytes);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && StringRef(argv[1]) == "--accesses")
    return measureAccesses(argv[2], argv[3]);
  if (argc < 3)
    fail("expected KERNELS.so LAUNCHES ARGUMENT.npy... -- RESULT=BYTES...");
  Device device;
  device.load(argv[1], argv[2]);
  std::vector<StringRef> outputs;
  int i = 3;
  for (; i < argc && StringRef(argv[i]) != "--"; ++i) {
    std::string file = readFile(argv[i]);
    uint16_t header;
    std::memcpy(&header, file.data() + 8, sizeof(header));
    device.arguments.emplace_back(file.size() - 10 - header);
    std::memcpy(device.arguments.back().data, file.data() + 10 + header,
                device.arguments.back().bytes);
  }
  for (++i; i < argc; ++i) {
    auto [path, size] = StringRef(argv[i]).rsplit('=');
    int64_t bytes;
    if (size.getAsInteger(10, bytes))
      fail("expected RESULT=BYTES");
    outputs.push_back(path);
    device.results.emplace_back(bytes);
  }
  for (const json::Value &value : device.launches) {
    Launch launch = launchOf(device, *value.getAsObject());
    std::vector<void *> pointers = device.pointersOf(*value.getAsObject());
    std::vector<void *> params = paramsOf(pointers);
    std::string error =
        tp::fakes::runKernel(launch.kernel, params.data(), launch.grid,
                             launch.block, launch.sharedBytes);
    if (!error.empty())
      fail(launch.name + ", " + error);
  }
  for (auto [path, block] : zip_equal(outputs, device.results)) {
    std::error_code error;
    raw_fd_ostream file(path, error);
    if (error)
      fail("cannot write " + path);
    file.write(block.data, block.bytes);
  }
  outs() << "status " << device.status << "\n";
  return 0;
}
