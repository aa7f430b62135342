//===- PlanOps.cpp - the parallelize plan ---------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSyntax.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/PlanStyle.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static LogicalResult verifyPlacement(Operation *op, StringRef option,
                                     const Placement &placement) {
  if (placement.unit != 1)
    return op->emitOpError()
           << "'" << option << "' gives a unit; a plan's layouts have none";
  return success();
}

static LogicalResult verifyLayout(Operation *op, StringRef option,
                                  Attribute layout) {
  if (isa<UnitAttr>(layout))
    return success();
  if (auto placement = dyn_cast<PlacementAttr>(layout))
    return verifyPlacement(op, option, placement.getValue());
  return op->emitOpError() << "'" << option
                           << "' takes layouts (replicate, shard<d>, "
                              "partial<kind>, none), got "
                           << layout;
}

static LogicalResult verifyOption(Operation *op, const StyleOption &option,
                                  Attribute value) {
  switch (option.kind) {
  case OptionKind::Layouts:
    if (auto list = dyn_cast<ArrayAttr>(value)) {
      for (Attribute layout : list)
        if (failed(verifyLayout(op, option.name, layout)))
          return failure();
      return success();
    }
    return verifyLayout(op, option.name, value);
  case OptionKind::KeywordLayouts: {
    auto dictionary = dyn_cast<DictionaryAttr>(value);
    if (!dictionary)
      return op->emitOpError()
             << "'" << option.name << "' takes a dictionary of layouts, got "
             << value;
    for (NamedAttribute entry : dictionary)
      if (failed(verifyLayout(op, option.name, entry.getValue())))
        return failure();
    return success();
  }
  case OptionKind::Boolean:
    if (!isa<BoolAttr>(value))
      return op->emitOpError()
             << "'" << option.name << "' takes true or false, got " << value;
    return success();
  case OptionKind::Integer:
    if (!isa<IntegerAttr>(value) || isa<BoolAttr>(value))
      return op->emitOpError()
             << "'" << option.name << "' takes an integer, got " << value;
    return success();
  case OptionKind::Rotation: {
    auto name = dyn_cast<StringAttr>(value);
    if (!name || (name != rotateByGather && name != rotateInRing))
      return op->emitOpError()
             << "'" << option.name << "' takes \"" << rotateByGather
             << "\" or \"" << rotateInRing << "\", got " << value;
    return success();
  }
  }
  llvm_unreachable("unknown kind of option");
}

/// `desired` says for every port of `given` what it becomes.
static LogicalResult verifyPair(ParallelizeOp op, StringRef given,
                                StringRef desired) {
  Attribute from = op.getOptions().get(given);
  Attribute to = op.getOptions().get(desired);
  if (!from != !to)
    return op.emitOpError()
           << "expected '" << given << "' and '" << desired << "' together";
  if (!from)
    return success();
  if (auto fromNames = dyn_cast<DictionaryAttr>(from)) {
    for (NamedAttribute entry : fromNames)
      if (!cast<DictionaryAttr>(to).get(entry.getName()))
        return op.emitOpError() << "'" << desired << "' lacks '"
                                << entry.getName().getValue() << "'";
    return success();
  }
  size_t fromSize = isa<ArrayAttr>(from) ? cast<ArrayAttr>(from).size() : 1;
  size_t toSize = isa<ArrayAttr>(to) ? cast<ArrayAttr>(to).size() : 1;
  if (fromSize != toSize)
    return op.emitOpError()
           << "expected as many '" << desired << "' as '" << given << "', got "
           << toSize << " and " << fromSize;
  return success();
}

