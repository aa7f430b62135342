//===- Artifact.cpp - a loaded program ------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/Processor.h"
#include <cctype>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tp::runtime;

#if defined(__x86_64__)
static constexpr Elf64_Half machine = EM_X86_64;
#elif defined(__aarch64__)
static constexpr Elf64_Half machine = EM_AARCH64;
#else
static constexpr Elf64_Half machine = EM_NONE;
#endif

/// The loader's own words for these speak of files that are missing.
static Status checkCode(std::string_view code) {
  Elf64_Ehdr header;
  if (code.size() < sizeof(header) || !code.starts_with(ELFMAG))
    return formatError("the section 'code' is no ELF file");
  std::memcpy(&header, code.data(), sizeof(header));
  if (machine != EM_NONE && header.e_machine != machine)
    return unsupported("the code is for ELF machine " +
                       std::to_string(header.e_machine) + ", expected " +
                       std::to_string(machine) + ", which this machine is");
  return {};
}

Artifact::~Artifact() {
  if (library)
    dlclose(library);
  if (codeFile >= 0)
    close(codeFile);
}

Status Artifact::open(const std::string &path,
                      std::unique_ptr<Artifact> &artifact, Contents parts) {
  std::unique_ptr<Artifact> opened(new Artifact);
  if (Status status = ArtifactFile::open(path, opened->file); !status.ok())
    return status;
  if (Status status = opened->readManifest(); !status.ok())
    return status.within(path);
  if (parts == Contents::All) {
    if (Status status = opened->loadKernels(); !status.ok())
      return status.within(path);
  }
  artifact = std::move(opened);
  return {};
}

Status Artifact::readManifest() {
  std::optional<std::string_view> json = file.section("manifest");
  if (!json)
    return formatError("the artifact has no section 'manifest'");
  text = *json;
  constantBytes = file.section("constants").value_or(std::string_view());
  if (Status status = parseManifest(text, constantBytes.size(), parsed);
      !status.ok())
    return status;
  for (const Entry &entry : parsed.entries)
    views.emplace_back(parsed, entry);
  if (const auto *target = std::get_if<CudaTarget>(&parsed.target))
    return checkDeviceCode(*target);
  return {};
}

int64_t Artifact::numHostEntries() const {
  return std::count_if(views.begin(), views.end(),
                       [](const EntryView &view) { return !view.part; });
}

Status Artifact::findEntry(std::string_view name, int64_t &index) const {
  std::string names;
  for (const EntryView &view : views) {
    if (view.part)
      continue;
    if (view.name == name) {
      index = view.index;
      return {};
    }
    names += (names.empty() ? "'" : ", '") + view.name + "'";
  }
  return invalidArgument("there is no entry '" + std::string(name) +
                         "': the artifact has " + names);
}

/// Code that this processor cannot execute would end the process at its first
/// unknown instruction.
Status Artifact::checkCodeTarget(const CpuTarget &target) {
  if (target.triple.empty() || !target.features)
    return formatError("the manifest does not say what processor the code is "
                       "for, expected 'triple' and 'features' in its 'target'; "
                       "compile the model again");
  return checkProcessor({target.triple, target.cpu, *target.features},
                        Processor::current());
}

Status Artifact::loadKernels() {
  const auto *target = std::get_if<CpuTarget>(&parsed.target);
  if (!target)
    return {};
  std::optional<std::string_view> code = file.section("code");
  for (const EntryView &entry : views) {
    std::vector<tp_kernel> &found =
        kernels.emplace_back(entry.program.size(), nullptr);
    for (size_t i = 0; i < found.size(); ++i) {
      const auto *kernel = std::get_if<KernelCommand>(&entry.program[i].what);
      if (!kernel)
        continue;
      if (!library) {
        if (!code || code->empty())
          return formatError("the program calls kernels, but the artifact has "
                             "no section 'code'");
        if (Status status = checkCodeTarget(*target); !status.ok())
          return status;
        if (Status status = loadCode(*code); !status.ok())
          return status;
      }
      found[i] =
          reinterpret_cast<tp_kernel>(dlsym(library, kernel->function.c_str()));
      if (!found[i])
        return formatError(entry.describe(entry.progressAt(int64_t(i))) +
                           ": the code has no function of this name");
    }
  }
  return {};
}

