//===- AttributeSyntax.cpp - text of meshes, layouts, strategies ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/TP.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

static ParseResult parseIntegers(AsmParser &parser,
                                 std::vector<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

/// The sizes of the segments of a packed dimension.
static ParseResult parseSegments(AsmParser &parser,
                                 std::vector<int64_t> &sizes) {
  SMLoc loc = parser.getCurrentLocation();
  if (parseIntegers(parser, sizes))
    return failure();
  int64_t total = 0;
  bool fits = !sizes.empty();
  for (int64_t size : sizes)
    fits = fits && size >= 1 && !llvm::AddOverflow(total, size, total);
  if (fits)
    return success();
  return parser.emitError(loc)
         << "expected segments of size 1 or more, in sum below 2^63";
}

static ParseResult parseReduction(AsmParser &parser, ReductionKind &kind) {
  StringRef text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&text))
    return failure();
  std::optional<ReductionKind> parsed = tp::parseReductionKind(text);
  if (!parsed)
    return parser.emitError(loc)
           << "expected sum, avg, product, max or min, got '" << text << "'";
  kind = *parsed;
  return success();
}

ParseResult tp::parsePlacement(AsmParser &parser, Placement &placement,
                               bool allowNegativeDim) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword == "replicate") {
    placement = Placement::replicate();
    return success();
  }
  if (keyword == "partial") {
    ReductionKind kind;
    if (parser.parseLess() || parseReduction(parser, kind) ||
        parser.parseGreater())
      return failure();
    placement = Placement::partial(kind);
    return success();
  }
  if (keyword != "shard")
    return parser.emitError(loc)
           << "expected replicate, shard<dim> or partial<kind>, got '"
           << keyword << "'";
  placement = Placement::shard(0);
  SMLoc dimLoc;
  if (parser.parseLess() || parser.getCurrentLocation(&dimLoc) ||
      parser.parseInteger(placement.dim))
    return failure();
  if (placement.dim < 0 && !allowNegativeDim)
    return parser.emitError(dimLoc)
           << "expected a dimension of at least 0, got " << placement.dim;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc optionLoc = parser.getCurrentLocation();
    StringRef option;
    if (parser.parseKeyword(&option) || parser.parseEqual())
      return failure();
    if (option == "unit") {
      SMLoc unitLoc = parser.getCurrentLocation();
      if (parser.parseInteger(placement.unit))
        return failure();
      // A chunk is a multiple of its unit, and products of it have to fit.
      if (placement.unit < 1 || placement.unit > int64_t(1) << 32)
        return parser.emitError(unitLoc)
               << "expected a unit from 1 to 2^32, got " << placement.unit;
    } else if (option == "segments") {
      if (parseSegments(parser, placement.segments))
        return failure();
    } else {
      return parser.emitError(optionLoc)
             << "expected unit or segments, got '" << option << "'";
    }
  }
  return parser.parseGreater();
}

void tp::printPlacement(AsmPrinter &printer, const Placement &placement) {
  printer << toString(placement);
}

/// What follows an axis name: nothing, or `:major:size`.
static ParseResult parsePartOfAxis(AsmParser &parser, const Mesh &mesh,
                                   StringRef name, SMLoc loc, AxisPart &part) {
  std::optional<unsigned> axis = mesh.axisByName(name);
  if (!axis)
    return parser.emitError(loc) << "the mesh has no axis '" << name << "'";
  int64_t size = mesh.axes[*axis].size;
  part = mesh.wholeAxis(*axis);
  if (failed(parser.parseOptionalColon()))
    return success();
  if (parser.parseInteger(part.major) || parser.parseColon() ||
      parser.parseInteger(part.size))
    return failure();
  if (part.major < 1 || part.size < 1 || part.major > size || part.size > size)
    return parser.emitError(loc)
           << "expected a part of axis '" << name << "' of size " << size;
  return success();
}

static ParseResult parsePart(AsmParser &parser, const Mesh &mesh,
                             AxisPart &part) {
  std::string name;
  SMLoc loc = parser.getCurrentLocation();
  return failure(parser.parseString(&name) ||
                 parsePartOfAxis(parser, mesh, name, loc, part));
}

