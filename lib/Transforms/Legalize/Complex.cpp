//===- Complex.cpp - complex numbers as two real ones ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A complex value becomes its real and its imaginary part, everywhere; no later
// stage knows complex numbers. At the function's ports both stand in one tensor
// with a last dimension of 2, as PyTorch's view_as_real has them.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "Legalize.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"
#include <complex>

using namespace mlir;
using namespace tp;

/// Other types of complex elements are refused later, by name.
static bool isComplex(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = tensor.getElementType();
  return isa<ComplexType>(type);
}

/// The type of each part.
static Type partType(Type type) {
  Type element = cast<ComplexType>(getElementTypeOrSelf(type)).getElementType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(element);
  return element;
}

/// The type of both parts side by side.
static RankedTensorType pairType(Type type) {
  auto part = cast<RankedTensorType>(partType(type));
  SmallVector<int64_t> shape(part.getShape());
  shape.push_back(2);
  return RankedTensorType::get(shape, part.getElementType());
}

static bool handlesComplex(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isComplex) ||
         llvm::any_of(op->getResultTypes(), isComplex);
}

static bool containsComplex(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return handlesComplex(inner) ? WalkResult::interrupt()
                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
using ComplexParts = std::array<Value, 2>;

class ComplexSplitter {
public:
  explicit ComplexSplitter(func::FuncOp function)
      : function(function), builder(function.getContext()) {}
  LogicalResult run();

private:
  void splitArguments();
  void joinResults();
  LogicalResult splitOp(Operation *op);
  LogicalResult splitConstant(arith::ConstantOp op);
  /// An op that moves elements, or selects among them: once per part.
  void splitMovement(Operation *op, IRMapping &mapping);
  LogicalResult splitLoops(linalg::LinalgOp op);
  LogicalResult splitScalar(Operation *op, IRMapping &mapping);

  func::FuncOp function;
  OpBuilder builder;
  llvm::DenseMap<Value, ComplexParts> parts;
  SmallVector<Operation *> replaced;
  /// The number of every complex argument, and what stands for it.
  SmallVector<std::pair<unsigned, BlockArgument>> arguments;
};
} // namespace

void ComplexSplitter::splitArguments() {
  Block &block = function.getBody().front();
  builder.setInsertionPointToStart(&block);
  for (unsigned number = 0; number < block.getNumArguments(); ++number) {
    BlockArgument argument = block.getArgument(number);
    Type type = argument.getType();
    if (!isComplex(type))
      continue;
    RankedTensorType pair = pairType(type);
    // Behind all others, until the complex one goes.
    BlockArgument real = block.addArgument(pair, argument.getLoc());
    for (auto [i, part] : llvm::enumerate(parts[argument])) {
      SmallVector<OpFoldResult> offsets(pair.getRank(),
                                        builder.getIndexAttr(0));
      SmallVector<OpFoldResult> strides(pair.getRank(),
                                        builder.getIndexAttr(1));
      SmallVector<OpFoldResult> sizes =
          getAsIndexOpFoldResult(builder.getContext(), pair.getShape());
      offsets.back() = builder.getIndexAttr(i);
      sizes.back() = builder.getIndexAttr(1);
      part = tensor::ExtractSliceOp::create(
          builder, argument.getLoc(), cast<RankedTensorType>(partType(type)),
          real, offsets, sizes, strides);
    }
    arguments.push_back({number, real});
  }
}

void ComplexSplitter::joinResults() {
  Operation *terminator = function.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto both = parts.find(operand.get());
    if (both == parts.end())
      continue;
    Location loc = operand.get().getLoc();
    auto part = cast<RankedTensorType>(both->second[0].getType());
    int64_t rank = part.getRank();
    SmallVector<int64_t> shape(part.getShape());
    shape.push_back(2);
    auto whole =
        AffineMap::getMultiDimIdentityMap(rank + 1, builder.getContext());
    AffineMap one = AffineMap::get(
        rank + 1, 0, whole.getResults().take_front(rank), builder.getContext());
    AffineMap maps[] = {one, one, whole};
    SmallVector<utils::IteratorType> loops(rank + 1,
                                           utils::IteratorType::parallel);
    Value empty =
        tensor::EmptyOp::create(builder, loc, shape, part.getElementType());
    auto joined = linalg::GenericOp::create(
        builder, loc, empty.getType(), ValueRange(both->second), empty, maps,
        loops, [&](OpBuilder &nested, Location loc, ValueRange elements) {
          Value which = linalg::IndexOp::create(nested, loc, rank);
          Value zero = arith::ConstantIndexOp::create(nested, loc, 0);
          Value isReal = arith::CmpIOp::create(
              nested, loc, arith::CmpIPredicate::eq, which, zero);
          Value element = arith::SelectOp::create(nested, loc, isReal,
                                                  elements[0], elements[1]);
          linalg::YieldOp::create(nested, loc, element);
        });
    operand.set(joined.getResult(0));
  }
}

