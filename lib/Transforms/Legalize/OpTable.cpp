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
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Values of enums
//===----------------------------------------------------------------------===//
// A value that a dialect adds later is refused.

/// Values of an enum are numbered from 0; `last` is the last one that tp knows.
template <typename AttributeTy, auto last> static bool isUpTo(Attribute value) {
  auto known = dyn_cast<AttributeTy>(value);
  return known && known.getValue() <= last;
}

/// By bits: the enums' own complement leaves out those that they do not have.
template <typename AttributeTy, auto known>
static bool hasNoOthers(Attribute value) {
  auto flags = dyn_cast<AttributeTy>(value);
  return flags && (static_cast<uint32_t>(flags.getValue()) &
                   ~static_cast<uint32_t>(known)) == 0;
}

using FastMath = arith::FastMathFlags;
using Overflow = arith::IntegerOverflowFlags;
static constexpr FastMath knownFastMath =
    FastMath::reassoc | FastMath::nnan | FastMath::ninf | FastMath::nsz |
    FastMath::arcp | FastMath::contract | FastMath::afn;

static bool areKnownIterators(Attribute value) {
  using Last = utils::IteratorType;
  auto kinds = dyn_cast<ArrayAttr>(value);
  return kinds &&
         llvm::all_of(kinds, isUpTo<linalg::IteratorTypeAttr, Last::reduction>);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// One is honoured where nothing else is said.

using Use = AttributeUse;
using Rule = AttributeRule;

// arith and math. Flags permit results that are less exact, where the exact one
// is always right, or they make results poison, for which any number is right.
static constexpr Rule fastMath{
    "fastmath", Use::Dropped,
    hasNoOthers<arith::FastMathFlagsAttr, knownFastMath>};
static constexpr Rule overflow{"overflowFlags", Use::Dropped,
                               hasNoOthers<arith::IntegerOverflowFlagsAttr,
                                           Overflow::nsw | Overflow::nuw>};
static constexpr Rule exact{"isExact", Use::Dropped};
// tp-legalize moves the nearest number to its neighbour.
static constexpr Rule rounding{
    "roundingmode", Use::Honoured,
    isUpTo<arith::RoundingModeAttr, arith::RoundingMode::to_nearest_away>};
static constexpr Rule floatPredicate{
    "predicate", Use::Honoured,
    isUpTo<arith::CmpFPredicateAttr, arith::CmpFPredicate::AlwaysTrue>};
static constexpr Rule integerPredicate{
    "predicate", Use::Honoured,
    isUpTo<arith::CmpIPredicateAttr, arith::CmpIPredicate::uge>};
// Numbers; tp-verify-legal refuses other kinds.
static constexpr Rule value{"value"};

// Of several dialects: which operands are which; whether a function may be
// inlined, which computes the same.
static constexpr Rule segments{"operandSegmentSizes"};
static constexpr Rule noInline{"no_inline", Use::Ignored};

// linalg. The op's body has the casts and computes the function.
static constexpr Rule castKind{
    "cast", Use::Honoured,
    isUpTo<linalg::TypeFnAttr, linalg::TypeFn::cast_unsigned>},
    elementwiseKind{
        "kind", Use::Honoured,
        isUpTo<linalg::ElementwiseKindAttr, linalg::ElementwiseKind::select>};
// The op's indexing maps have them.
static constexpr Rule strides{"strides"}, dilations{"dilations"},
    dimensions{"dimensions"}, permutation{"permutation"};
// Which elements the body reads, in parallel and reduction loops.
static constexpr Rule indexingMaps{"indexing_maps"},
    iterators{"iterator_types", Use::Honoured, areKnownIterators};
// A text for readers, and a function that may compute what the body says.
static constexpr Rule doc{"doc", Use::Ignored},
    libraryCall{"library_call", Use::Ignored};
// The loop or dimension that is meant, and the one that softmax sums over.
static constexpr Rule dim{"dim"}, dimension{"dimension"};
// tp-normalize writes the transforms as products, and packs as a pad, a reshape
// and a transpose.
static constexpr Rule winograd{"fmr"}, outerDims{"outer_dims_perm"},
    innerDims{"inner_dims_pos"}, tiles{"static_inner_tiles"};

// affine: tp-legalize writes the arithmetic. Indices that are promised to be
// below the basis have the same sum.
static constexpr Rule affineMap{"map"}, basis{"static_basis"},
    disjoint{"disjoint", Use::Ignored};

// tensor and tm_tensor: the dimensions that are split or joined, the result's
// shape, where a slice begins, its size and steps.
static constexpr Rule reassociation{"reassociation"},
    staticShape{"static_output_shape"}, offsets{"static_offsets"},
    sizes{"static_sizes"}, sliceStrides{"static_strides"};
// The dimensions that coordinates are of. Where they are promised to differ,
// slices are still written in their order.
static constexpr Rule gatherDims{"gather_dims"}, scatterDims{"scatter_dims"},
    dimensionMap{"dimension_map"}, unique{"unique", Use::Ignored},
    uniqueIndices{"unique_indices", Use::Ignored};
// How much is added in front and behind, and that a copy is wanted, whose
// values are the same.
static constexpr Rule low{"static_low"}, high{"static_high"},
    noFold{"nofold", Use::Ignored};

// scf: bounds and steps of unrolled loops, the numbers that are compared.
// Threads may run iterations in any order. Bounds below zero are refused, so
// that others compare the same as unsigned ones.
static constexpr Rule lowerBound{"staticLowerBound"},
    upperBound{"staticUpperBound"}, step{"staticStep"}, cases{"cases"},
    unsignedLoop{"unsignedCmp"}, mapping{"mapping", Use::Ignored};

// Symbols: what is called, loaded or compiled, its arguments and results, of
// which attributes of other dialects are ignored. tp-legalize inlines calls and
// refuses mutable globals.
static constexpr Rule symbolName{"sym_name"}, visibility{"sym_visibility"},
    globalType{"type"}, isMutable{"is_mutable"}, global{"global"},
    callee{"callee"}, functionType{"function_type"}, argAttributes{"arg_attrs"},
    resultAttributes{"res_attrs"};

// cf: what a failed check prints.
static constexpr Rule message{"msg"};

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
  /// `names` are words.
  void add(StringRef dialect, Attributes attributes, StringRef names,
           OpUse use = OpUse::Accepted) {
    for (StringRef name : llvm::split(names, ' '))
      rules[(dialect + "." + name).str()] = {use, attributes};
  }
  void refuseLater(StringRef dialect, StringRef names) {
    add(dialect, {}, names, OpUse::RefusedLater);
  }
};
} // namespace