/// Whether PTX defines the kernel: ".entry NAME" and then no more of a name.
static bool definesKernel(std::string_view ptx, const std::string &name) {
  std::string entry = ".entry " + name;
  for (size_t at = ptx.find(entry); at != std::string_view::npos;
       at = ptx.find(entry, at + 1)) {
    char next = at + entry.size() < ptx.size() ? ptx[at + entry.size()] : 0;
    if (!std::isalnum(next) && next != '_' && next != '$' && next != '%')
      return true;
  }
  return false;
}

/// A driver is given the address of an image alone and believes its tables.
static bool isWholeElf(std::string_view code) {
  Elf64_Ehdr header;
  if (code.size() < sizeof(header) || !code.starts_with(ELFMAG))
    return false;
  std::memcpy(&header, code.data(), sizeof(header));
  auto inside = [&](uint64_t offset, uint64_t count, uint64_t size) {
    return offset <= code.size() && count * size <= code.size() - offset;
  };
  return inside(header.e_shoff, header.e_shnum, header.e_shentsize) &&
         inside(header.e_phoff, header.e_phnum, header.e_phentsize);
}

/// Device code stays as it is: a device's driver loads it, elsewhere the
/// artifact can only be listed.
Status Artifact::checkDeviceCode(const CudaTarget &target) {
  ptxText = file.section("ptx").value_or(std::string_view());
  bool any = !ptxText.empty();
  for (const std::string &chip : target.chips) {
    std::string_view code = cubin(chip);
    if (code.empty())
      continue;
    any = true;
    if (!isWholeElf(code))
      return formatError("the section 'cubin." + chip +
                         "' is no ELF file, or not a whole one");
  }
  Status status;
  for (const EntryView &entry : views)
    entry.forEachCommand([&](const Command &command, int64_t number) {
      const auto *kernel = std::get_if<KernelCommand>(&command.what);
      if (!kernel || !status.ok())
        return;
      if (!any)
        status = formatError("the program calls kernels, but the artifact has "
                             "neither a section 'ptx' nor one of 'cubin.CHIP'");
      else if (!ptxText.empty() && !definesKernel(ptxText, kernel->function))
        status =
            formatError(entry.describe(number) + ": the PTX has no kernel '" +
                        kernel->function + "'");
    });
  return status;
}

Status Artifact::loadCode(std::string_view code) {
  if (Status status = checkCode(code); !status.ok())
    return status;
  auto failed = [&](const char *what) {
    return systemError(std::string("cannot load the code: ") + what);
  };
  codeFile = memfd_create("tp-code", MFD_CLOEXEC);
  if (codeFile < 0)
    return failed(std::strerror(errno));
  while (!code.empty()) {
    ssize_t written = write(codeFile, code.data(), code.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return failed(std::strerror(errno));
    code.remove_prefix(written);
  }
  // The descriptor stays open as long as the library: the loader takes a path
  // that it has seen for the library it loaded then.
  std::string path = "/proc/self/fd/" + std::to_string(codeFile);
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library && access(path.c_str(), F_OK) != 0)
    return systemError("cannot load the code: there is no " + path +
                       ", expected a file system at /proc");
  if (!library) {
    const char *text = dlerror();
    std::string_view reason = text ? text : "unknown reason";
    if (reason.starts_with(path + ": "))
      reason.remove_prefix(path.size() + 2);
    constexpr std::string_view missing = "undefined symbol: ";
    if (reason.starts_with(missing))
      return unsupported(
          "an op is computed by the function " +
          std::string(reason.substr(missing.size())) +
          ", which no linked library has: link one, by "
          "--link=LIBRARY of tp-run, link= in Python or tp_link");
    return formatError("cannot load the code: " + std::string(reason));
  }
  return {};
}
