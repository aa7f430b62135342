//===- CudaAbiTest.cpp - a rank on a device through the C ABI -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaAbi.h"

using namespace tp::test;
using namespace tp::runtime;
using cuda::CUdeviceptr;

namespace {

TEST_F(CudaAbiTest, HostTensorsAreCopied) {
  tp_rank_options options = defaults();
  options.use_device = 1;
  options.device = 3;
  create(options);
  // Every second float of an array, out and in.
  float in[128] = {}, out[128] = {};
  tp_tensor from = tensor(in, TP_F32, {64}), to = tensor(out, TP_F32, {64});
  from.strides[0] = to.strides[0] = 2;
  for (float value : {1.0f, 5.0f, 7.0f}) {
    for (int i = 0; i < 64; ++i)
      in[2 * i] = value + float(i);
    expectOk(tp_rank_set_argument(rank, 0, &from));
    expectOk(tp_rank_submit(rank, nullptr));
    expectOk(tp_rank_wait(rank));
    expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &to));
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(out[2 * i], 2 * (value + float(i)));
      EXPECT_EQ(out[2 * i + 1], 0);
    }
  }
  expectOk(tp_rank_get_tensor(rank, TP_ARGUMENT, 0, &to));
  EXPECT_EQ(out[2], 8);
  tp_tensor view;
  expectOk(tp_rank_result(rank, 0, &view));
  EXPECT_EQ(view.memory_space, TP_DEVICE);
  EXPECT_EQ(view.device, 3);
  expectOk(tp_rank_finish(rank));
  free();
}

/// The same with whole arrays, of which the rank's part is all.
TEST_F(CudaAbiTest, WholeArraysAreCutAndJoined) {
  create(defaults());
  float in[128] = {}, out[128] = {};
  tp_tensor from = tensor(in, TP_F32, {64}), to = tensor(out, TP_F32, {64});
  from.strides[0] = to.strides[0] = 2;
  for (int i = 0; i < 64; ++i)
    in[2 * i] = float(i);
  from.memory_space = TP_DEVICE;
  expectCode(tp_rank_scatter(rank, artifact, 0, &from), TP_UNSUPPORTED,
             "argument 'a': expected host memory: global arrays are cut and "
             "joined on the host");
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT,
             "argument 'a' was never set");
  from.memory_space = TP_HOST;
  expectOk(tp_rank_scatter(rank, artifact, 0, &from));
  expectOk(tp_rank_submit(rank, nullptr));
  expectOk(tp_rank_wait(rank));
  expectOk(tp_rank_assemble(rank, artifact, TP_RESULT, 0, &to));
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out[2 * i], 2 * float(i));
    EXPECT_EQ(out[2 * i + 1], 0);
  }
  free();
}

TEST_F(CudaAbiTest, DeviceTensorsAreCopied) {
  create(defaults());
  OwnDevice own(0);
  CUdeviceptr memory = own.allocate(2 * 128 * 4);
  float in[128] = {}, out[128] = {};
  for (int i = 0; i < 64; ++i)
    in[2 * i] = float(i);
  own.copyIn(memory, in, sizeof(in));
  own.copyIn(memory + sizeof(in), out, sizeof(out));
  own.wait();
  tp_tensor from = tensor(reinterpret_cast<void *>(memory), TP_F32, {64});
  tp_tensor to =
      tensor(reinterpret_cast<void *>(memory + sizeof(in)), TP_F32, {64});
  from.strides[0] = to.strides[0] = 2;
  from.memory_space = to.memory_space = TP_DEVICE;
  expectOk(tp_rank_set_argument(rank, 0, &from));
  expectOk(tp_rank_submit(rank, nullptr));
  expectOk(tp_rank_wait(rank));
  expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &to));
  own.copyOut(out, memory + sizeof(in), sizeof(out));
  own.wait();
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out[2 * i], 2 * float(i));
    EXPECT_EQ(out[2 * i + 1], 0);
  }
  free();
}