/// Parses `[item, ...]`, each item on its axis in mesh order, or
/// `["axis" = item, ...]` in the order given. The first item decides.
template <typename Entry, typename ParseItem>
static ParseResult parsePerAxis(AsmParser &parser, const Mesh &mesh,
                                std::vector<Entry> &entries,
                                ParseItem parseItem) {
  SMLoc loc = parser.getCurrentLocation();
  bool named = false;
  auto parseOne = [&]() -> ParseResult {
    Entry &entry = entries.emplace_back();
    SMLoc itemLoc = parser.getCurrentLocation();
    std::string name;
    if (entries.size() == 1)
      named = succeeded(parser.parseOptionalString(&name));
    else if (named && parser.parseString(&name))
      return failure();
    if (named)
      return failure(parsePartOfAxis(parser, mesh, name, itemLoc, entry.part) ||
                     parser.parseEqual() || parseItem(entry));
    if (entries.size() > mesh.axes.size())
      return parser.emitError(itemLoc)
             << "expected " << mesh.axes.size()
             << " entries, one per mesh axis, got more";
    entry.part = mesh.wholeAxis(entries.size() - 1);
    return parseItem(entry);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  if (!named && entries.size() != mesh.axes.size())
    return parser.emitError(loc)
           << "expected " << mesh.axes.size()
           << " entries, one per mesh axis, got " << entries.size();
  return success();
}

/// A mesh without its mnemonic, `<"tp" = 4>`, or an alias of one.
static ParseResult parseMesh(AsmParser &parser, MeshAttr &mesh) {
  return parser.parseCustomAttributeWithFallback(mesh);
}

//===----------------------------------------------------------------------===//
// #tp.mesh
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  Mesh mesh;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("devices")))
      return failure(parser.parseEqual() ||
                     parseIntegers(parser, mesh.deviceOrder));
    MeshAxis &axis = mesh.axes.emplace_back();
    return failure(parser.parseString(&axis.name) || parser.parseEqual() ||
                   parser.parseInteger(axis.size));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), mesh);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getValue().axes, printer, [&](const MeshAxis &axis) {
    printer << '"' << axis.name << "\" = " << axis.size;
  });
  if (!getValue().deviceOrder.empty()) {
    printer << ", devices = [";
    llvm::interleaveComma(getValue().deviceOrder, printer);
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// #tp.layout, #tp.strategy
//===----------------------------------------------------------------------===//

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh;
  Layout layout;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseMesh(parser, mesh) || parser.parseComma() ||
      parsePerAxis(parser, mesh.getValue(), layout.entries,
                   [&](AxisPlacement &entry) {
                     return parsePlacement(parser, entry.placement);
                   }) ||
      parser.parseGreater())
    return {};
  layout.canonicalize();
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), mesh, layout);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printStrippedAttrOrType(getMesh());
  printer << ", " << getValue().toString(getMesh().getValue()) << '>';
}

/// The number of a factor or a slot.
static ParseResult parseNumber(AsmParser &parser, unsigned &number) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  if (value < 0 || value > std::numeric_limits<int32_t>::max())
    return parser.emitError(loc)
           << "expected a number of at least 0, got " << value;
  number = value;
  return success();
}

static ParseResult parseChoice(AsmParser &parser, Choice &choice) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword == "replicate") {
    choice = Choice::replicate();
    return success();
  }
  if (keyword == "split") {
    choice = Choice::split(0);
    if (parser.parseLess() || parseNumber(parser, choice.factor))
      return failure();
    if (succeeded(parser.parseOptionalComma()) &&
        (parser.parseKeyword("segments") || parser.parseEqual() ||
         parseSegments(parser, choice.segments)))
      return failure();
    return parser.parseGreater();
  }
  if (keyword != "passthrough")
    return parser.emitError(loc) << "expected replicate, split<factor> or "
                                    "passthrough<kind, slots>, got '"
                                 << keyword << "'";
  choice = Choice::passthrough(ReductionKind::Sum, {});
  return failure(
      parser.parseLess() || parseReduction(parser, choice.reduction) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parseNumber(parser, choice.slots.emplace_back()); }) ||
      parser.parseGreater());
}

Attribute StrategyAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh;
  Strategy strategy;
  if (parser.parseLess() || parseMesh(parser, mesh) || parser.parseComma() ||
      parsePerAxis(parser, mesh.getValue(), strategy.entries,
                   [&](AxisChoice &entry) {
                     return parseChoice(parser, entry.choice);
                   }) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh, strategy);
}

void StrategyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printStrippedAttrOrType(getMesh());
  printer << ", " << getValue().toString(getMesh().getValue()) << '>';
}

//===----------------------------------------------------------------------===//
// #tp.axes, #tp.placement, #tp.reduction
//===----------------------------------------------------------------------===//

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh;
  std::vector<AxisPart> parts;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseMesh(parser, mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] {
                                       return parsePart(parser, mesh.getValue(),
                                                        parts.emplace_back());
                                     }) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<AxesAttr>(loc, parser.getContext(), mesh, parts);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printStrippedAttrOrType(getMesh());
  printer << ", [";
  llvm::interleaveComma(getParts(), printer, [&](AxisPart part) {
    printer << toString(part, getMesh().getValue());
  });
  printer << "]>";
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  Placement placement;
  if (parser.parseLess() ||
      parsePlacement(parser, placement, /*allowNegativeDim=*/true) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), placement);
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << '<' << toString(getValue()) << '>';
}

Attribute ReductionAttr::parse(AsmParser &parser, Type) {
  ReductionKind kind;
  if (parser.parseLess() || parseReduction(parser, kind) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), kind);
}

void ReductionAttr::print(AsmPrinter &printer) const {
  printer << '<' << toString(getValue()) << '>';
}
