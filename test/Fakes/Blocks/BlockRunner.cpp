//===- BlockRunner.cpp - GPU kernels on the host --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockRunner.h"
#include "SharedRaces.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

using namespace tp::fakes;

namespace {
constexpr int64_t warpSize = 32, mostThreads = 1024;
constexpr size_t stackBytes = 128 * 1024;
/// Bytes behind shared memory that show who writes there.
constexpr int64_t fenceBytes = 4096;
constexpr unsigned char fenceByte = 0xc5, nanByte = 0xff;

enum class State { Ready, Barrier, WarpBarrier, Shuffle, Done };

struct Fiber {
  void *stackPointer = nullptr;
  std::unique_ptr<char[]> stack;
  State state = State::Done;
  int64_t x = 0, y = 0, z = 0;
  /// Of the exchange or warp barrier it waits at.
  uint32_t mask = 0;
  const void *site = nullptr;
  uint32_t value = 0;
  int64_t source = 0;
};

struct Launch {
  HostKernel kernel = nullptr;
  void *const *params = nullptr;
  std::array<int64_t, 3> grid, block, at;
  std::vector<Fiber> fibers;
  Fiber *running = nullptr;
  void *schedulerStack = nullptr;
  SharedRaces races;
  AccessMeter *meter = nullptr;
  /// What a thread did that it may not do.
  std::string error;
};
Launch launch;
std::mutex oneAtATime;
} // namespace

// Shared memory of the block that runs, and the fence.
extern "C" alignas(256) unsigned char tp_shared[mostSharedBytes + fenceBytes];
alignas(256) unsigned char tp_shared[mostSharedBytes + fenceBytes];

// Keeps the callee-saved registers on the stack it leaves, in *from.
extern "C" void tp_block_switch(void **from, void *to);
asm(R"(
.text
.globl tp_block_switch
.type tp_block_switch, @function
tp_block_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tp_block_switch, .-tp_block_switch
)");

static void leave() {
  tp_block_switch(&launch.running->stackPointer, launch.schedulerStack);
}

static void threadMain() {
  launch.kernel(launch.params);
  launch.running->state = State::Done;
  leave();
  // Nothing resumes a thread that is done.
  std::abort();
}

static void start(Fiber &fiber) {
  if (!fiber.stack)
    fiber.stack.reset(new char[stackBytes]);
  auto top = reinterpret_cast<uintptr_t>(fiber.stack.get()) + stackBytes;
  auto *words = reinterpret_cast<void **>(top & ~uintptr_t(63));
  // As if called: the stack is 8 off a multiple of 16 at a function's entry.
  *--words = nullptr;
  *--words = reinterpret_cast<void *>(&threadMain);
  for (int i = 0; i < 6; ++i)
    *--words = nullptr;
  fiber.stackPointer = words;
  fiber.state = State::Ready;
}

static void resume(Fiber &fiber) {
  launch.running = &fiber;
  tp_block_switch(&launch.schedulerStack, fiber.stackPointer);
}

static const char *nameOf(State state) {
  switch (state) {
  case State::Barrier:
    return "waits at a barrier of the block";
  case State::WarpBarrier:
    return "waits at a barrier of its warp";
  case State::Shuffle:
    return "waits at an exchange with its warp";
  case State::Done:
    return "has ended";
  case State::Ready:
    break;
  }
  return "runs";
}

/// Lets go the threads of the warp from `first` that wait for each other and
/// are all there. True if there are any.
static bool releaseWarp(size_t first) {
  size_t end = std::min(launch.fibers.size(), first + warpSize);
  bool any = false;
  for (size_t i = first; i < end; ++i) {
    Fiber &fiber = launch.fibers[i];
    if (fiber.state != State::Shuffle && fiber.state != State::WarpBarrier)
      continue;
    bool complete = fiber.mask >> (i - first) & 1;
    for (size_t j = 0; j < warpSize; ++j) {
      if (!(fiber.mask >> j & 1))
        continue;
      if (first + j >= end) {
        complete = false;
        continue;
      }
      const Fiber &other = launch.fibers[first + j];
      complete &= other.state == fiber.state && other.mask == fiber.mask &&
                  other.site == fiber.site;
    }
    if (!complete)
      continue;
    uint32_t values[warpSize];
    for (size_t j = first; j < end; ++j)
      values[j - first] = launch.fibers[j].value;
    State state = fiber.state;
    uint32_t mask = fiber.mask;
    for (size_t j = first; j < end; ++j) {
      Fiber &member = launch.fibers[j];
      if (!(mask >> (j - first) & 1))
        continue;
      if (state == State::Shuffle)
        member.value = values[member.source];
      member.state = State::Ready;
    }
    if (state == State::WarpBarrier)
      launch.races.warpBarrier(int64_t(first) / warpSize);
    any = true;
  }
  return any;
}

