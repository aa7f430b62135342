//===- CudnnDescriptors.cpp - descriptors of cuDNN's backend --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnDescriptors.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

template <typename Function, typename... Arguments>
Status CudnnDescriptors::call(const Function &function,
                              Arguments... arguments) {
  cudnnStatus_t answer = function.code(arguments...);
  if (answer == CUDNN_STATUS_SUCCESS)
    return {};
  code = answer;
  Status failed = function.failed(answer);
  std::string reason = library.lastReason();
  if (reason.empty())
    return failed;
  return {failed.code(), failed.message() + ": " + reason};
}

CudnnDescriptors::~CudnnDescriptors() {
  while (!all.empty()) {
    (void)library.cudnnBackendDestroyDescriptor(all.back());
    all.pop_back();
  }
}

CudnnDescriptors::Descriptor CudnnDescriptors::create(int kind) {
  Descriptor made = nullptr;
  if (!status.ok())
    return made;
  status = call(library.cudnnBackendCreateDescriptor, kind, &made);
  if (made)
    all.push_back(made);
  return made;
}

void CudnnDescriptors::set(Descriptor descriptor, int attribute, int type,
                           int64_t count, const void *values) {
  if (status.ok())
    status = call(library.cudnnBackendSetAttribute, descriptor, attribute, type,
                  count, values);
}

void CudnnDescriptors::finalize(Descriptor descriptor) {
  if (status.ok())
    status = tryToFinalize(descriptor);
}

Status CudnnDescriptors::tryToFinalize(Descriptor descriptor) {
  return call(library.cudnnBackendFinalize, descriptor);
}

std::vector<CudnnDescriptors::Descriptor>
CudnnDescriptors::results(Descriptor heuristic) {
  int64_t count = 0, given = 0;
  if (status.ok())
    status = call(library.cudnnBackendGetAttribute, heuristic,
                  CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  int64_t(0), &count, static_cast<void *>(nullptr));
  std::vector<Descriptor> found;
  for (int64_t i = 0; i < count; ++i)
    found.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  // The library fills the descriptors; it may give fewer than it counted.
  if (status.ok() && count)
    status = call(library.cudnnBackendGetAttribute, heuristic,
                  CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  count, &given, static_cast<void *>(found.data()));
  if (!status.ok())
    return {};
  found.resize(size_t(std::min(count, given)));
  return found;
}

int64_t CudnnDescriptors::integer(Descriptor descriptor, int attribute) {
  int64_t value = 0, count = 0;
  if (status.ok())
    status =
        call(library.cudnnBackendGetAttribute, descriptor, attribute,
             CUDNN_TYPE_INT64, int64_t(1), &count, static_cast<void *>(&value));
  return value;
}

bool CudnnDescriptors::notSupported() const {
  constexpr cudnnStatus_t category = 1000;
  constexpr cudnnStatus_t compilationFailed = 4001;
  return code / category * category == CUDNN_STATUS_NOT_SUPPORTED ||
         code == compilationFailed;
}
