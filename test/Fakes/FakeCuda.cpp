//===- FakeCuda.cpp - a libcuda whose device is the host ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeMemory.h"
#include "FakeQueues.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

using namespace tp::fake;

extern thread_local int tpFakeOrdinal;

thread_local Fault tp::fake::fault;

namespace {

bool initialized = false;
thread_local CUcontext current = nullptr;
std::set<void *> handles;
std::set<CUstream> streams;

Graph *capturing = nullptr;

} // namespace

CUresult tp::fake::enter(const char *function, Needs needs,
                         bool duringCapture) {
  fault = faultOf(function);
  if (fault.kind == Fault::Code)
    return fault.code;
  if (needs >= Driver && !initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (needs >= Context && !current)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (needs >= Context && stickyError() != CUDA_SUCCESS)
    return stickyError();
  if (capturing && !duringCapture) {
    capturing->broken = true;
    complain(std::string(function) + " while a stream is captured");
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

namespace {

template <typename T> bool known(T *handle) {
  return handle && handles.count(handle);
}

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

CUresult outside(const char *function) {
  complain(std::string(function) + " leaves its memory");
  return CUDA_ERROR_INVALID_VALUE;
}

} // namespace

#define NEEDS_HANDLE(HANDLE)                                                   \
  if (!known(HANDLE))                                                          \
    return CUDA_ERROR_INVALID_HANDLE;

extern "C" {

TP_FAKE CUresult cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
#define NAME(CODE)                                                             \
  case CODE:                                                                   \
    *name = #CODE;                                                             \
    return CUDA_SUCCESS;
    NAME(CUDA_ERROR_INVALID_VALUE)
    NAME(CUDA_ERROR_OUT_OF_MEMORY)
    NAME(CUDA_ERROR_NOT_INITIALIZED)
    NAME(CUDA_ERROR_NO_DEVICE)
    NAME(CUDA_ERROR_INVALID_DEVICE)
    NAME(CUDA_ERROR_INVALID_IMAGE)
    NAME(CUDA_ERROR_INVALID_CONTEXT)
    NAME(CUDA_ERROR_INVALID_PTX)
    NAME(CUDA_ERROR_INVALID_HANDLE)
    NAME(CUDA_ERROR_NOT_FOUND)
    NAME(CUDA_ERROR_NOT_READY)
    NAME(CUDA_ERROR_ILLEGAL_ADDRESS)
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    NAME(CUDA_ERROR_LAUNCH_FAILED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    NAME(CUDA_ERROR_CAPTURED_EVENT)
#undef NAME
  }
  return CUDA_ERROR_INVALID_VALUE;
}

TP_FAKE CUresult cuInit(unsigned) {
  ENTER("cuInit", Nothing)
  initialized = true;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGetCount(int *count) {
  ENTER("cuDeviceGetCount", Driver)
  const char *wish = std::getenv("TP_FAKE_DEVICES");
  *count = wish ? std::atoi(wish) : 8;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  tpFakeOrdinal = ordinal;
  ENTER("cuDeviceGet", Driver)
  *device = 100 + ordinal;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  ENTER("cuDeviceGetName", Driver)
  std::strncpy(name, "fake", size);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  ENTER("cuDeviceGetAttribute", Driver)
  if (attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
      attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    return CUDA_ERROR_INVALID_VALUE;
  // A chip of this number, as far as the choice of code goes.
  const char *wish = std::getenv("TP_FAKE_CHIP");
  int chip = wish ? std::atoi(wish) : 0;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
               ? chip / 10
               : chip % 10;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain", Driver)
  *context = reinterpret_cast<CUcontext>(uintptr_t(device));
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  ENTER("cuDevicePrimaryCtxRelease", Driver)
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent", Driver)
  current = context;
  return CUDA_SUCCESS;
}

TP_FAKE CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER("cuMemGetInfo", Context)
  *free = freeMemory();
  *total = totalMemory();
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  ENTER("cuMemAlloc", Context, false)
  return allocate(address, bytes);
}
TP_FAKE CUresult cuMemFree_v2(CUdeviceptr address) {
  ENTER("cuMemFree", Context, false)
  return release(address);
}
TP_FAKE CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc", Context, false)
  *memory = std::calloc(1, bytes);
  return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
TP_FAKE CUresult cuMemFreeHost(void *memory) {
  ENTER("cuMemFreeHost", Context, false)
  std::free(memory);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *seen, void *memory,
                                              unsigned) {
  ENTER("cuMemHostGetDevicePointer", Context)
  *seen = CUdeviceptr(memory);
  return CUDA_SUCCESS;
}

TP_FAKE CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                      size_t bytes, CUstream stream) {
  ENTER("cuMemcpyHtoDAsync", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(to, bytes))
    return outside("cuMemcpyHtoDAsync");
  return queueNow(stream, "a copy to the device", fault, [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  });
}
TP_FAKE CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                      CUstream stream) {
  ENTER("cuMemcpyDtoHAsync", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(from, bytes))
    return outside("cuMemcpyDtoHAsync");
  return queueNow(stream, "a copy to the host", fault, [=] {
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  });
}
TP_FAKE CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                      size_t bytes, CUstream stream) {
  ENTER("cuMemcpyDtoDAsync", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(from, bytes) || !isMemory(to, bytes))
    return outside("cuMemcpyDtoDAsync");
  return queueNow(stream, "a copy", fault, [=] {
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
                 bytes);
  });
}
TP_FAKE CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy,
                                    CUstream stream) {
  ENTER("cuMemcpy2DAsync", Context)
  NEEDS_HANDLE(stream)
  CUDA_MEMCPY2D c = *copy;
  auto extent = [&](size_t pitch) {
    return c.Height ? (c.Height - 1) * pitch + c.WidthInBytes : 0;
  };
  if (c.srcMemoryType != CU_MEMORYTYPE_DEVICE ||
      c.dstMemoryType != CU_MEMORYTYPE_DEVICE || c.srcPitch < c.WidthInBytes ||
      c.dstPitch < c.WidthInBytes || c.srcXInBytes || c.dstXInBytes || c.srcY ||
      c.dstY)
    return CUDA_ERROR_INVALID_VALUE;
  if (!isMemory(c.srcDevice, extent(c.srcPitch)) ||
      !isMemory(c.dstDevice, extent(c.dstPitch)))
    return outside("cuMemcpy2DAsync");
  return queueNow(stream, "a copy of rows", fault, [=] {
    for (size_t y = 0; y < c.Height; ++y)
      std::memcpy(reinterpret_cast<char *>(c.dstDevice) + y * c.dstPitch,
                  reinterpret_cast<char *>(c.srcDevice) + y * c.srcPitch,
                  c.WidthInBytes);
  });
}
TP_FAKE CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch,
                                   unsigned char value, size_t width,
                                   size_t height, CUstream stream) {
  ENTER("cuMemsetD2D8Async", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(to, height ? (height - 1) * pitch + width : 0))
    return outside("cuMemsetD2D8Async");
  return queueNow(stream, "a fill", fault, [=] {
    for (size_t y = 0; y < height; ++y)
      std::memset(reinterpret_cast<char *>(to) + y * pitch, value, width);
  });
}
TP_FAKE CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                 size_t bytes, CUstream stream) {
  ENTER("cuMemsetD8Async", Context)
  NEEDS_HANDLE(stream)
  if (!isMemory(to, bytes))
    return outside("cuMemsetD8Async");
  return queueNow(stream, "a fill", fault, [=] {
    std::memset(reinterpret_cast<void *>(to), value, bytes);
  });
}