static std::string where() {
  return "block (" + std::to_string(launch.at[0]) + ", " +
         std::to_string(launch.at[1]) + ", " + std::to_string(launch.at[2]) +
         "): ";
}

static std::string runBlock() {
  for (size_t i = 0; i < launch.fibers.size(); ++i) {
    Fiber &fiber = launch.fibers[i];
    fiber.x = int64_t(i) % launch.block[0];
    fiber.y = int64_t(i) / launch.block[0] % launch.block[1];
    fiber.z = int64_t(i) / (launch.block[0] * launch.block[1]);
    start(fiber);
  }
  while (true) {
    for (Fiber &fiber : launch.fibers)
      if (fiber.state == State::Ready)
        resume(fiber);
    if (!launch.error.empty())
      return where() + launch.error;
    bool any = false;
    for (size_t first = 0; first < launch.fibers.size(); first += warpSize)
      any |= releaseWarp(first);
    if (any)
      continue;
    auto isAt = [](State state) {
      return [state](const Fiber &fiber) { return fiber.state == state; };
    };
    if (std::all_of(launch.fibers.begin(), launch.fibers.end(),
                    isAt(State::Done)))
      return "";
    bool together = std::all_of(
        launch.fibers.begin(), launch.fibers.end(), [](const Fiber &fiber) {
          return fiber.state == State::Barrier &&
                 fiber.site == launch.fibers.front().site;
        });
    if (!together)
      break;
    launch.races.barrier();
    for (Fiber &fiber : launch.fibers)
      fiber.state = State::Ready;
  }
  // Name one that waits and one that it waits for in vain.
  size_t waiting = 0;
  while (launch.fibers[waiting].state == State::Done)
    ++waiting;
  size_t other = 0;
  while (other + 1 < launch.fibers.size() &&
         (other == waiting ||
          (launch.fibers[other].state == launch.fibers[waiting].state &&
           launch.fibers[other].site == launch.fibers[waiting].site)))
    ++other;
  return where() + "thread " + std::to_string(waiting) + " " +
         nameOf(launch.fibers[waiting].state) + " that thread " +
         std::to_string(other) + " does not reach: it " +
         nameOf(launch.fibers[other].state);
}

static std::string checkLaunch(std::array<int64_t, 3> grid,
                               std::array<int64_t, 3> block,
                               int64_t sharedBytes) {
  int64_t threads = block[0] * block[1] * block[2];
  for (int i = 0; i < 3; ++i)
    if (grid[i] < 1 || block[i] < 1 || grid[i] > INT32_MAX ||
        (i && grid[i] > 65535))
      return "no device takes this grid or block";
  if (threads > mostThreads)
    return "a block has at most 1024 threads, got " + std::to_string(threads);
  if (sharedBytes < 0 || sharedBytes > mostSharedBytes)
    return "a block has at most " + std::to_string(mostSharedBytes) +
           " bytes of shared memory, got " + std::to_string(sharedBytes);
  return "";
}

std::string tp::fakes::runBlocks(HostKernel kernel, void *const *params,
                                 std::array<int64_t, 3> grid,
                                 std::array<int64_t, 3> block,
                                 int64_t sharedBytes,
                                 const std::vector<int64_t> &numbers,
                                 AccessMeter *meter) {
  std::lock_guard<std::mutex> lock(oneAtATime);
  if (std::string error = checkLaunch(grid, block, sharedBytes); !error.empty())
    return error;
  int64_t threads = block[0] * block[1] * block[2];
  launch.kernel = kernel;
  launch.params = params;
  launch.grid = grid;
  launch.block = block;
  launch.fibers.resize(threads);
  launch.meter = meter;
  for (int64_t number : numbers) {
    launch.at = {number % grid[0], number / grid[0] % grid[1],
                 number / (grid[0] * grid[1])};
    launch.error.clear();
    launch.races.begin(threads, sharedBytes);
    std::memset(tp_shared, nanByte, sharedBytes);
    std::memset(tp_shared + sharedBytes, fenceByte, fenceBytes);
    if (std::string error = runBlock(); !error.empty())
      return error;
    if (meter)
      meter->end();
    for (int64_t i = 0; i < fenceBytes; ++i)
      if (tp_shared[sharedBytes + i] != fenceByte)
        return where() + "writes byte " + std::to_string(sharedBytes + i) +
               " of shared memory, which has " + std::to_string(sharedBytes);
  }
  return "";
}

