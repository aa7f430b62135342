//===- ShardingPicture.cpp - which rank holds which part ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/ShardingPicture.h"
#include "format/ManifestCheck.h"
#include "format/picture/ShardingGrid.h"
#include <algorithm>

using namespace tp::runtime;

namespace {

/// Rows, columns, and what stands between the dimensions that are neither: one
/// plane for each combination of their intervals.
class Planes {
public:
  Planes(const Port &port, const ShardingGrid &grid)
      : grid(grid), numDims(port.shape.size()) {
    size_t count = grid.shown.size();
    numOuter = count > 2 ? count - 2 : 0;
  }

  /// Positions of the outer dimensions, the last one fastest.
  std::vector<std::vector<size_t>> outer() const {
    std::vector<std::vector<size_t>> all = {{}};
    for (size_t i = 0; i < numOuter; ++i) {
      std::vector<std::vector<size_t>> longer;
      for (const std::vector<size_t> &position : all)
        for (size_t at = 0; at < grid.dims[grid.shown[i]].size(); ++at) {
          longer.push_back(position);
          longer.back().push_back(at);
        }
      all = std::move(longer);
    }
    return all;
  }

  /// "dim 0: 0-3, dim 1: 4"; "" where there is one plane.
  std::string caption(const std::vector<size_t> &position) const {
    std::string text;
    for (size_t i = 0; i < position.size(); ++i)
      text += (i ? ", " : "") + label(i, position[i]);
    return text;
  }

  /// 1 where there is no such dimension.
  size_t numRows() const { return hasRows() ? sizeOfShown(numOuter) : 1; }
  size_t numColumns() const {
    return grid.shown.empty() ? 1 : sizeOfShown(grid.shown.size() - 1);
  }
  std::string rowLabel(size_t row) const {
    return hasRows() ? label(numOuter, row) : "";
  }
  std::string columnLabel(size_t column) const {
    return grid.shown.empty() ? "" : label(grid.shown.size() - 1, column);
  }
  int64_t rowSize(size_t row) const {
    return hasRows() ? interval(numOuter, row).size : 1;
  }
  int64_t columnSize(size_t column) const {
    return grid.shown.empty() ? 1
                              : interval(grid.shown.size() - 1, column).size;
  }
  RankSet ranks(std::vector<size_t> position, size_t row, size_t column) const {
    if (hasRows())
      position.push_back(row);
    if (!grid.shown.empty())
      position.push_back(column);
    return grid.ranksAt(position);
  }

private:
  bool hasRows() const { return grid.shown.size() > 1; }
  size_t sizeOfShown(size_t i) const { return grid.dims[grid.shown[i]].size(); }
  const GridInterval &interval(size_t i, size_t at) const {
    return grid.dims[grid.shown[i]][at];
  }

  /// "rows 0-15", "column 3", "dim 2: 0-7".
  std::string label(size_t i, size_t at) const {
    const GridInterval &part = interval(i, at);
    std::string text;
    if (numDims > 2) {
      text = "dim " + std::to_string(grid.shown[i]) + ": ";
    } else {
      text = numDims == 1 ? "element" : i == 0 ? "row" : "column";
      text += part.size > 1 ? "s " : " ";
    }
    text += std::to_string(part.start);
    if (part.size > 1)
      text += "-" + std::to_string(part.start + part.size - 1);
    return text;
  }

  const ShardingGrid &grid;
  size_t numDims, numOuter;
};

/// "wq.weight: f32[64, 48], [shard<0>] on tp = 4"; without a name, without the
/// type of elements.
std::string titleOf(const Port &port, const Mesh &mesh) {
  std::string type = text(port.shape);
  if (!port.name.empty())
    type = port.name + ": " + spelling(port.dtype) + type;
  return type + ", " + layoutText(port.layout, mesh) + " on " + mesh.text();
}

/// Below the picture: what its parts do not show.
std::string footOf(const Port &port, const Mesh &mesh,
                   const ShardingGrid &grid) {
  std::string foot;
  std::vector<int64_t> local = port.localShape();
  if (local != port.shape)
    foot = "a rank's buffer is " + text(local);
  RankSet empty = grid.emptyRanks();
  if (std::find(empty.begin(), empty.end(), true) != empty.end())
    foot += (foot.empty() ? "" : "; ") + ranksText(empty) + " without a part";
  if (std::optional<Reduction> reduction = partialReduction(port.layout)) {
    foot += std::string(foot.empty() ? "" : "; ") + "the numbers of the ranks "
                                                    "along ";
    AxisParts parts = partialParts(port.layout);
    for (size_t i = 0; i < parts.size(); ++i)
      foot += (i ? ", " : "") + mesh.text(parts[i]);
    foot += std::string(" are reduced by ") + spelling(*reduction);
  }
  return foot;
}

std::string drawText(const Port &port, const Mesh &mesh,
                     const ShardingGrid &grid) {
  Planes planes(port, grid);
  std::string drawn = titleOf(port, mesh) + "\n";
  for (const std::vector<size_t> &position : planes.outer()) {
    std::vector<std::vector<std::string>> cells = {{""}};
    for (size_t column = 0; column < planes.numColumns(); ++column)
      cells[0].push_back(planes.columnLabel(column));
    for (size_t row = 0; row < planes.numRows(); ++row) {
      cells.push_back({planes.rowLabel(row)});
      for (size_t column = 0; column < planes.numColumns(); ++column)
        cells.back().push_back(ranksText(planes.ranks(position, row, column)));
    }
    std::vector<size_t> widths(cells[0].size());
    for (const std::vector<std::string> &row : cells)
      for (size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], row[i].size());
    drawn += "\n";
    if (std::string caption = planes.caption(position); !caption.empty())
      drawn += "  " + caption + "\n";
    for (const std::vector<std::string> &row : cells) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i)
        if (widths[i] > 0)
          line += "  " + row[i] + std::string(widths[i] - row[i].size(), ' ');
      size_t end = line.find_last_not_of(' ');
      if (end != std::string::npos)
        drawn += line.substr(0, end + 1) + "\n";
    }
  }
  if (std::string foot = footOf(port, mesh, grid); !foot.empty())
    drawn += "\n  " + foot + "\n";
  return drawn;
}

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}