LogicalResult ParallelizeOp::verify() {
  const StyleName *style = lookupStyle(getStyle());
  if (!style) {
    InFlightDiagnostic diag = emitOpError()
                              << "unknown style '" << getStyle() << "'";
    SmallVector<StringRef> styles;
    for (const StyleName &known : styleNames())
      if (toString(known.kind) == known.name)
        styles.push_back(known.name);
    diag.attachNote() << "styles are "
                      << llvm::join(ArrayRef(styles).drop_back(), ", ")
                      << " and " << styles.back();
    return diag;
  }
  for (NamedAttribute attribute : getOptions()) {
    ArrayRef<StyleOption> options = styleOptions(style->kind);
    const StyleOption *option =
        llvm::find_if(options, [&](const StyleOption &option) {
          return attribute.getName() == option.name;
        });
    if (option == options.end()) {
      InFlightDiagnostic diag = emitOpError()
                                << "style " << getStyle() << " has no option '"
                                << attribute.getName().getValue() << "'";
      Diagnostic &note = diag.attachNote() << "its options are ";
      llvm::interleaveComma(options, note, [&](const StyleOption &option) {
        note << option.name;
      });
      return diag;
    }
    if (failed(verifyOption(*this, *option, attribute.getValue())))
      return failure();
  }
  if (bindsParameters(style->kind) || isPairwise(style->kind) ||
      style->kind == StyleKind::ExpertParallel) {
    for (StringRef name : {"input_layouts", "output_layouts"})
      if (auto list = getOptions().getAs<ArrayAttr>(name);
          list && list.size() != 1)
        return emitOpError() << "'" << name << "' of style " << getStyle()
                             << " takes one layout, got " << list.size();
    return success();
  }
  return failure(
      failed(verifyPair(*this, "input_layouts", "desired_input_layouts")) ||
      failed(verifyPair(*this, "output_layouts", "desired_output_layouts")) ||
      failed(verifyPair(*this, "input_kwarg_layouts",
                        "desired_input_kwarg_layouts")));
}

template <typename OpTy> static LogicalResult verifyPortEntry(OpTy op) {
  if (auto position = dyn_cast<IntegerAttr>(op.getPort());
      position && position.getInt() < 0)
    return op.emitOpError()
           << "expected a position of at least 0, got " << position.getInt();
  return verifyPlacement(op, "layout", op.getPlacement().getValue());
}

LogicalResult ArgumentOp::verify() { return verifyPortEntry(*this); }
LogicalResult ResultOp::verify() { return verifyPortEntry(*this); }

//===----------------------------------------------------------------------===//
// Custom directives of the assembly formats
//===----------------------------------------------------------------------===//

static ParseResult parseOptionValue(OpAsmParser &parser, Attribute &value);

/// `name = value, name, ...}`, the opening brace being read.
static ParseResult parseDictionaryRest(OpAsmParser &parser,
                                       DictionaryAttr &dictionary) {
  NamedAttrList items;
  while (failed(parser.parseOptionalRBrace())) {
    if (!items.empty() && parser.parseComma())
      return failure();
    std::string name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeywordOrString(&name))
      return failure();
    if (items.get(name))
      return parser.emitError(loc) << "'" << name << "' is given twice";
    // A name alone is true.
    Attribute item = parser.getBuilder().getBoolAttr(true);
    if (succeeded(parser.parseOptionalEqual()) &&
        parseOptionValue(parser, item))
      return failure();
    items.append(name, item);
  }
  dictionary = items.getDictionary(parser.getContext());
  return success();
}

/// A function of torch's first release, with a dimension where it takes one, or
/// nothing.
static OptionalParseResult parseLayoutName(OpAsmParser &parser,
                                           Attribute &value) {
  SmallVector<StringRef> names{layoutAsMade};
  for (const LayoutName &layout : layoutNames())
    names.push_back(layout.name);
  StringRef keyword;
  if (failed(parser.parseOptionalKeyword(&keyword, names)))
    return std::nullopt;
  if (keyword == layoutAsMade) {
    value = parser.getBuilder().getStringAttr(keyword);
    return success();
  }
  const LayoutName *layout =
      llvm::find_if(layoutNames(), [&](const LayoutName &each) {
        return each.name == keyword;
      });
  Placement placement;
  placement.kind = layout->kind;
  placement.dim = layout->dim;
  if (layout->takesDim && succeeded(parser.parseOptionalLess()) &&
      (parser.parseInteger(placement.dim) || parser.parseGreater()))
    return ParseResult::failure();
  value = PlacementAttr::get(parser.getContext(), placement);
  return success();
}

/// A layout, boolean, integer, string, list `[..]` or dictionary `{name = ..}`.
static ParseResult parseOptionValue(OpAsmParser &parser, Attribute &value) {
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalLSquare())) {
    SmallVector<Attribute> items;
    if (failed(parser.parseOptionalRSquare()) &&
        (parser.parseCommaSeparatedList(
             [&] { return parseOptionValue(parser, items.emplace_back()); }) ||
         parser.parseRSquare()))
      return failure();
    value = builder.getArrayAttr(items);
    return success();
  }
  if (succeeded(parser.parseOptionalLBrace())) {
    DictionaryAttr dictionary;
    if (parseDictionaryRest(parser, dictionary))
      return failure();
    value = dictionary;
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    value = builder.getUnitAttr();
    return success();
  }
  for (bool boolean : {true, false})
    if (succeeded(parser.parseOptionalKeyword(boolean ? "true" : "false"))) {
      value = builder.getBoolAttr(boolean);
      return success();
    }
  std::string text;
  if (succeeded(parser.parseOptionalString(&text))) {
    value = builder.getStringAttr(text);
    return success();
  }
  int64_t integer;
  OptionalParseResult parsed = parser.parseOptionalInteger(integer);
  if (parsed.has_value()) {
    value = builder.getI64IntegerAttr(integer);
    return *parsed;
  }
  if (OptionalParseResult named = parseLayoutName(parser, value);
      named.has_value())
    return *named;
  Placement placement;
  if (tp::parsePlacement(parser, placement, /*allowNegativeDim=*/true))
    return failure();
  value = PlacementAttr::get(parser.getContext(), placement);
  return success();
}