/// Whichever queue the device prefers, a step reads what the stream wrote
/// before it, and the stream reads what the step wrote.
TEST_F(CudaAbiTest, StepsAreOrderedWithAnExternalStream) {
  for (const char *order : {"first", "last", "7"})
    for (bool inOptions : {false, true}) {
      SCOPED_TRACE(order);
      inProcesses(1, [&](int64_t) {
        setenv("TP_FAKE_ORDER", order, 1);
        OwnDevice own(0);
        tp_stream *stream = nullptr;
        expectOk(tp_stream_create(own.stream(), &stream));
        tp_rank_options options = defaults();
        options.stream = inOptions ? stream : nullptr;
        create(options);
        const tp_stream *given = inOptions ? nullptr : stream;
        tp_tensor argument, result;
        expectOk(tp_rank_argument(rank, 0, &argument));
        expectOk(tp_rank_mark_set(rank, 0));
        expectOk(tp_rank_result(rank, 0, &result));
        for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
          std::vector<float> in(64, value), out(64);
          own.copyIn(CUdeviceptr(argument.data), in.data(), 256);
          expectOk(tp_rank_submit(rank, given));
          own.copyOut(out.data(), CUdeviceptr(result.data), 256);
          own.wait();
          expectOk(tp_rank_wait(rank));
          EXPECT_EQ(out, std::vector<float>(64, 2 * value));
        }
        tp_stream_free(stream);
        free();
      });
    }
}

/// CUDA's default stream, which has no handle.
TEST_F(CudaAbiTest, TheDefaultStreamIsAStream) {
  create(defaults());
  tp_stream *stream = nullptr;
  expectOk(tp_stream_create(nullptr, &stream));
  std::vector<float> in(64, 3.0f), out(64);
  tp_tensor from = tensor(in.data(), TP_F32, {64});
  tp_tensor to = tensor(out.data(), TP_F32, {64});
  expectOk(tp_rank_set_argument(rank, 0, &from));
  for (int step = 0; step < 2; ++step) {
    expectOk(tp_rank_submit(rank, stream));
    expectOk(tp_rank_wait(rank));
  }
  expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &to));
  EXPECT_EQ(out[63], 6);
  tp_stream_free(stream);
  free();
}

/// A rank that refuses a step has not failed: it takes one with all arguments.
TEST_F(CudaAbiTest, AnArgumentThatWasNeverSetIsRefused) {
  create(defaults());
  std::vector<float> in(64, 3.0f), out(64);
  tp_tensor from = tensor(in.data(), TP_F32, {64});
  tp_tensor to = tensor(out.data(), TP_F32, {64});
  expectCode(tp_rank_submit(rank, nullptr), TP_INVALID_ARGUMENT,
             "argument 'a' was never set: call tp_rank_scatter");
  expectCode(tp_rank_get_tensor(rank, TP_ARGUMENT, 0, &to), TP_INVALID_ARGUMENT,
             "argument 'a' was never set");
  expectOk(tp_rank_set_argument(rank, 0, &from));
  expectOk(tp_rank_submit(rank, nullptr));
  expectOk(tp_rank_wait(rank));
  expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &to));
  EXPECT_EQ(out[63], 6);
  free();
}

