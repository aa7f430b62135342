//===- NeededColumns.cpp - what a rank needs of a product -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeededColumns.h"
#include <algorithm>

using namespace tp::runtime;

int64_t tp::runtime::neededColumns(const GemmCommand &command,
                                   const std::vector<Port> &ports,
                                   const Coordinates &rank) {
  const BufferRef &buffer = command.b.buffer;
  if (buffer.space != Space::Argument || buffer.offset != 0 || command.lookup ||
      elementCount(command.batch) != 1)
    return command.n;
  RankSlice slice = ports[buffer.index].slice(rank);
  // From one column of op(B) to the next.
  int64_t step = command.b.transpose ? command.b.ld : 1;
  std::vector<int64_t> strides = slice.localStrides();
  for (size_t d = 0; d < strides.size(); ++d) {
    // The outermost of the dimensions that are the columns, of all of which
    // op(B) is made: not of a part, nor of several arguments that lie side by
    // side.
    int64_t size = slice.localShape[d];
    if (size < 2 || strides[d] % step != 0 ||
        strides[d] * size != step * command.n)
      continue;
    int64_t end = 0;
    for (const Box &box : slice.boxes)
      if (elementCount(box.size) > 0)
        end = std::max(end, box.local[d] + box.size[d]);
    // A rank without elements may miss terms, not columns.
    return end > 0 ? end * (strides[d] / step) : command.n;
  }
  return command.n;
}
