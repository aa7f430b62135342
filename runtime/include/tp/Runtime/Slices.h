//===- Slices.h - between global arrays and a rank's buffer -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_SLICES_H
#define TP_RUNTIME_SLICES_H

#include "tp/Runtime/Port.h"
#include <functional>

namespace tp::runtime {

/// Copies an array of `sizes` elements of `elementBytes` each; strides are in
/// elements and may be anything. Transposes go tile by tile.
void copyStrided(const std::vector<int64_t> &sizes, int64_t elementBytes,
                 const void *source, const std::vector<int64_t> &sourceStrides,
                 void *target, const std::vector<int64_t> &targetStrides);

/// Rows of bytes with a pitch between them, which is not smaller than a row;
/// one row where there is none. Offsets and pitches are in bytes.
struct StridedRows {
  int64_t source = 0, target = 0, bytes = 0;
  int64_t count = 1, sourcePitch = 0, targetPitch = 0;
};
/// The copy that copyStrided makes, as few copies of rows: for memory that a
/// device copies.
void forEachRows(const std::vector<int64_t> &sizes, int64_t elementBytes,
                 const std::vector<int64_t> &sourceStrides,
                 const std::vector<int64_t> &targetStrides,
                 const std::function<void(const StridedRows &)> &visit);

/// Copies the boxes of a rank's slice of a global array (strides in elements,
/// source dimension order) into its buffer, which has the port's storage order.
/// Where the rank holds the identity of a reduction, that.
void scatter(const RankSlice &slice, const void *global,
             const std::vector<int64_t> &globalStrides, void *buffer);

/// The same between arrays of any strides.
void scatter(const RankSlice &slice, const void *global,
             const std::vector<int64_t> &globalStrides, void *local,
             const std::vector<int64_t> &localStrides);

/// What the slice has of a box of the global array, which begins at `offset`,
/// as a slice of an array that is that box. The buffer stays the same.
RankSlice sliceWithin(const RankSlice &slice,
                      const std::vector<int64_t> &offset,
                      const std::vector<int64_t> &shape);

/// The reverse: from the buffer of the rank into the global array. Of a partial
/// port the buffer has the reduced elements (reducedBuffer).
void assemble(const RankSlice &slice, const void *buffer, void *global,
              const std::vector<int64_t> &globalStrides);

/// The buffers of the ranks of one group of a partial port, in their order,
/// combined element by element as an all_reduce of the group does. Of any other
/// port, whose groups have one rank, that rank's.
class ReducedBuffer {
public:
  ReducedBuffer(const Port &port, const std::vector<const char *> &buffers);
  const char *data() const { return reduced.empty() ? alone : reduced.data(); }

private:
  const char *alone;
  std::vector<char> reduced;
};

/// Calls visit(index in the row-major global array, index in the rank's buffer)
/// for every valid element of the slice.
template <typename Visit>
void forEachValid(const RankSlice &slice, Visit visit) {
  std::vector<int64_t> globalStrides = rowMajorStrides(slice.shape);
  std::vector<int64_t> localStrides = slice.localStrides();
  for (const Box &box : slice.boxes) {
    if (elementCount(box.size) == 0)
      continue;
    std::vector<int64_t> index(box.size.size());
    for (;;) {
      int64_t global = 0, local = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        global += (box.global[d] + index[d]) * globalStrides[d];
        local += (box.local[d] + index[d]) * localStrides[d];
      }
      visit(global, local);
      size_t d = index.size();
      while (d > 0 && ++index[d - 1] == box.size[d - 1])
        index[--d] = 0;
      if (d == 0)
        break;
    }
  }
}

/// One byte per element of the buffer: 1 where no box covers it. Empty if
/// there is no padding.
std::vector<uint8_t> paddingMask(const RankSlice &slice);

} // namespace tp::runtime

#endif // TP_RUNTIME_SLICES_H