LogicalResult ComplexSplitter::splitConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  auto type = dyn_cast<RankedTensorType>(partType(op.getType()));
  if (!elements || !type || !isa<FloatType>(type.getElementType()))
    return op.emitError() << "constant of " << op.getType()
                          << " is not handled, expected dense elements of "
                             "complex floats";
  SmallVector<APFloat> numbers[2];
  auto add = [&](const std::complex<APFloat> &number) {
    numbers[0].push_back(number.real());
    numbers[1].push_back(number.imag());
  };
  if (elements.isSplat())
    add(elements.getSplatValue<std::complex<APFloat>>());
  else
    for (std::complex<APFloat> number :
         elements.getValues<std::complex<APFloat>>())
      add(number);
  for (auto [part, list] : llvm::zip(parts[op], numbers))
    part = arith::ConstantOp::create(builder, op.getLoc(),
                                     DenseElementsAttr::get(type, list));
  return success();
}

void ComplexSplitter::splitMovement(Operation *op, IRMapping &mapping) {
  SmallVector<ComplexParts> results(op->getNumResults());
  for (unsigned i = 0; i < 2; ++i) {
    IRMapping part = mapping;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto both = parts.find(operand); both != parts.end())
          part.map(operand, both->second[i]);
    });
    Operation *clone = builder.clone(*op, part);
    for (auto [result, both] : llvm::zip(clone->getResults(), results)) {
      result.setType(partType(result.getType()));
      both[i] = result;
    }
  }
  for (auto [result, both] : llvm::zip(op->getResults(), results))
    parts[result] = both;
}

LogicalResult ComplexSplitter::splitScalar(Operation *op, IRMapping &mapping) {
  Location loc = op->getLoc();
  if (auto create = dyn_cast<complex::CreateOp>(op)) {
    parts[create] = {mapping.lookupOrDefault(create.getReal()),
                     mapping.lookupOrDefault(create.getImaginary())};
    return success();
  }
  if (isa<complex::ReOp, complex::ImOp>(op)) {
    mapping.map(op->getResult(0),
                parts.at(op->getOperand(0))[isa<complex::ImOp>(op)]);
    return success();
  }
  if (auto constant = dyn_cast<complex::ConstantOp>(op)) {
    for (auto [part, number] : llvm::zip(parts[constant], constant.getValue()))
      part = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(number));
    return success();
  }
  if (isa<arith::SelectOp, tensor::ExtractOp>(op)) {
    splitMovement(op, mapping);
    return success();
  }
  return op->emitError() << "'" << op->getName()
                         << "' of complex numbers is not handled, expected "
                            "their arithmetic and functions";
}

/// A loop nest with every complex operand as two.
LogicalResult ComplexSplitter::splitLoops(linalg::LinalgOp op) {
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<Value> &list = op.isDpsInit(&operand) ? inits : inputs;
    auto both = parts.find(operand.get());
    if (both == parts.end())
      list.push_back(operand.get());
    else
      llvm::append_range(list, both->second);
    maps.append(both == parts.end() ? 1 : 2,
                op.getMatchingIndexingMap(&operand));
  }
  LogicalResult result = success();
  Block &body = *op.getBlock();
  auto split = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(ValueRange(inits)), inputs, inits, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        OpBuilder outer = builder;
        builder = nested;
        IRMapping mapping;
        for (BlockArgument argument : body.getArguments()) {
          if (isComplex(argument.getType()))
            parts[argument] = {elements[0], elements[1]};
          else
            mapping.map(argument, elements[0]);
          elements = elements.drop_front(isComplex(argument.getType()) ? 2 : 1);
        }
        for (Operation &inner : body.without_terminator()) {
          if (!handlesComplex(&inner))
            builder.clone(inner, mapping);
          else if (failed(splitScalar(&inner, mapping)))
            result = failure();
          if (failed(result))
            break;
        }
        SmallVector<Value> yielded;
        if (succeeded(result))
          for (Value value : body.getTerminator()->getOperands()) {
            auto both = parts.find(value);
            if (both == parts.end())
              yielded.push_back(mapping.lookupOrDefault(value));
            else
              llvm::append_range(yielded, both->second);
          }
        linalg::YieldOp::create(builder, loc, yielded);
        builder = outer;
      });
  if (failed(result)) {
    split.erase();
    return failure();
  }
  unsigned number = 0;
  for (OpResult old : op->getResults()) {
    if (isComplex(old.getType())) {
      parts[old] = {split.getResult(number), split.getResult(number + 1)};
      number += 2;
    } else {
      old.replaceAllUsesWith(split.getResult(number++));
    }
  }
  return success();
}

