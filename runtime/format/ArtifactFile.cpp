//===- ArtifactFile.cpp - the container of a compiled program -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/OutputFile.h"
#include <algorithm>
#include <cstring>

using namespace tp::runtime;

namespace {

constexpr char magic[8] = {'T', 'P', 'A', 'R', 'T', 'I', 'F', '\0'};
constexpr size_t headerSize = 24;
constexpr size_t entrySize = 40;
// Far above any real artifact; keeps a damaged count from asking for memory.
constexpr uint32_t maxSections = 1024;

template <typename T> T readInteger(const char *bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= T(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

template <typename T> void appendInteger(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t alignUp(uint64_t value) {
  return (value + artifactAlignment - 1) / artifactAlignment *
         artifactAlignment;
}

} // namespace

uint64_t tp::runtime::checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

void ArtifactWriter::addSection(std::string name, std::string bytes) {
  sections.push_back({std::move(name), std::move(bytes)});
}

Status ArtifactWriter::serialize(std::string &file) const {
  if (sections.size() > maxSections)
    return invalidArgument("an artifact has at most " +
                           std::to_string(maxSections) + " sections, got " +
                           std::to_string(sections.size()));
  std::string table, payload;
  uint64_t start = headerSize + entrySize * sections.size();
  for (size_t i = 0; i < sections.size(); ++i) {
    const Section &section = sections[i];
    if (section.name.empty() || section.name.size() > artifactMaxSectionName ||
        section.name.find('\0') != std::string::npos)
      return invalidArgument("a section name has 1 to 16 bytes, got '" +
                             section.name + "'");
    for (size_t j = 0; j < i; ++j)
      if (sections[j].name == section.name)
        return invalidArgument("two sections are called '" + section.name +
                               "'");
    payload.resize(alignUp(start + payload.size()) - start);
    std::string name = section.name;
    name.resize(artifactMaxSectionName);
    table += name;
    appendInteger<uint64_t>(table, start + payload.size());
    appendInteger<uint64_t>(table, section.bytes.size());
    appendInteger<uint64_t>(table, checksum(section.bytes));
    payload += section.bytes;
  }
  file.assign(magic, sizeof(magic));
  appendInteger<uint32_t>(file, artifactVersion);
  appendInteger<uint32_t>(file, sections.size());
  appendInteger<uint64_t>(file, start + payload.size());
  file += table;
  file += payload;
  return {};
}

Status ArtifactWriter::write(const std::string &path) const {
  std::string file;
  if (Status status = serialize(file); !status.ok())
    return status.within(path);
  return writeOutputFile(path, file);
}

Status ArtifactFile::open(const std::string &path, ArtifactFile &artifact) {
  ArtifactFile opened;
  if (Status status = MappedFile::open(path, opened.file, MappedFile::Copied);
      !status.ok())
    return status;
  if (Status status = opened.readTable(); !status.ok())
    return status.within(path);
  artifact = std::move(opened);
  return {};
}

Status ArtifactFile::readTable() {
  std::string_view bytes = file.bytes();
  if (bytes.size() < sizeof(magic) ||
      bytes.substr(0, sizeof(magic)) != std::string_view(magic, sizeof(magic)))
    return formatError("not a tp artifact: it does not start with TPARTIF");
  if (bytes.size() < headerSize)
    return formatError("truncated artifact: the header has " +
                       std::to_string(headerSize) + " bytes, the file " +
                       std::to_string(bytes.size()));
  auto version = readInteger<uint32_t>(bytes.data() + 8);
  if (version != artifactVersion)
    return unsupported("artifact version " + std::to_string(version) +
                       ", expected " + std::to_string(artifactVersion) +
                       (version > artifactVersion
                            ? ": a newer tp wrote it: install that one, or "
                              "compile the model again with this one"
                            : ": an older tp wrote it: compile the model "
                              "again"));
  auto count = readInteger<uint32_t>(bytes.data() + 12);
  auto size = readInteger<uint64_t>(bytes.data() + 16);
  if (size != bytes.size())
    return formatError(
        std::string(bytes.size() < size ? "truncated" : "damaged") +
        " artifact: its header states " + std::to_string(size) +
        " bytes, the file has " + std::to_string(bytes.size()));
  if (count > maxSections || headerSize + entrySize * count > size)
    return formatError("damaged artifact: no room for a table of " +
                       std::to_string(count) + " sections");

  uint64_t tableEnd = headerSize + entrySize * count;
  headerChecksum = checksum(bytes.substr(0, tableEnd));
  for (uint32_t i = 0; i < count; ++i) {
    const char *entry = bytes.data() + headerSize + entrySize * i;
    Section section{std::string(entry, strnlen(entry, artifactMaxSectionName)),
                    readInteger<uint64_t>(entry + 16),
                    readInteger<uint64_t>(entry + 24)};
    auto error = [&](const std::string &what) {
      return formatError("damaged artifact: section " + std::to_string(i) +
                         " '" + section.name + "' " + what);
    };
    if (section.name.empty())
      return error("has no name");
    if (section.offset % artifactAlignment)
      return error("is not aligned to 64 bytes");
    if (section.offset < tableEnd || section.offset > size ||
        section.size > size - section.offset)
      return error("does not lie inside the file");
    for (const Section &other : sections) {
      if (other.name == section.name)
        return error("occurs twice");
      if (section.offset < other.offset + other.size &&
          other.offset < section.offset + section.size)
        return error("overlaps section '" + other.name + "'");
    }
    if (checksum(bytes.substr(section.offset, section.size)) !=
        readInteger<uint64_t>(entry + 32))
      return error("does not have the checksum that the table states");
    sections.push_back(std::move(section));
  }
  return {};
}

std::optional<std::string_view>
ArtifactFile::section(std::string_view name) const {
  for (const Section &section : sections)
    if (section.name == name)
      return file.bytes().substr(section.offset, section.size);
  return std::nullopt;
}
