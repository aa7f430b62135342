//===- CudaLibrariesTest.cpp - NVIDIA's libraries, opened at run time -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "tp/Runtime/Cuda/Libraries.h"
#include <dlfcn.h>

using namespace tp::test;
using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

/// An environment variable for as long as a test runs.
class Variable {
public:
  Variable(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name); }
  Variable(const Variable &) = delete;

private:
  const char *name;
};

TEST(CudaLibrariesTest, AMissingLibraryIsNamed) {
  Variable driver("TP_CUDA_DRIVER", "/nowhere/libcuda.so.1");
  Variable nccl("TP_NCCL", "/nowhere/libnccl.so.2");
  Variable cublas("TP_CUBLASLT", "/nowhere/libcublasLt.so.13");
  std::unique_ptr<Driver> d;
  std::unique_ptr<Nccl> n;
  Variable cudnn("TP_CUDNN", "/nowhere/libcudnn.so.9");
  std::unique_ptr<CublasLt> c;
  std::unique_ptr<Cudnn> a;
  Status status = Driver::open(d);
  EXPECT_EQ(status.code(), Code::Unsupported);
  expectError(status, "cannot open the CUDA driver, libcuda.so.1 (or the file "
                      "that TP_CUDA_DRIVER names): /nowhere/libcuda.so.1: ");
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  expectError(Nccl::open(n), "cannot open NCCL, libnccl.so.2 (or the file that "
                             "TP_NCCL names): /nowhere/libnccl.so.2: ");
  expectError(CublasLt::open(c, 13000),
              "cannot open cuBLASLt, libcublasLt.so.13 or libcublasLt.so.12 "
              "(or the file that TP_CUBLASLT names): "
              "/nowhere/libcublasLt.so.13: ");
  expectError(CublasLt::open(c, 12040),
              "cannot open cuBLASLt, libcublasLt.so.12 or libcublasLt.so.13 ");
  expectError(Cudnn::open(a), "cannot open cuDNN, libcudnn.so.9 (or the file "
                              "that TP_CUDNN names): /nowhere/libcudnn.so.9: ");
}

TEST(CudaLibrariesTest, AMissingFunctionIsNamed) {
  // Any library that is none of these.
  for (const char *name :
       {"TP_CUDA_DRIVER", "TP_NCCL", "TP_CUBLASLT", "TP_CUDNN"})
    setenv(name, TP_TEST_KERNELS, 1);
  std::unique_ptr<Driver> d;
  std::unique_ptr<Nccl> n;
  std::unique_ptr<CublasLt> c;
  std::string end = std::string(TP_TEST_KERNELS) + ", has no function ";
  expectError(Driver::open(d), "the CUDA driver, " + end +
                                   "cuGetErrorName: expected a newer version");
  expectError(Nccl::open(n), "NCCL, " + end + "ncclGetVersion");
  expectError(CublasLt::open(c, 13000), "cuBLASLt, " + end + "cublasLtCreate");
  std::unique_ptr<Cudnn> a;
  expectError(Cudnn::open(a), "cuDNN, " + end + "cudnnCreate");
  for (const char *name :
       {"TP_CUDA_DRIVER", "TP_NCCL", "TP_CUBLASLT", "TP_CUDNN"})
    unsetenv(name);
}

/// Where NVIDIA's own libraries are installed they have every function that the
/// tables name; this needs no device.
TEST(CudaLibrariesTest, TheRealLibrariesHaveTheFunctions) {
  auto installed = [](const char *soname) {
    return dlopen(soname, RTLD_NOW | RTLD_LOCAL) != nullptr;
  };
  if (!installed("libnccl.so.2") && !installed("libcublasLt.so.13") &&
      !installed("libcudnn.so.9"))
    GTEST_SKIP() << "none of NCCL, cuBLASLt and cuDNN is installed";
  if (installed("libnccl.so.2")) {
    std::unique_ptr<Nccl> nccl;
    ASSERT_OK(Nccl::open(nccl));
    EXPECT_EQ(nccl->ncclGetUniqueId(nullptr).message(),
              "ncclGetUniqueId: ncclInvalidArgument (4)");
  }
  if (installed("libcublasLt.so.13")) {
    std::unique_ptr<CublasLt> cublas;
    ASSERT_OK(CublasLt::open(cublas, 13000));
    EXPECT_GE(cublas->version(), 130000u);
    EXPECT_EQ(cublas->errorName(CUBLAS_STATUS_NOT_SUPPORTED),
              "CUBLAS_STATUS_NOT_SUPPORTED");
  }
  if (installed("libcudnn.so.9")) {
    std::unique_ptr<Cudnn> cudnn;
    ASSERT_OK(Cudnn::open(cudnn));
    EXPECT_GE(cudnn->version(), 91100u);
    EXPECT_EQ(cudnn->errorName(CUDNN_STATUS_NOT_SUPPORTED_SHAPE),
              "CUDNN_STATUS_NOT_SUPPORTED_SHAPE");
  }
}

} // namespace