std::string tp::fakes::runKernel(HostKernel kernel, void *const *params,
                                 std::array<int64_t, 3> grid,
                                 std::array<int64_t, 3> block,
                                 int64_t sharedBytes) {
  if (std::string error = checkLaunch(grid, block, sharedBytes); !error.empty())
    return error;
  // From the middle on, in steps that come by every block once.
  int64_t count = grid[0] * grid[1] * grid[2], step = count / 3 + 1;
  while (std::gcd(step, count) != 1)
    ++step;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back((count / 2 + i * step) % count);
  return runBlocks(kernel, params, grid, block, sharedBytes, numbers,
                   /*meter=*/nullptr);
}

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

static int32_t lane() {
  return int32_t((launch.running - launch.fibers.data()) % warpSize);
}

/// `source` is the lane to read from, itself where that is none.
static uint32_t shuffle(uint32_t mask, uint32_t value, int32_t source,
                        bool inRange, const void *site) {
  Fiber &fiber = *launch.running;
  fiber.state = State::Shuffle;
  fiber.mask = mask;
  fiber.value = value;
  fiber.source = inRange ? source : lane();
  fiber.site = site;
  leave();
  return fiber.value;
}

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void tp_block_shared_access(const void *address, uint32_t bytes,
                            uint32_t isWrite) {
  // What lies beyond shared memory is left to the fence.
  int64_t thread = launch.running - launch.fibers.data();
  std::string error = launch.races.access(
      thread, static_cast<const unsigned char *>(address) - tp_shared, bytes,
      isWrite != 0);
  if (launch.error.empty())
    launch.error = error;
}

void tp_block_global_access(const void *address, uint32_t bytes,
                            uint32_t isWrite) {
  if (launch.meter)
    launch.meter->access(
        __builtin_return_address(0), launch.running - launch.fibers.data(),
        reinterpret_cast<uintptr_t>(address), bytes, isWrite != 0);
}

int32_t tp_block_read_ptx_sreg_tid_x() { return launch.running->x; }
int32_t tp_block_read_ptx_sreg_tid_y() { return launch.running->y; }
int32_t tp_block_read_ptx_sreg_tid_z() { return launch.running->z; }
int32_t tp_block_read_ptx_sreg_ntid_x() { return launch.block[0]; }
int32_t tp_block_read_ptx_sreg_ctaid_x() { return launch.at[0]; }
int32_t tp_block_read_ptx_sreg_ctaid_y() { return launch.at[1]; }
int32_t tp_block_read_ptx_sreg_ctaid_z() { return launch.at[2]; }
int32_t tp_block_read_ptx_sreg_nctaid_x() { return launch.grid[0]; }

void tp_block_barrier_cta_sync_aligned_all(int32_t) {
  launch.running->state = State::Barrier;
  launch.running->site = __builtin_return_address(0);
  leave();
}

void tp_block_bar_warp_sync(uint32_t mask) {
  launch.running->state = State::WarpBarrier;
  launch.running->mask = mask;
  launch.running->site = __builtin_return_address(0);
  leave();
}

/// As PTX says of shfl.sync: `control` holds the mask of a segment above the
/// largest lane.
uint32_t tp_block_shfl_sync_bfly_i32(uint32_t mask, uint32_t value,
                                     uint32_t distance, uint32_t control) {
  int32_t source = lane() ^ int32_t(distance & 31);
  int32_t segment = int32_t(control >> 8 & 31);
  int32_t most = (lane() & segment) | (int32_t(control & 31) & ~segment);
  return shuffle(mask, value, source, source <= most,
                 __builtin_return_address(0));
}

uint32_t tp_block_shfl_sync_idx_i32(uint32_t mask, uint32_t value,
                                    uint32_t index, uint32_t control) {
  int32_t segment = int32_t(control >> 8 & 31);
  int32_t least = lane() & segment;
  int32_t most = least | (int32_t(control & 31) & ~segment);
  int32_t source = least | (int32_t(index & 31) & ~segment);
  return shuffle(mask, value, source, source <= most,
                 __builtin_return_address(0));
}
}
// NOLINTEND(readability-identifier-naming)
