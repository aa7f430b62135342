//===- SharedList.h - a list that copies share ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_SHAREDLIST_H
#define TP_SHARDING_SHAREDLIST_H

#include <initializer_list>
#include <memory>
#include <vector>

namespace tp {

/// A list that costs nothing to copy: copies share their elements until one of
/// them is changed. Not for several threads.
template <typename T> class SharedList {
public:
  SharedList() = default;
  SharedList(std::initializer_list<T> list)
      : elements(std::make_shared<std::vector<T>>(list)) {}

  size_t size() const { return elements ? elements->size() : 0; }
  bool empty() const { return size() == 0; }
  const T *begin() const { return elements ? elements->data() : nullptr; }
  const T *end() const { return begin() + size(); }
  const T &operator[](size_t i) const { return (*elements)[i]; }
  const T &front() const { return elements->front(); }

  void push_back(T element) {
    own();
    elements->push_back(std::move(element));
  }
  T &back() {
    own();
    return elements->back();
  }

  /// Equal for lists that share their elements.
  const void *identity() const { return elements.get(); }

private:
  void own() {
    if (!elements)
      elements = std::make_shared<std::vector<T>>();
    else if (elements.use_count() > 1)
      elements = std::make_shared<std::vector<T>>(*elements);
  }

  std::shared_ptr<std::vector<T>> elements;
};

} // namespace tp

#endif // TP_SHARDING_SHAREDLIST_H
