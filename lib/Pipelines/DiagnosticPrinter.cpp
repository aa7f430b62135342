//===- DiagnosticPrinter.cpp - messages without a file --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/DiagnosticPrinter.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "tp/IR/ModuleLocation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tp;

/// "layers.0.wq mm_3"; empty where the location has a line of a file, or no
/// name at all.
static std::string placeOf(Location location) {
  if (location->findInstanceOf<FileLineColLoc>())
    return "";
  SourceName name = sourceNameOf(location);
  if (name.module.empty() && name.location.empty())
    if (auto part = location->findInstanceOf<NameLoc>())
      return part.getName().str();
  StringRef between = name.module.empty() || name.location.empty() ? "" : " ";
  return (name.module + between + name.location).str();
}

static llvm::SourceMgr::DiagKind kindOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return llvm::SourceMgr::DK_Note;
  case DiagnosticSeverity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case DiagnosticSeverity::Error:
    return llvm::SourceMgr::DK_Error;
  case DiagnosticSeverity::Remark:
    return llvm::SourceMgr::DK_Remark;
  }
  llvm_unreachable("unknown severity");
}

DiagnosticPrinter::DiagnosticPrinter(llvm::SourceMgr &sources,
                                     MLIRContext *context)
    : SourceMgrDiagnosticHandler(sources, context) {
  setHandler([this](Diagnostic &diagnostic) { print(diagnostic); });
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  auto hasPlace = [](Diagnostic &each) {
    return !placeOf(each.getLocation()).empty();
  };
  if (!hasPlace(diagnostic) && llvm::none_of(diagnostic.getNotes(), hasPlace)) {
    emitDiagnostic(diagnostic);
    return;
  }
  auto printOne = [&](Diagnostic &each) {
    std::string place = placeOf(each.getLocation());
    if (place.empty())
      emitDiagnostic(each.getLocation(), each.str(), each.getSeverity());
    else
      mgr.PrintMessage(os, llvm::SMDiagnostic(place, kindOf(each.getSeverity()),
                                              each.str()));
  };
  printOne(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    printOne(note);
}