LogicalResult ComplexSplitter::splitOp(Operation *op) {
  builder.setInsertionPoint(op);
  if (auto loops = dyn_cast<linalg::LinalgOp>(op)) {
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      ComplexParts &filled = parts[fill.getResult(0)];
      ComplexParts number = parts.at(fill.value());
      ComplexParts init = parts.at(fill.getOutputs()[0]);
      for (unsigned i = 0; i < 2; ++i)
        filled[i] =
            linalg::FillOp::create(builder, op->getLoc(), number[i], init[i])
                .getResult(0);
      return success();
    }
    return splitLoops(loops);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return splitConstant(constant);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    if (Value padding = pad.getConstantPaddingValue();
        padding && pad->isAncestor(padding.getDefiningOp()->getParentOp())) {
      padding.getDefiningOp()->moveBefore(pad);
      if (failed(splitOp(padding.getDefiningOp())))
        return failure();
      replaced.push_back(padding.getDefiningOp());
      builder.setInsertionPoint(op);
    }
  IRMapping mapping;
  bool moves =
      isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::ConcatOp,
          tensor::PadOp, tensor::EmptyOp, tensor::SplatOp,
          tensor::FromElementsOp, tensor::CastOp, KeptOp>(op);
  if (moves) {
    splitMovement(op, mapping);
    return success();
  }
  if (failed(splitScalar(op, mapping)))
    return failure();
  for (OpResult result : op->getResults())
    if (Value part = mapping.lookupOrNull(result))
      result.replaceAllUsesWith(part);
  return success();
}

LogicalResult ComplexSplitter::run() {
  splitArguments();
  Block &block = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (!containsComplex(&op))
      continue;
    if (failed(splitOp(&op)))
      return failure();
    replaced.push_back(&op);
  }
  joinResults();
  for (Operation *op : llvm::reverse(replaced)) {
    op->dropAllUses();
    op->erase();
  }
  // Each takes the type and the place of the one it stands for.
  for (auto [number, real] : arguments) {
    BlockArgument old = block.getArgument(number);
    old.setType(real.getType());
    real.replaceAllUsesWith(old);
  }
  block.eraseArguments(block.getNumArguments() - arguments.size(),
                       arguments.size());
  function.setFunctionType(
      FunctionType::get(function.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
  return success();
}

/// Functions of complex numbers by those of real ones.
static LogicalResult expandFunctions(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  populateComplexToStandardConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<complex::ComplexDialect>();
  target.addLegalOp<complex::CreateOp, complex::ReOp, complex::ImOp,
                    complex::ConstantOp, complex::BitcastOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(function, target, std::move(patterns));
}

LogicalResult legalize::splitComplex(func::FuncOp function) {
  if (llvm::none_of(function.getArgumentTypes(), isComplex) &&
      !containsComplex(function))
    return success();
  if (failed(expandFunctions(function)))
    return failure();
  IRRewriter rewriter(function.getContext());
  for (auto named : llvm::make_early_inc_range(
           function.getBody().front().getOps<linalg::LinalgOp>())) {
    if (isa<linalg::GenericOp, linalg::FillOp>(named) ||
        !containsComplex(named))
      continue;
    rewriter.setInsertionPoint(named);
    if (failed(linalg::generalizeNamedOp(rewriter, named)))
      return named->emitError() << "'" << named->getName()
                                << "' of complex numbers is not handled, "
                                   "expected linalg.generic";
  }
  // Named ops bring complex arithmetic along.
  if (failed(expandFunctions(function)))
    return failure();
  return ComplexSplitter(function).run();
}
