//===- FakeStreams.cpp - streams and events of the fake driver ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeQueues.h"
#include <map>
#include <utility>

using namespace tp::fake;

/// The device's own clock, in milliseconds: what work is said to take, and a
/// little for every look at it. How busy the host is does not change it.
static double deviceClock = 1;

void tp::fake::take(double milliseconds) { deviceClock += milliseconds; }

static double now() {
  constexpr double everyLook = 1e-3;
  return deviceClock += everyLook;
}

static CUstream makeStream() {
  static int numbers = 0;
  auto *stream = new CUstream_st;
  stream->number = numbers++;
  stream->context = currentContext();
  handles.insert(stream);
  streams.insert(stream);
  return stream;
}

CUstream tp::fake::named(CUstream stream) {
  static std::map<CUcontext, CUstream> defaults;
  if (stream)
    return stream;
  CUstream &made = defaults[currentContext()];
  return made ? made : made = makeStream();
}

extern "C" {

TP_FAKE CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  ENTER("cuStreamCreate", Context)
  if (flags != CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;
  *stream = makeStream();
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
  ENTER("cuStreamGetCtx", Context)
  stream = named(stream);
  NEEDS_HANDLE(stream)
  *context = stream->context;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  ENTER("cuStreamIsCapturing", Context)
  stream = named(stream);
  NEEDS_HANDLE(stream)
  *status = stream->capture ? 1 : CU_STREAM_CAPTURE_STATUS_NONE;
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
  ENTER("cuStreamQuery", Context, Asks)
  NEEDS_HANDLE(stream)
  pump();
  if (stickyError() != CUDA_SUCCESS)
    return stickyError();
  return finished(stream->tail) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
TP_FAKE CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  ENTER("cuStreamWaitEvent", Context)
  stream = named(stream);
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
  return discard(event);
}
TP_FAKE CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTER("cuEventRecord", Context)
  stream = named(stream);
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
  event->external = false;
  return CUDA_SUCCESS;
}
TP_FAKE CUresult cuEventRecordWithFlags(CUevent event, CUstream stream,
                                        unsigned flags) {
  ENTER("cuEventRecordWithFlags", Context)
  NEEDS_HANDLE(event)
  NEEDS_HANDLE(stream)
  // Only graphs know such events.
  if (flags != CU_EVENT_RECORD_EXTERNAL || !stream->capture)
    return CUDA_ERROR_INVALID_VALUE;
  *event->when = 0;
  event->external = true;
  return queueNow(stream, "an event of a graph", fault,
                  [when = event->when] { *when = now(); });
}
TP_FAKE CUresult cuEventQuery(CUevent event) {
  ENTER("cuEventQuery", Context, Asks)
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
  for (CUevent event : {from, to}) {
    if (!event->timed || !(event->node || event->external))
      return CUDA_ERROR_INVALID_HANDLE;
    if (event->external ? *event->when == 0 : !finished(event->node))
      return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = float(*to->when - *from->when);
  return CUDA_SUCCESS;
}

} // extern "C"
