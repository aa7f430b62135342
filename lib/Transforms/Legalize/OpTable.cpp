//===- OpTable.cpp - the ops of other dialects that tp knows --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp-opt --tp-check-op-table compares this with what the dialects register. A
// new entry says what becomes of the attribute; where tp would have to compute
// something else because of it, the stage that does so comes first.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Transforms/Legalize/OpAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Values of enums
//===----------------------------------------------------------------------===//
// The switches have no default, so that a new value is a warning here; one that
// comes without it is refused.

static bool isKnownRounding(Attribute value) {
  auto mode = dyn_cast<arith::RoundingModeAttr>(value);
  if (!mode)
    return false;
  switch (mode.getValue()) {
  case arith::RoundingMode::to_nearest_even:
  case arith::RoundingMode::downward:
  case arith::RoundingMode::upward:
  case arith::RoundingMode::toward_zero:
  case arith::RoundingMode::to_nearest_away:
    return true;
  }
  return false;
}

/// By bits: the enums' own complement leaves out those that they do not have.
template <typename Flags> static bool hasNoOthers(Flags flags, Flags known) {
  return (static_cast<uint32_t>(flags) & ~static_cast<uint32_t>(known)) == 0;
}

static bool isKnownFastMath(Attribute value) {
  using Flags = arith::FastMathFlags;
  auto flags = dyn_cast<arith::FastMathFlagsAttr>(value);
  constexpr Flags known = Flags::reassoc | Flags::nnan | Flags::ninf |
                          Flags::nsz | Flags::arcp | Flags::contract |
                          Flags::afn;
  return flags && hasNoOthers(flags.getValue(), known);
}

static bool isKnownOverflow(Attribute value) {
  using Flags = arith::IntegerOverflowFlags;
  auto flags = dyn_cast<arith::IntegerOverflowFlagsAttr>(value);
  return flags && hasNoOthers(flags.getValue(), Flags::nsw | Flags::nuw);
}

