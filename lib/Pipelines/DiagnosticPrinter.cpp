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
#include "llvm/Support/Unicode.h"
#include <algorithm>

using namespace mlir;
using namespace tp;

/// "layers.0.wq mm_3", or the file where it is all that the location has; empty
/// where the location has a line of a file, or no name at all.
static std::string placeOf(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return file.getLine() == 0 ? file.getFilename().str() : "";
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

/// A line of text that a reader can take in: signatures of functions of many
/// arguments have thousands of letters. Other bytes, of a file that is no
/// program, could do anything to a terminal.
static bool isPrintable(StringRef line) {
  constexpr size_t mostShown = 1000;
  if (line.size() > mostShown)
    return false;
  std::string text = line.rtrim('\r').str();
  std::replace(text.begin(), text.end(), '\t', ' ');
  return llvm::sys::unicode::columnWidthUTF8(text) >= 0;
}

/// A whole op with its constants and regions, or a list of all arguments, is
/// nothing that a reader can take in either: its begin and its end.
static std::string shortened(std::string message) {
  constexpr size_t mostShown = 2000, shownAtEnd = 500;
  if (message.size() <= mostShown)
    return message;
  auto isInside = [&](size_t at) { return (message[at] & 0xC0) == 0x80; };
  size_t begin = mostShown - shownAtEnd, end = message.size() - shownAtEnd;
  while (isInside(begin))
    --begin;
  while (isInside(end))
    ++end;
  return message.substr(0, begin) + " [... " + std::to_string(end - begin) +
         " bytes left out ...] " + message.substr(end);
}

bool DiagnosticPrinter::hasPrintableLine(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return true;
  const llvm::MemoryBuffer *buffer = getBufferForFile(place.getFilename());
  for (unsigned id = 1; buffer && id <= mgr.getNumBuffers(); ++id) {
    if (mgr.getMemoryBuffer(id) != buffer)
      continue;
    llvm::SMLoc begin =
        mgr.FindLocForLineAndColumn(id, place.getLine(), /*ColNo=*/1);
    if (!begin.isValid())
      return true;
    StringRef rest(begin.getPointer(),
                   buffer->getBufferEnd() - begin.getPointer());
    return isPrintable(rest.take_until([](char c) { return c == '\n'; }));
  }
  return true;
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  auto isSpecial = [&](Diagnostic &each) {
    std::string text = each.str();
    return !placeOf(each.getLocation()).empty() ||
           !hasPrintableLine(each.getLocation()) || text != shortened(text);
  };
  if (!isSpecial(diagnostic) &&
      llvm::none_of(diagnostic.getNotes(), isSpecial)) {
    emitDiagnostic(diagnostic);
    return;
  }
  auto printOne = [&](Diagnostic &each) {
    std::string place = placeOf(each.getLocation());
    if (place.empty())
      emitDiagnostic(each.getLocation(), shortened(each.str()),
                     each.getSeverity(), hasPrintableLine(each.getLocation()));
    else
      mgr.PrintMessage(os, llvm::SMDiagnostic(place, kindOf(each.getSeverity()),
                                              shortened(each.str())));
  };
  printOne(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    printOne(note);
}