TEST_F(CudaAbiTest, WrongStreamsAreRefused) {
  create(defaults());
  std::vector<float> in(64, 1.0f);
  tp_tensor from = tensor(in.data(), TP_F32, {64});
  expectOk(tp_rank_set_argument(rank, 0, &from));
  OwnDevice other(1), own(0);
  tp_stream *stream = nullptr;
  expectOk(tp_stream_create(other.stream(), &stream));
  expectCode(tp_rank_submit(rank, stream), TP_INVALID_ARGUMENT,
             "rank 0: the external stream: it is of another device: expected "
             "one of device 0 'fake' (host)");
  tp_rank_options options = defaults();
  options.stream = stream;
  tp_transport *lone = nullptr;
  expectOk(tp_transport_threads(artifact, &lone));
  tp_rank *refused = nullptr;
  expectCode(tp_rank_create(artifact, lone, 0, 1, &options, &refused),
             TP_INVALID_ARGUMENT, "it is of another device");
  tp_transport_free(lone);
  tp_stream_free(stream);
  expectOk(tp_stream_create(own.stream(), &stream));
  {
    cuda::Device::Current current(*own.device);
    const cuda::Driver &driver = own.device->driver();
    ASSERT_OK(driver.cuStreamBeginCapture(
        own.stream(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    expectCode(
        tp_rank_submit(rank, stream), TP_INVALID_ARGUMENT,
        "it is being captured into a graph: a step makes its own, submit "
        "it outside of the capture");
    cuda::CUgraph graph = nullptr;
    ASSERT_OK(driver.cuStreamEndCapture(own.stream(), &graph));
    ASSERT_OK(driver.cuGraphDestroy(graph));
  }
  // None of this ends the run.
  expectOk(tp_rank_submit(rank, stream));
  expectCode(tp_rank_submit(rank, stream), TP_INVALID_ARGUMENT,
             "a step is under way: wait for it first");
  expectOk(tp_rank_wait(rank));
  expectCode(tp_rank_wait(rank), TP_INVALID_ARGUMENT, "no step was submitted");
  tp_stream_free(stream);
  free();
}

TEST_F(CudaAbiTest, WrongMemoryIsRefused) {
  create(defaults());
  OwnDevice other(1);
  float host[64] = {};
  tp_tensor t = tensor(host, TP_F32, {64});
  expectOk(tp_rank_set_argument(rank, 0, &t));
  const std::string name = "the local tensor of argument 'a': ";
  t.memory_space = TP_DEVICE;
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT,
             (name + "its data is not memory of a device: expected memory of "
                     "device 0 'fake' (host), or host memory as such")
                 .c_str());
  t.device = 1;
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT,
             (name + "it is on device 1, the rank uses device 0: expected a "
                     "tensor there, or on the host")
                 .c_str());
  t.device = 0;
  t.data = reinterpret_cast<void *>(other.allocate(256));
  expectCode(tp_rank_get_tensor(rank, TP_ARGUMENT, 0, &t), TP_INVALID_ARGUMENT,
             (name +
              "its data is memory of device 1, expected memory of device "
              "0 'fake' (host): copy it there first")
                 .c_str());
  t.memory_space = 2;
  expectCode(tp_rank_set_argument(rank, 0, &t), TP_INVALID_ARGUMENT,
             "expected memory space 0 (TP_HOST) or 1 (TP_DEVICE), got 2");
  tp_tensor view, whole = tensor(host, TP_F32, {64});
  expectOk(tp_rank_argument(rank, 0, &view));
  expectCode(tp_scatter(artifact, TP_ARGUMENT, 0, 0, &whole, &view),
             TP_UNSUPPORTED,
             "the local tensor of argument 'a': expected host memory");
  free();
}

TEST_F(CudaAbiTest, WrongDevicesAreRefused) {
  open(1);
  expectOk(tp_transport_threads(artifact, &transport));
  tp_rank_options options = defaults();
  options.use_device = 1;
  options.device = 8;
  expectCode(tp_rank_create(artifact, transport, 0, 1, &options, &rank),
             TP_INVALID_ARGUMENT,
             "rank 0: no device 8, the CUDA driver has 8: expected 0 to 7");
  // A caller of version 2, whose structure ends before the device.
  options.struct_size = 16;
  expectOk(tp_rank_create(artifact, transport, 0, 1, &options, &rank));
  free();
}

/// The thread's context is the host program's again after every call.
TEST_F(CudaAbiTest, TheCurrentDeviceStays) {
  create(defaults());
  float data[64] = {};
  tp_tensor t = tensor(data, TP_F32, {64});
  expectOk(tp_rank_set_argument(rank, 0, &t));
  expectOk(tp_rank_submit(rank, nullptr));
  expectOk(tp_rank_wait(rank));
  expectOk(tp_rank_get_tensor(rank, TP_RESULT, 0, &t));
  free();
  std::unique_ptr<cuda::Driver> driver;
  ASSERT_OK(cuda::Driver::open(driver));
  cuda::CUcontext left = nullptr;
  EXPECT_EQ(driver->cuCtxPopCurrent.code(&left),
            cuda::CUDA_ERROR_INVALID_CONTEXT);
}

/// A device that fails ends the run, and is left alone.
TEST_F(CudaAbiTest, AFailureOfTheDeviceIsAStatus) {
  inProcesses(1, [&](int64_t) {
    create(defaults());
    float data[64] = {};
    tp_tensor t = tensor(data, TP_F32, {64});
    expectOk(tp_rank_set_argument(rank, 0, &t));
    setenv("TP_FAKE_FAULT", "cuLaunchKernel@*:1:fail", 1);
    expectOk(tp_rank_submit(rank, nullptr));
    expectCode(tp_rank_wait(rank), TP_DEVICE_FAILED,
               "rank 0, command 1, kernel scale 'scale_loc' of module 'mlp': "
               "cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    expectCode(tp_rank_submit(rank, nullptr), TP_DEVICE_FAILED,
               "rank 0 has failed before and uses its device no more: end the "
               "process");
    expectCode(tp_rank_get_tensor(rank, TP_RESULT, 0, &t), TP_DEVICE_FAILED,
               "has failed before");
    free();
  });
}

} // namespace