static bool isKnownFloatPredicate(Attribute value) {
  using P = arith::CmpFPredicate;
  auto predicate = dyn_cast<arith::CmpFPredicateAttr>(value);
  if (!predicate)
    return false;
  switch (predicate.getValue()) {
  case P::AlwaysFalse:
  case P::OEQ:
  case P::OGT:
  case P::OGE:
  case P::OLT:
  case P::OLE:
  case P::ONE:
  case P::ORD:
  case P::UEQ:
  case P::UGT:
  case P::UGE:
  case P::ULT:
  case P::ULE:
  case P::UNE:
  case P::UNO:
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

static bool isKnownIntegerPredicate(Attribute value) {
  using P = arith::CmpIPredicate;
  auto predicate = dyn_cast<arith::CmpIPredicateAttr>(value);
  if (!predicate)
    return false;
  switch (predicate.getValue()) {
  case P::eq:
  case P::ne:
  case P::slt:
  case P::sle:
  case P::sgt:
  case P::sge:
  case P::ult:
  case P::ule:
  case P::ugt:
  case P::uge:
    return true;
  }
  return false;
}

static bool isKnownCast(Attribute value) {
  auto kind = dyn_cast<linalg::TypeFnAttr>(value);
  if (!kind)
    return false;
  switch (kind.getValue()) {
  case linalg::TypeFn::cast_signed:
  case linalg::TypeFn::cast_unsigned:
    return true;
  }
  return false;
}

static bool isKnownElementwise(Attribute value) {
  using K = linalg::ElementwiseKind;
  auto kind = dyn_cast<linalg::ElementwiseKindAttr>(value);
  if (!kind)
    return false;
  switch (kind.getValue()) {
  case K::exp:
  case K::log:
  case K::abs:
  case K::ceil:
  case K::floor:
  case K::negf:
  case K::reciprocal:
  case K::round:
  case K::sqrt:
  case K::rsqrt:
  case K::square:
  case K::tanh:
  case K::erf:
  case K::add:
  case K::sub:
  case K::mul:
  case K::div:
  case K::div_unsigned:
  case K::max_signed:
  case K::min_signed:
  case K::max_unsigned:
  case K::min_unsigned:
  case K::powf:
  case K::select:
    return true;
  }
  return false;
}

static bool areKnownIterators(Attribute value) {
  auto kinds = dyn_cast<ArrayAttr>(value);
  return kinds && llvm::all_of(kinds, [](Attribute kind) {
           auto iterator = dyn_cast<linalg::IteratorTypeAttr>(kind);
           if (!iterator)
             return false;
           switch (iterator.getValue()) {
           case utils::IteratorType::parallel:
           case utils::IteratorType::reduction:
             return true;
           }
           return false;
         });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

using Use = AttributeUse;

static constexpr AttributeRule fastMath{
    "fastmath", Use::Dropped,
    "permits less exact results; the exact one is always right",
    isKnownFastMath};
static constexpr AttributeRule overflow{
    "overflowFlags", Use::Dropped,
    "results that overflow are poison, for which any number will do",
    isKnownOverflow};
static constexpr AttributeRule exact{
    "isExact", Use::Dropped,
    "results that are rounded are poison, for which any number will do"};
static constexpr AttributeRule rounding{
    "roundingmode", Use::Honoured,
    "tp-legalize moves the nearest number to its neighbour", isKnownRounding};
static constexpr AttributeRule floatPredicate{
    "predicate", Use::Honoured, "ordered and unordered comparisons",
    isKnownFloatPredicate};
static constexpr AttributeRule integerPredicate{
    "predicate", Use::Honoured, "signed and unsigned comparisons",
    isKnownIntegerPredicate};
static constexpr AttributeRule value{
    "value", Use::Honoured, "numbers; tp-verify-legal refuses other kinds"};
static constexpr AttributeRule segments{"operandSegmentSizes", Use::Honoured,
                                        "which operands are which"};

static constexpr AttributeRule castKind{
    "cast", Use::Honoured, "the op's body has the signed or unsigned casts",
    isKnownCast};
static constexpr AttributeRule elementwiseKind{
    "kind", Use::Honoured, "the op's body computes the function",
    isKnownElementwise};
static constexpr AttributeRule strides{"strides", Use::Honoured,
                                       "in the op's indexing maps"};
static constexpr AttributeRule dilations{"dilations", Use::Honoured,
                                         "in the op's indexing maps"};
static constexpr AttributeRule indexingMaps{"indexing_maps", Use::Honoured,
                                            "which elements the body reads"};
static constexpr AttributeRule iterators{"iterator_types", Use::Honoured,
                                         "parallel and reduction loops",
                                         areKnownIterators};
static constexpr AttributeRule doc{"doc", Use::Ignored, "a text for readers"};
static constexpr AttributeRule libraryCall{
    "library_call", Use::Ignored,
    "a function that may compute the op; the body says what is computed"};
static constexpr AttributeRule dimensions{"dimensions", Use::Honoured,
                                          "in the op's indexing maps"};
static constexpr AttributeRule permutation{"permutation", Use::Honoured,
                                           "in the op's indexing maps"};
static constexpr AttributeRule dim{"dim", Use::Honoured,
                                   "the loop or dimension that is meant"};
static constexpr AttributeRule dimension{
    "dimension", Use::Honoured, "the dimension that tp-normalize sums over"};
static constexpr AttributeRule winograd{
    "fmr", Use::Honoured, "tp-normalize writes the transform as products"};
static constexpr AttributeRule outerDims{
    "outer_dims_perm", Use::Honoured,
    "tp-normalize writes a pad, a reshape and a transpose"};
static constexpr AttributeRule innerDims{
    "inner_dims_pos", Use::Honoured,
    "tp-normalize writes a pad, a reshape and a transpose"};
static constexpr AttributeRule tiles{
    "static_inner_tiles", Use::Honoured,
    "tp-normalize writes a pad, a reshape and a transpose"};

static constexpr AttributeRule affineMap{
    "map", Use::Honoured, "tp-legalize writes its expressions as arithmetic"};
static constexpr AttributeRule basis{
    "static_basis", Use::Honoured,
    "tp-legalize writes the products and quotients"};
static constexpr AttributeRule disjoint{
    "disjoint", Use::Ignored,
    "promises that indices are below the basis; the sum is the same"};

static constexpr AttributeRule reassociation{
    "reassociation", Use::Honoured, "which dimensions are split or joined"};
static constexpr AttributeRule staticShape{"static_output_shape", Use::Honoured,
                                           "the result's shape"};
static constexpr AttributeRule offsets{"static_offsets", Use::Honoured,
                                       "where a slice begins"};
static constexpr AttributeRule sizes{"static_sizes", Use::Honoured,
                                     "how large a slice is"};
static constexpr AttributeRule sliceStrides{"static_strides", Use::Honoured,
                                            "the steps of a slice"};
static constexpr AttributeRule gatherDims{
    "gather_dims", Use::Honoured, "the dimensions that coordinates are of"};
static constexpr AttributeRule scatterDims{
    "scatter_dims", Use::Honoured, "the dimensions that coordinates are of"};
static constexpr AttributeRule unique{
    "unique", Use::Ignored,
    "promises that no coordinates are the same; slices that are written last "
    "win"};
static constexpr AttributeRule dimensionMap{
    "dimension_map", Use::Honoured, "the dimensions that places are of"};
static constexpr AttributeRule uniqueIndices{
    "unique_indices", Use::Ignored,
    "promises that no places are the same; slices are written in their order"};
static constexpr AttributeRule low{"static_low", Use::Honoured,
                                   "how much is added in front"};
static constexpr AttributeRule high{"static_high", Use::Honoured,
                                    "how much is added behind"};
static constexpr AttributeRule noFold{
    "nofold", Use::Ignored, "says that a copy is wanted; values are the same"};

static constexpr AttributeRule noInline{"no_inline", Use::Ignored,
                                        "what is inlined computes the same"};
static constexpr AttributeRule unsignedLoop{
    "unsignedCmp", Use::Honoured,
    "refused at bounds below zero; others compare the same"};
static constexpr AttributeRule lowerBound{"staticLowerBound", Use::Honoured,
                                          "bounds of unrolled loops"};
static constexpr AttributeRule upperBound{"staticUpperBound", Use::Honoured,
                                          "bounds of unrolled loops"};
static constexpr AttributeRule step{"staticStep", Use::Honoured,
                                    "steps of unrolled loops"};
static constexpr AttributeRule mapping{
    "mapping", Use::Ignored, "which threads run the iterations, in any order"};
static constexpr AttributeRule cases{"cases", Use::Honoured,
                                     "the numbers that are compared"};

static constexpr AttributeRule symbolName{"sym_name", Use::Honoured,
                                          "what refers to it"};
static constexpr AttributeRule visibility{"sym_visibility", Use::Honoured,
                                          "which function is compiled"};
static constexpr AttributeRule globalType{"type", Use::Honoured,
                                          "the type of its numbers"};
static constexpr AttributeRule isMutable{"is_mutable", Use::Honoured,
                                         "tp-legalize refuses mutable ones"};
static constexpr AttributeRule global{"global", Use::Honoured,
                                      "whose numbers are loaded"};
static constexpr AttributeRule callee{"callee", Use::Honoured,
                                      "what tp-legalize inlines"};
static constexpr AttributeRule functionType{"function_type", Use::Honoured,
                                            "arguments and results"};
static constexpr AttributeRule argAttributes{
    "arg_attrs", Use::Honoured, "tp's own; those of others are ignored"};
static constexpr AttributeRule resultAttributes{
    "res_attrs", Use::Honoured, "tp's own; those of others are ignored"};
static constexpr AttributeRule message{"msg", Use::Honoured,
                                       "what a failed check prints"};

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {
class OpTable {
public:
  OpTable();
  llvm::StringMap<OpRule> rules;

private:
  using Attributes = std::initializer_list<const AttributeRule *>;
  using Names = std::initializer_list<StringRef>;
  void add(StringRef dialect, Attributes attributes, Names names) {
    for (StringRef name : names)
      rules[(dialect + "." + name).str()] = {OpUse::Accepted, attributes};
  }
  void refuse(StringRef dialect, OpUse use, Names names) {
    for (StringRef name : names)
      rules[(dialect + "." + name).str()] = {use, {}};
  }
};
} // namespace

OpTable::OpTable() {
  add("arith", {&fastMath},
      {"addf", "divf", "extf", "maxnumf", "maximumf", "minnumf", "minimumf",
       "mulf", "negf", "remf", "subf"});
  add("arith", {&overflow}, {"addi", "muli", "shli", "subi", "trunci"});
  add("arith", {},
      {"addui_extended", "andi",           "bitcast",    "ceildivsi",
       "ceildivui",      "extsi",          "extui",      "fptosi",
       "fptoui",         "floordivsi",     "index_cast", "index_castui",
       "maxsi",          "maxui",          "minsi",      "minui",
       "mulsi_extended", "mului_extended", "ori",        "remsi",
       "remui",          "sitofp",         "uitofp",     "xori",
       "select"});
  add("arith", {&floatPredicate, &fastMath}, {"cmpf"});
  add("arith", {&integerPredicate}, {"cmpi"});
  add("arith", {&value}, {"constant"});
  add("arith", {&exact}, {"divsi", "divui", "shrsi", "shrui"});
  add("arith", {&rounding, &fastMath}, {"truncf"});
  add("math", {&fastMath},
      {"absf",   "acos",     "acosh", "asin",      "asinh",    "atan2", "atan",
       "atanh",  "cbrt",     "ceil",  "clampf",    "copysign", "cos",   "cosh",
       "erf",    "erfc",     "exp2",  "expm1",     "exp",      "fpowi", "floor",
       "fma",    "isfinite", "isinf", "isnan",     "isnormal", "log10", "log1p",
       "log2",   "log",      "powf",  "roundeven", "round",    "rsqrt", "sin",
       "sincos", "sinh",     "sqrt",  "tan",       "tanh",     "trunc"});
  add("math", {}, {"absi", "ctlz", "cttz", "ctpop", "ipowi"});
  add("tensor", {},
      {"bitcast", "cast", "dim", "empty", "extract", "from_elements",
       "generate", "insert", "rank", "reshape", "splat", "yield"});
  add("tensor", {&reassociation}, {"collapse_shape"});
  add("tensor", {&dim}, {"concat"});
  add("tensor", {&reassociation, &staticShape}, {"expand_shape"});
  add("tensor", {&offsets, &sizes, &sliceStrides, &segments},
      {"extract_slice", "insert_slice", "parallel_insert_slice"});
  add("tensor", {&gatherDims, &unique}, {"gather"});
  add("tensor", {&low, &high, &noFold, &segments}, {"pad"});
  add("tensor", {&scatterDims, &unique}, {"scatter"});
  add("linalg", {&dim}, {"index"});
  add("linalg", {&dimension}, {"softmax"});
  add("linalg", {&winograd},
      {"winograd_filter_transform", "winograd_input_transform",
       "winograd_output_transform"});
  add("linalg", {}, {"yield", "map"});
  add("linalg", {&segments},
      {"abs",
       "add",
       "batch_matvec",
       "batch_mmt4d",
       "batch_vecmat",
       "ceil",
       "conv_1d",
       "conv_2d",
       "conv_3d",
       "div",
       "div_unsigned",
       "dot",
       "erf",
       "exp",
       "fill",
       "fill_rng_2d",
       "floor",
       "log",
       "matvec",
       "max",
       "min",
       "mmt4d",
       "mul",
       "negf",
       "powf",
       "quantized_batch_matmul",
       "quantized_matmul",
       "reciprocal",
       "round",
       "rsqrt",
       "select",
       "sqrt",
       "square",
       "sub",
       "tanh",
       "vecmat"});
  add("linalg", {&indexingMaps, &castKind, &segments},
      {"batch_matmul", "batch_reduce_matmul", "contract", "matmul"});
  add("linalg", {&dimensions}, {"broadcast"});
  add("linalg", {&strides, &dilations, &segments},
      {"conv_1d_ncw_fcw",
       "conv_1d_nwc_wcf",
       "conv_2d_nchw_fchw",
       "conv_2d_nchw_fchw_q",
       "conv_2d_ngchw_fgchw",
       "conv_2d_ngchw_gfchw",
       "conv_2d_ngchw_gfchw_q",
       "conv_2d_nhwc_fhwc",
       "conv_2d_nhwc_fhwc_q",
       "conv_2d_nhwc_hwcf",
       "conv_2d_nhwc_hwcf_q",
       "conv_2d_nhwgc_gfhwc",
       "conv_2d_nhwgc_gfhwc_q",
       "conv_3d_ncdhw_fcdhw",
       "conv_3d_ndhwc_dhwcf",
       "conv_3d_ndhwc_dhwcf_q",
       "depthwise_conv_1d_ncw_cw",
       "depthwise_conv_1d_nwc_wc",
       "depthwise_conv_1d_nwc_wcm",
       "depthwise_conv_2d_nchw_chw",
       "depthwise_conv_2d_nhwc_hwc",
       "depthwise_conv_2d_nhwc_hwc_q",
       "depthwise_conv_2d_nhwc_hwcm",
       "depthwise_conv_2d_nhwc_hwcm_q",
       "depthwise_conv_3d_ncdhw_cdhw",
       "depthwise_conv_3d_ndhwc_dhwc",
       "depthwise_conv_3d_ndhwc_dhwcm",
       "pooling_nchw_max",
       "pooling_nchw_sum",
       "pooling_ncw_max",
       "pooling_ncw_sum",
       "pooling_ndhwc_max",
       "pooling_ndhwc_min",
       "pooling_ndhwc_sum",
       "pooling_nhwc_max",
       "pooling_nhwc_max_unsigned",
       "pooling_nhwc_min",
       "pooling_nhwc_min_unsigned",
       "pooling_nhwc_sum",
       "pooling_nwc_max",
       "pooling_nwc_max_unsigned",
       "pooling_nwc_min",
       "pooling_nwc_min_unsigned",
       "pooling_nwc_sum"});
  add("linalg", {&castKind, &segments}, {"copy"});
  add("linalg", {&elementwiseKind, &indexingMaps, &segments}, {"elementwise"});
  add("linalg", {&indexingMaps, &iterators, &doc, &libraryCall, &segments},
      {"generic"});
  add("linalg", {&dimensions}, {"reduce"});
  add("linalg", {&permutation}, {"transpose"});
  add("linalg", {&outerDims, &innerDims, &tiles, &segments}, {"pack"});
  add("linalg", {&outerDims, &innerDims, &tiles}, {"unpack"});
  add("scf", {&noInline}, {"execute_region"});
  add("scf", {&unsignedLoop}, {"for"});
  add("scf", {&lowerBound, &upperBound, &step, &mapping, &segments},
      {"forall"});
  add("scf", {}, {"if", "forall.in_parallel", "yield"});
  add("scf", {&cases}, {"index_switch"});
  add("complex", {&fastMath},
      {"abs",   "add",   "angle", "atan2", "conj", "cos", "div", "exp",
       "expm1", "im",    "log1p", "log",   "mul",  "neg", "pow", "powi",
       "re",    "rsqrt", "sign",  "sin",   "sqrt", "sub", "tan", "tanh"});
  add("complex", {&value}, {"constant"});
  add("complex", {}, {"create", "eq", "neq"});
  add("ml_program", {&global}, {"global_load_const", "global_load"});
  add("ml_program", {&symbolName, &globalType, &isMutable, &value, &visibility},
      {"global"});
  add("func", {&callee, &argAttributes, &resultAttributes, &noInline},
      {"call"});
  add("func",
      {&symbolName, &functionType, &visibility, &argAttributes,
       &resultAttributes, &noInline},
      {"func"});
  add("func", {}, {"return"});
  add("cf", {&message}, {"assert"});
  add("affine", {&affineMap}, {"apply", "max", "min"});
  add("affine", {&basis}, {"delinearize_index"});
  add("affine", {&basis, &disjoint, &segments}, {"linearize_index"});
  add("tm_tensor", {&dimensionMap, &uniqueIndices}, {"scatter"});
  add("tm_tensor", {}, {"yield"});

  refuse("scf", OpUse::RefusedLater,
         {"condition", "parallel", "reduce", "reduce.return", "while"});
  refuse("complex", OpUse::RefusedLater, {"bitcast"});
  refuse("ml_program", OpUse::RefusedLater,
         {"func", "global_load_graph", "global_store_graph", "global_store",
          "output", "return", "subgraph", "token"});
  refuse("func", OpUse::RefusedLater, {"call_indirect", "constant"});
  refuse("cf", OpUse::RefusedLater, {"br", "cond_br", "switch"});
  refuse("affine", OpUse::RefusedLater,
         {"dma_start", "dma_wait", "for", "if", "load", "parallel", "prefetch",
          "store", "vector_load", "vector_store", "yield"});
  refuse("tm_tensor", OpUse::RefusedLater,
         {"attention", "scan", "sort", "topk"});
  refuse("arith", OpUse::Refused, {"scaling_extf", "scaling_truncf"});
}

static const OpTable &table() {
  static const OpTable table;
  return table;
}

ArrayRef<StringLiteral> tp::dialectsOfOpTable() {
  static constexpr StringLiteral dialects[] = {
      "affine", "arith",      "cf",  "complex", "func",     "linalg",
      "math",   "ml_program", "scf", "tensor",  "tm_tensor"};
  return dialects;
}

const OpRule *tp::opRule(StringRef name) {
  auto it = table().rules.find(name);
  return it == table().rules.end() ? nullptr : &it->second;
}

SmallVector<StringRef> tp::opsOfTable() {
  SmallVector<StringRef> names(table().rules.keys());
  llvm::sort(names);
  return names;
}