OpTable::OpTable() {
  add("arith", {&fastMath},
      "addf divf extf maxnumf maximumf minnumf minimumf mulf negf remf subf");
  add("arith", {&overflow}, "addi muli shli subi trunci");
  add("arith", {},
      "addui_extended andi bitcast ceildivsi ceildivui extsi extui fptosi "
      "fptoui floordivsi index_cast index_castui maxsi maxui minsi minui "
      "mulsi_extended mului_extended ori remsi remui sitofp uitofp xori "
      "select");
  add("arith", {&floatPredicate, &fastMath}, "cmpf");
  add("arith", {&integerPredicate}, "cmpi");
  add("arith", {&value}, "constant");
  add("arith", {&exact}, "divsi divui shrsi shrui");
  add("arith", {&rounding, &fastMath}, "truncf");
  add("math", {&fastMath},
      "absf acos acosh asin asinh atan2 atan atanh cbrt ceil clampf copysign "
      "cos cosh erf erfc exp2 expm1 exp fpowi floor fma isfinite isinf isnan "
      "isnormal log10 log1p log2 log powf roundeven round rsqrt sin sincos "
      "sinh sqrt tan tanh trunc");
  add("math", {}, "absi ctlz cttz ctpop ipowi");
  add("tensor", {},
      "bitcast cast dim empty extract from_elements generate insert rank "
      "reshape splat yield");
  add("tensor", {&reassociation}, "collapse_shape");
  add("tensor", {&dim}, "concat");
  add("tensor", {&reassociation, &staticShape}, "expand_shape");
  add("tensor", {&offsets, &sizes, &sliceStrides, &segments},
      "extract_slice insert_slice parallel_insert_slice");
  add("tensor", {&gatherDims, &unique}, "gather");
  add("tensor", {&low, &high, &noFold, &segments}, "pad");
  add("tensor", {&scatterDims, &unique}, "scatter");
  add("linalg", {&dim}, "index");
  add("linalg", {&dimension}, "softmax");
  add("linalg", {&winograd},
      "winograd_filter_transform winograd_input_transform "
      "winograd_output_transform");
  add("linalg", {}, "yield map");
  add("linalg", {&segments},
      "abs add batch_matvec batch_mmt4d batch_vecmat ceil conv_1d conv_2d "
      "conv_3d div div_unsigned dot erf exp fill fill_rng_2d floor log matvec "
      "max min mmt4d mul negf powf quantized_batch_matmul quantized_matmul "
      "reciprocal round rsqrt select sqrt square sub tanh vecmat");
  add("linalg", {&indexingMaps, &castKind, &segments},
      "batch_matmul batch_reduce_matmul contract matmul");
  add("linalg", {&dimensions}, "broadcast");
  add("linalg", {&strides, &dilations, &segments},
      "conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d_nchw_fchw conv_2d_nchw_fchw_q "
      "conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_ngchw_gfchw_q "
      "conv_2d_nhwc_fhwc conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf "
      "conv_2d_nhwc_hwcf_q conv_2d_nhwgc_gfhwc conv_2d_nhwgc_gfhwc_q "
      "conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q "
      "depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc "
      "depthwise_conv_1d_nwc_wcm depthwise_conv_2d_nchw_chw "
      "depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q "
      "depthwise_conv_2d_nhwc_hwcm depthwise_conv_2d_nhwc_hwcm_q "
      "depthwise_conv_3d_ncdhw_cdhw depthwise_conv_3d_ndhwc_dhwc "
      "depthwise_conv_3d_ndhwc_dhwcm pooling_nchw_max pooling_nchw_sum "
      "pooling_ncw_max pooling_ncw_sum pooling_ndhwc_max pooling_ndhwc_min "
      "pooling_ndhwc_sum pooling_nhwc_max pooling_nhwc_max_unsigned "
      "pooling_nhwc_min pooling_nhwc_min_unsigned pooling_nhwc_sum "
      "pooling_nwc_max pooling_nwc_max_unsigned pooling_nwc_min "
      "pooling_nwc_min_unsigned pooling_nwc_sum");
  add("linalg", {&castKind, &segments}, "copy");
  add("linalg", {&elementwiseKind, &indexingMaps, &segments}, "elementwise");
  add("linalg", {&indexingMaps, &iterators, &doc, &libraryCall, &segments},
      "generic");
  add("linalg", {&dimensions}, "reduce");
  add("linalg", {&permutation}, "transpose");
  add("linalg", {&outerDims, &innerDims, &tiles, &segments}, "pack");
  add("linalg", {&outerDims, &innerDims, &tiles}, "unpack");
  add("scf", {&noInline}, "execute_region");
  add("scf", {&unsignedLoop}, "for");
  add("scf", {&lowerBound, &upperBound, &step, &mapping, &segments}, "forall");
  add("scf", {}, "if forall.in_parallel yield");
  add("scf", {&cases}, "index_switch");
  add("complex", {&fastMath},
      "abs add angle atan2 conj cos div exp expm1 im log1p log mul neg pow "
      "powi re rsqrt sign sin sqrt sub tan tanh");
  add("complex", {&value}, "constant");
  add("complex", {}, "create eq neq");
  add("ml_program", {&global}, "global_load_const global_load");
  add("ml_program", {&symbolName, &globalType, &isMutable, &value, &visibility},
      "global");
  add("func", {&callee, &argAttributes, &resultAttributes, &noInline}, "call");
  add("func",
      {&symbolName, &functionType, &visibility, &argAttributes,
       &resultAttributes, &noInline},
      "func");
  add("func", {}, "return");
  add("cf", {&message}, "assert");
  add("affine", {&affineMap}, "apply max min");
  add("affine", {&basis}, "delinearize_index");
  add("affine", {&basis, &disjoint, &segments}, "linearize_index");
  add("tm_tensor", {&dimensionMap, &uniqueIndices}, "scatter");
  add("tm_tensor", {}, "yield");
  refuseLater("scf", "condition parallel reduce reduce.return while");
  refuseLater("complex", "bitcast");
  refuseLater(
      "ml_program",
      "func global_load_graph global_store_graph global_store output return "
      "subgraph token");
  refuseLater("func", "call_indirect constant");
  refuseLater("cf", "br cond_br switch");
  refuseLater(
      "affine",
      "dma_start dma_wait for if load parallel prefetch store vector_load "
      "vector_store yield");
  refuseLater("tm_tensor", "attention scan sort topk");
  add("arith", {}, "scaling_extf scaling_truncf", OpUse::Refused);
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
