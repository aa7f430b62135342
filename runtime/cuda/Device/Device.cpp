//===- Device.cpp - a device and its queues -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/Device.h"

#include <utility>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

Device::Current::Current(const Device &device) {
  if (!device.failed() && device.library->cuCtxPushCurrent(device.context).ok())
    driver = device.library.get();
}

Device::Current::~Current() {
  CUcontext ours = nullptr;
  if (driver)
    (void)driver->cuCtxPopCurrent(&ours);
}

Status Device::open(int64_t index, bool modulo,
                    std::unique_ptr<Device> &device) {
  std::unique_ptr<Device> made(new Device);
  if (Status status = Driver::open(made->library); !status.ok())
    return status;
  const Driver &driver = *made->library;
  int count = 0;
  if (Status status = driver.cuDeviceGetCount(&count); !status.ok())
    return status;
  if (count == 0)
    return unsupported("the CUDA driver has no device, expected at least one");
  if (index < 0 || (!modulo && index >= count))
    return invalidArgument("no device " + std::to_string(index) +
                           ", the CUDA driver has " + std::to_string(count) +
                           ": expected 0 to " + std::to_string(count - 1));
  made->ordinal = int(index % count);
  char name[128] = {};
  Status status = driver.cuDeviceGet(&made->handle, made->ordinal);
  if (status.ok())
    status = driver.cuDeviceGetName(name, sizeof(name) - 1, made->handle);
  made->deviceName = name;
  for (int i = 0; i < 2 && status.ok(); ++i)
    status = driver.cuDeviceGetAttribute(
        &made->capability[i],
        i == 0 ? CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
               : CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        made->handle);
  if (status.ok())
    status = driver.cuDevicePrimaryCtxRetain(&made->context, made->handle);
  if (status.ok())
    status = driver.cuCtxPushCurrent(made->context);
  bool pushed = status.ok();
  for (CUstream &stream : made->streams)
    if (status.ok())
      status = driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUcontext ours = nullptr;
  if (pushed)
    (void)driver.cuCtxPopCurrent(&ours);
  if (!status.ok()) {
    made->setFailed();
    return status.within(made->describe());
  }
  device = std::move(made);
  return {};
}

Device::~Device() {
  if (hasFailed || !context)
    return;
  const Driver &driver = *library;
  Current current(*this);
  destroyGraphs()();
  for (CUevent event : events)
    (void)driver.cuEventDestroy(event);
  for (CUstream stream : streams)
    (void)driver.cuStreamDestroy(stream);
  for (CUdeviceptr memory : memories)
    (void)driver.cuMemFree(memory);
  for (void *memory : hostMemories)
    (void)driver.cuMemFreeHost(memory);
  (void)driver.cuDevicePrimaryCtxRelease(handle);
}

Status Device::checkStream(CUstream stream) const {
  CUcontext of = nullptr;
  Status status = library->cuStreamGetCtx(stream, &of);
  if (status.ok() && of != context)
    status = invalidArgument("it is of another device: expected one of " +
                             describe());
  int capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (status.ok())
    status = library->cuStreamIsCapturing(stream, &capture);
  if (status.ok() && capture != CU_STREAM_CAPTURE_STATUS_NONE)
    status = invalidArgument("it is being captured into a graph: a step makes "
                             "its own, submit it outside of the capture");
  return status.within("the external stream");
}

Status Device::checkMemory(CUdeviceptr address) const {
  unsigned kind = 0;
  int on = 0;
  Status status = library->cuPointerGetAttribute(
      &kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  // The driver does not know memory that is the host's alone.
  if (!status.ok() || kind != CU_MEMORYTYPE_DEVICE)
    return invalidArgument("its data is not memory of a device: expected "
                           "memory of " +
                           describe() + ", or host memory as such");
  status = library->cuPointerGetAttribute(
      &on, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (status.ok() && on != ordinal)
    return invalidArgument("its data is memory of device " +
                           std::to_string(on) + ", expected memory of " +
                           describe() + ": copy it there first");
  return status;
}

std::string Device::chip() const {
  if (capability[0] == 0)
    return "host";
  return "sm_" + std::to_string(capability[0]) + std::to_string(capability[1]);
}

Status Device::cacheBytes(int &bytes) const {
  return library->cuDeviceGetAttribute(
      &bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, handle);
}

std::string Device::describe() const {
  return "device " + std::to_string(ordinal) + " '" + deviceName + "' (" +
         chip() + ")";
}

Status Device::allocate(int64_t bytes, CUdeviceptr &memory) {
  Status status = library->cuMemAlloc(&memory, size_t(bytes));
  if (status.ok()) {
    memories.push_back(memory);
    return status;
  }
  size_t free = 0, total = 0;
  std::string room;
  if (library->cuMemGetInfo(&free, &total).ok())
    room = ", which has " + std::to_string(free) + " of " +
           std::to_string(total) + " bytes free";
  return status.within("cannot allocate " + std::to_string(bytes) +
                       " bytes on " + describe() + room);
}

Status Device::allocateHost(int64_t bytes, void *&memory, CUdeviceptr &seen) {
  Status status = library->cuMemHostAlloc(&memory, size_t(bytes),
                                          CU_MEMHOSTALLOC_PORTABLE |
                                              CU_MEMHOSTALLOC_DEVICEMAP);
  if (!status.ok())
    return status.within("cannot allocate " + std::to_string(bytes) +
                         " bytes of pinned memory");
  hostMemories.push_back(memory);
  return library->cuMemHostGetDevicePointer(&seen, memory, 0);
}

Status Device::createEvent(bool timed, CUevent &event) {
  Status status = library->cuEventCreate(
      &event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  if (status.ok())
    events.push_back(event);
  return status;
}

Status Device::instantiate(CUgraph captured, CUgraphExec &graph) {
  Status status = library->cuGraphInstantiate(&graph, captured, 0);
  (void)library->cuGraphDestroy(captured);
  if (status.ok())
    graphs.push_back(graph);
  return status;
}

std::function<void()> Device::destroyGraphs() {
  return [makeCurrent = library->cuCtxSetCurrent,
          destroy = library->cuGraphExecDestroy, context = context,
          all = std::exchange(graphs, {})] {
    if (all.empty())
      return;
    (void)makeCurrent.code(context);
    for (CUgraphExec graph : all)
      (void)destroy.code(graph);
  };
}
