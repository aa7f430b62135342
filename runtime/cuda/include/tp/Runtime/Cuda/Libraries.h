//===- Libraries.h - NVIDIA's libraries, opened at run time -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp is built without a CUDA toolkit: libcuda, libcublasLt, libcudnn and
// libnccl are opened by name when a program for this target is loaded. A table
// holds the functions of a library as members of their names; calling one gives
// a Status that names the function and the library's name for its error.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_LIBRARIES_H
#define TP_RUNTIME_CUDA_LIBRARIES_H

#include "tp/Runtime/Cuda/CublasLtApi.h"
#include "tp/Runtime/Cuda/CudnnApi.h"
#include "tp/Runtime/Cuda/DriverApi.h"
#include "tp/Runtime/Cuda/NcclApi.h"
#include "tp/Runtime/Status.h"
#include <memory>
#include <string>
#include <vector>

namespace tp::runtime::cuda {

/// A shared library that stays open until the process ends: its threads and
/// exit handlers may run until then.
class Library {
public:
  Library(const char *title, std::vector<const char *> sonames,
          const char *variable)
      : title(title), sonames(std::move(sonames)), variable(variable) {}
  virtual ~Library() = default;
  Library(const Library &) = delete;

  /// The library's name for a code that one of its functions returned.
  virtual std::string errorName(int code) const = 0;

  /// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"
  Status failed(const char *function, int code) const;

protected:
  /// Opens what the environment variable names, else the first soname that can
  /// be opened. The message of a failure names title, sonames, variable and the
  /// loader's reasons.
  Status openLibrary();
  /// Finds the functions of the opened library.
  virtual Status resolve() = 0;
  /// Status is an error that names library and function if it has none.
  void *find(const char *symbol, Status &status) const;
  template <typename Function>
  void find(const char *symbol, Function *&function, Status &status) const {
    function = reinterpret_cast<Function *>(find(symbol, status));
  }
  /// What a function without arguments says.
  size_t versionBy(const char *symbol, Status &status) const;

  /// Opens `made`, and gives it to the caller once its functions are found.
  template <typename LibraryTy>
  static Status openAs(std::unique_ptr<LibraryTy> &library,
                       std::unique_ptr<LibraryTy> made) {
    Library &base = *made;
    Status status = base.openLibrary();
    if (status.ok())
      status = base.resolve();
    if (status.ok())
      library = std::move(made);
    return status;
  }

private:
  const char *title;
  std::vector<const char *> sonames;
  const char *variable;
  std::string path;
  void *handle = nullptr;
};

/// A function of a library.
template <typename Signature> class Call;
template <typename Result, typename... Arguments>
class Call<Result(Arguments...)> {
public:
  Call(const Library &library, const char *symbol)
      : library(library), symbol(symbol) {}

  Status operator()(Arguments... arguments) const {
    Result result = function(arguments...);
    return result == 0 ? Status() : library.failed(symbol, int(result));
  }
  /// The library's own answer, where an error code is one ("not ready").
  Result code(Arguments... arguments) const { return function(arguments...); }
  /// The Status of an answer that `code` gave.
  Status failed(Result result) const {
    return library.failed(symbol, int(result));
  }

  void resolve(void *address) {
    function = reinterpret_cast<Result (*)(Arguments...)>(address);
  }

private:
  const Library &library;
  const char *symbol;
  Result (*function)(Arguments...) = nullptr;
};

#define TP_CUDA_DECLARE_CALL(NAME, SYMBOL, PARAMETERS)                         \
  Call<int PARAMETERS> NAME{*this, #NAME};

/// libcuda.so.1, or TP_CUDA_DRIVER.
class Driver final : public Library {
public:
  /// Opens the library and calls cuInit.
  static Status open(std::unique_ptr<Driver> &driver);
  std::string errorName(int code) const override;
  TP_CUDA_DRIVER_FUNCTIONS(TP_CUDA_DECLARE_CALL)

private:
  Status resolve() override;
  Driver() : Library("the CUDA driver", {"libcuda.so.1"}, "TP_CUDA_DRIVER") {}
};

/// libnccl.so.2, or TP_NCCL; 2.28 or later.
class Nccl final : public Library {
public:
  static Status open(std::unique_ptr<Nccl> &nccl);
  std::string errorName(int code) const override;
  TP_NCCL_FUNCTIONS(TP_CUDA_DECLARE_CALL)

private:
  Status resolve() override;
  Nccl() : Library("NCCL", {"libnccl.so.2"}, "TP_NCCL") {}
};

/// libcublasLt.so.13 or libcublasLt.so.12, or TP_CUBLASLT. What tp uses of the
/// two is the same. A driver runs libraries of its own CUDA and of earlier
/// ones: that of CUDA 12 is asked for the 12 first, any other one for the 13.
class CublasLt final : public Library {
public:
  /// `driverVersion` is what cuDriverGetVersion says: 12040 is CUDA 12.4.
  static Status open(std::unique_ptr<CublasLt> &library, int driverVersion);
  std::string errorName(int code) const override;
  /// 130100 is 13.1.0.
  size_t version() const { return versionNumber; }
  TP_CUBLASLT_FUNCTIONS(TP_CUDA_DECLARE_CALL)

private:
  Status resolve() override;
  explicit CublasLt(std::vector<const char *> sonames)
      : Library("cuBLASLt", std::move(sonames), "TP_CUBLASLT") {}
  size_t versionNumber = 0;
  const char *(*statusName)(cublasStatus_t) = nullptr;
};

/// libcudnn.so.9, or TP_CUDNN; 9.11 or later.
class Cudnn final : public Library {
public:
  static Status open(std::unique_ptr<Cudnn> &library);
  std::string errorName(int code) const override;
  /// What the library said when the last call failed, on one line; may be
  /// empty.
  std::string lastReason() const;
  /// 91900 is 9.19.0.
  size_t version() const { return versionNumber; }
  TP_CUDNN_FUNCTIONS(TP_CUDA_DECLARE_CALL)

private:
  Status resolve() override;
  Cudnn() : Library("cuDNN", {"libcudnn.so.9"}, "TP_CUDNN") {}
  size_t versionNumber = 0;
  const char *(*errorString)(cudnnStatus_t) = nullptr;
  void (*lastErrorString)(char *, size_t) = nullptr;
};

#undef TP_CUDA_DECLARE_CALL

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_LIBRARIES_H