/// Sizes in pixels: in proportion, but never too small for the text in it.
class Svg {
public:
  Svg(const Port &port, const Mesh &mesh, const ShardingGrid &grid)
      : planes(port, grid), title(titleOf(port, mesh)),
        foot(footOf(port, mesh, grid)) {}

  std::string draw() {
    text(margin, y, title);
    y += lineHeight;
    for (const std::vector<size_t> &position : planes.outer())
      drawPlane(position);
    if (!foot.empty()) {
      text(margin, y + lineHeight, foot);
      y += lineHeight;
    }
    size_t words = std::max(title.size(), foot.size());
    width = std::max<int64_t>(width, margin * 2 + int64_t(words) * letterWidth);
    std::string size = " width=\"" + std::to_string(width) + "\" height=\"" +
                       std::to_string(y + margin) + "\"";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size +
           " font-family=\"sans-serif\" font-size=\"12\">\n" + body +
           "</svg>\n";
  }

private:
  static constexpr int64_t margin = 16, lineHeight = 18, letterWidth = 7;

  /// What all parts together have, and the least that one has, in pixels.
  static int64_t pixels(int64_t part, int64_t whole, int64_t all,
                        int64_t least) {
    return std::max(least, int64_t(double(part) / double(whole) * double(all)));
  }

  void drawPlane(const std::vector<size_t> &position) {
    int64_t rows = 0, columns = 0, rowLabels = 0;
    for (size_t row = 0; row < planes.numRows(); ++row) {
      rows += planes.rowSize(row);
      rowLabels = std::max(rowLabels, int64_t(planes.rowLabel(row).size()));
    }
    for (size_t column = 0; column < planes.numColumns(); ++column)
      columns += planes.columnSize(column);
    if (std::string caption = planes.caption(position); !caption.empty()) {
      y += lineHeight;
      text(margin, y, caption);
    }
    y += lineHeight;
    int64_t left = margin + (rowLabels ? rowLabels * letterWidth + 8 : 0);
    int64_t top = y + 6;
    for (size_t row = 0; row < planes.numRows(); ++row) {
      int64_t height = pixels(planes.rowSize(row), rows, 240, 30);
      int64_t x = left;
      if (rowLabels)
        text(margin, top + height / 2 + 4, planes.rowLabel(row));
      for (size_t column = 0; column < planes.numColumns(); ++column) {
        RankSet ranks = planes.ranks(position, row, column);
        std::string inside = ranksText(ranks);
        std::string above = planes.columnLabel(column);
        int64_t least =
            int64_t(std::max(inside.size(), above.size())) * letterWidth + 8;
        int64_t cell = pixels(planes.columnSize(column), columns, 480, 0);
        for (size_t other = 0; other < planes.numRows(); ++other)
          least = std::max(
              least,
              int64_t(ranksText(planes.ranks(position, other, column)).size()) *
                      letterWidth +
                  8);
        cell = std::max(cell, least);
        if (row == 0 && !above.empty())
          text(x + 4, y, above);
        body += "<rect x=\"" + std::to_string(x) + "\" y=\"" +
                std::to_string(top) + "\" width=\"" + std::to_string(cell) +
                "\" height=\"" + std::to_string(height) + "\" fill=\"" +
                color(ranks) + "\" stroke=\"#555\"/>\n";
        text(x + 4, top + height / 2 + 4, inside);
        x += cell;
      }
      top += height;
      width = std::max(width, x + margin);
    }
    y = top;
  }

  void text(int64_t x, int64_t baseline, const std::string &words) {
    body += "<text x=\"" + std::to_string(x) + "\" y=\"" +
            std::to_string(baseline) + "\">" + escaped(words) + "</text>\n";
  }

  /// One for every set of ranks; neighbours in the list differ most.
  std::string color(const RankSet &ranks) {
    auto it = std::find(colored.begin(), colored.end(), ranks);
    size_t number = size_t(it - colored.begin());
    if (it == colored.end())
      colored.push_back(ranks);
    return "hsl(" + std::to_string(number * 137 % 360) + ", 60%, 82%)";
  }

  Planes planes;
  std::string title, foot, body;
  std::vector<RankSet> colored;
  int64_t y = margin, width = 0;
};

} // namespace

Status tp::runtime::drawSharding(const Port &port, const Mesh &mesh,
                                 Picture picture, std::string &drawn) {
  if (port.dead)
    return invalidArgument("'" + port.name +
                           "' is read by no command, so no rank holds it");
  ShardingGrid grid(port, mesh);
  if (grid.isTooFine)
    return invalidArgument("'" + port.name + "' is cut into more than " +
                           std::to_string(ShardingGrid::maxParts) +
                           " parts, too many for a picture");
  drawn = picture == Picture::Svg ? Svg(port, mesh, grid).draw()
                                  : drawText(port, mesh, grid);
  return {};
}