static void printOptionValue(OpAsmPrinter &printer, Attribute value) {
  if (auto placement = dyn_cast<PlacementAttr>(value)) {
    tp::printPlacement(printer, placement.getValue());
  } else if (isa<UnitAttr>(value)) {
    printer << "none";
  } else if (auto list = dyn_cast<ArrayAttr>(value)) {
    printer << '[';
    llvm::interleaveComma(list, printer, [&](Attribute item) {
      printOptionValue(printer, item);
    });
    printer << ']';
  } else if (auto dictionary = dyn_cast<DictionaryAttr>(value)) {
    printer << '{';
    llvm::interleaveComma(dictionary, printer, [&](NamedAttribute item) {
      printer.printKeywordOrString(item.getName());
      printer << " = ";
      printOptionValue(printer, item.getValue());
    });
    printer << '}';
  } else if (auto boolean = dyn_cast<BoolAttr>(value)) {
    printer << (boolean.getValue() ? "true" : "false");
  } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
    printer << integer.getInt();
  } else {
    printer << value;
  }
}

ParseResult tp::parseStyle(OpAsmParser &parser, StringAttr &style) {
  std::string keyword;
  if (parser.parseKeywordOrString(&keyword))
    return failure();
  style = parser.getBuilder().getStringAttr(keyword);
  return success();
}

void tp::printStyle(OpAsmPrinter &printer, Operation *, StringAttr style) {
  printer.printKeywordOrString(style);
}

/// Options of torch's first release become today's.
static ParseResult renameOptions(OpAsmParser &parser, SMLoc loc,
                                 DictionaryAttr &options, StringRef style) {
  NamedAttrList items(options);
  for (auto [old, name] : {std::pair("_prepare_input", "input_layouts"),
                           std::pair("_prepare_output", "output_layouts")}) {
    if (Attribute value = items.erase(old)) {
      if (items.get(name))
        return parser.emitError(loc)
               << "'" << old << "' and '" << name << "' are one option";
      items.set(name, value);
    }
    if (items.get(name) != parser.getBuilder().getStringAttr(layoutAsMade))
      continue;
    // What colwise makes is sharded, what rowwise makes is a partial sum.
    const StyleName *known = lookupStyle(style);
    if (StringRef(name) != "output_layouts" || !known ||
        known->kind != StyleKind::Colwise)
      return parser.emitError(loc)
             << "'" << layoutAsMade
             << "' is the output of a colwise module as it is; expected "
                "make_output_tensor, make_output_shard_1d<d> or another layout "
                "for style "
             << style;
    items.set(name,
              PlacementAttr::get(parser.getContext(), Placement::shard(-1)));
  }
  options = items.getDictionary(parser.getContext());
  return success();
}

ParseResult tp::parsePlanOptions(OpAsmParser &parser, DictionaryAttr &options,
                                 StringAttr style) {
  options = parser.getBuilder().getDictionaryAttr({});
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalLBrace()))
    return success();
  return failure(parseDictionaryRest(parser, options) ||
                 renameOptions(parser, loc, options, style));
}

void tp::printPlanOptions(OpAsmPrinter &printer, Operation *,
                          DictionaryAttr options, StringAttr) {
  if (!options.empty())
    printOptionValue(printer, options);
}

ParseResult tp::parseEntryOptions(OpAsmParser &parser,
                                  DictionaryAttr &options) {
  options = parser.getBuilder().getDictionaryAttr({});
  if (failed(parser.parseOptionalLBrace()))
    return success();
  return parseDictionaryRest(parser, options);
}

void tp::printEntryOptions(OpAsmPrinter &printer, Operation *op,
                           DictionaryAttr options) {
  printPlanOptions(printer, op, options, StringAttr());
}