TP_FAKE CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  ENTER("cuStreamCreate", Context)
  static int numbers = 0;
  if (flags != CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;
  *stream = new CUstream_st;
  (*stream)->number = numbers++;
  handles.insert(*stream);
  streams.insert(*stream);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamDestroy_v2(CUstream stream) {
  ENTER("cuStreamDestroy", Context)
  NEEDS_HANDLE(stream)
  handles.erase(stream);
  streams.erase(stream);
  delete stream;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamQuery(CUstream stream) {
  ENTER("cuStreamQuery", Context, false)
  NEEDS_HANDLE(stream)
  pump();
  if (stickyError() != CUDA_SUCCESS)
    return stickyError();
  return finished(stream->tail) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
TP_FAKE CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  ENTER("cuStreamWaitEvent", Context)
  NEEDS_HANDLE(stream)
  NEEDS_HANDLE(event)
  if (!event->node)
    return CUDA_SUCCESS;
  if (event->capture != stream->capture) {
    // A stream joins the capture that it waits for.
    if (stream->capture || !event->capture || event->capture != capturing) {
      complain("a captured stream waits for an event from outside");
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    stream->capture = event->capture;
    stream->outside = std::exchange(stream->tail, nullptr);
  }
  auto node = std::make_shared<Node>();
  node->what = "a wait for an event";
  node->start = [] { return [] { return true; }; };
  append(stream, node, {event->node});
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to,
                                         uint32_t value, unsigned) {
  ENTER("cuStreamWriteValue32", Context)
  NEEDS_HANDLE(stream)
  return queueNow(stream, "a mark", fault,
                  [=] { *reinterpret_cast<volatile uint32_t *>(to) = value; });
}

TP_FAKE CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  ENTER("cuStreamBeginCapture", Context)
  NEEDS_HANDLE(stream)
  if (capturing || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    return CUDA_ERROR_INVALID_VALUE;
  capturing = new Graph;
  capturing->origin = stream;
  stream->capture = capturing;
  stream->outside = std::exchange(stream->tail, nullptr);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  ENTER("cuStreamEndCapture", Context)
  NEEDS_HANDLE(stream)
  Graph *ended = stream->capture;
  if (!ended || ended->origin != stream)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  // Every other stream's work must come before the end of this one's.
  std::set<const Node *> reached;
  std::vector<const Node *> open = {stream->tail.get()};
  while (!open.empty()) {
    const Node *node = open.back();
    open.pop_back();
    if (!node || !reached.insert(node).second)
      continue;
    for (const auto &earlier : node->after)
      open.push_back(earlier.get());
  }
  bool joined = reached.size() == ended->nodes.size();
  bool broken = ended->broken;
  for (CUstream other : streams)
    if (other->capture == ended) {
      other->capture = nullptr;
      other->tail = std::exchange(other->outside, nullptr);
    }
  *graph = new CUgraph_st{*ended};
  capturing = nullptr;
  if (broken)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) {
    complain("a captured stream was not joined");
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  handles.insert(*graph);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph,
                                             unsigned long long) {
  ENTER("cuGraphInstantiate", Context)
  NEEDS_HANDLE(graph)
  *made = new CUgraphExec_st{graph->graph};
  handles.insert(*made);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  ENTER("cuGraphLaunch", Context)
  NEEDS_HANDLE(graph)
  NEEDS_HANDLE(stream)
  if (fault.kind == Fault::Hang || fault.kind == Fault::Fail)
    return queueNow(stream, "a graph", fault, [] {});
  launch(graph->graph, stream);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphDestroy(CUgraph graph) {
  ENTER("cuGraphDestroy", Context)
  NEEDS_HANDLE(graph)
  handles.erase(graph);
  delete graph;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuGraphExecDestroy(CUgraphExec graph) {
  ENTER("cuGraphExecDestroy", Context)
  NEEDS_HANDLE(graph)
  handles.erase(graph);
  delete graph;
  return CUDA_SUCCESS;
}

TP_FAKE CUresult cuEventCreate(CUevent *event, unsigned flags) {
  ENTER("cuEventCreate", Context)
  *event = new CUevent_st;
  (*event)->timed = flags != CU_EVENT_DISABLE_TIMING;
  handles.insert(*event);
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuEventDestroy_v2(CUevent event) {
  ENTER("cuEventDestroy", Context)
  NEEDS_HANDLE(event)
  handles.erase(event);
  delete event;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTER("cuEventRecord", Context)
  NEEDS_HANDLE(event)
  NEEDS_HANDLE(stream)
  auto node = std::make_shared<Node>();
  node->what = "an event";
  node->start = [when = event->when] {
    return [when] {
      *when = now();
      return true;
    };
  };
  event->node = append(stream, node);
  event->capture = stream->capture;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuEventQuery(CUevent event) {
  ENTER("cuEventQuery", Context, false)
  NEEDS_HANDLE(event)
  if (event->capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  pump();
  if (stickyError() != CUDA_SUCCESS)
    return stickyError();
  return finished(event->node) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
TP_FAKE CUresult cuEventElapsedTime(float *milliseconds, CUevent from,
                                    CUevent to) {
  ENTER("cuEventElapsedTime", Context)
  NEEDS_HANDLE(from)
  NEEDS_HANDLE(to)
  if (!from->timed || !to->timed || !from->node || !to->node)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!finished(from->node) || !finished(to->node))
    return CUDA_ERROR_NOT_READY;
  *milliseconds = float(*to->when - *from->when);
  return CUDA_SUCCESS;
}

} // extern "C"
