//===- Options.cpp - the command line of tp-run ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Data/GivenData.h"
#include "NearestOption.h"
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>

using namespace tp::run;
using namespace tp::runtime;

namespace {

template <typename T> bool parseWhole(std::string_view text, T &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool parseInteger(std::string_view text, int64_t &value) {
  return parseWhole(text, value);
}
bool parseUnsigned(std::string_view text, uint64_t &value) {
  return parseWhole(text, value);
}

bool parseNumber(std::string_view text, double &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() &&
         std::isfinite(value);
}

bool parseNamedFile(std::string_view text, std::vector<NamedFile> &files) {
  // A name may hold '=' or '@', a path too: the first "=@" separates them.
  size_t mark = text.starts_with("@") ? 0 : text.find("=@");
  if (mark == std::string_view::npos)
    return false;
  NamedFile file;
  file.name = text.substr(0, mark);
  file.path = text.substr(mark + (mark == 0 ? 1 : 2));
  files.push_back(file);
  return !file.path.empty();
}

/// A file, or an array as it is.
bool parseInput(std::string_view text, std::vector<NamedFile> &inputs) {
  if (parseNamedFile(text, inputs))
    return true;
  std::optional<Literal> literal = splitLiteral(text);
  if (!literal || text.starts_with("@") ||
      text.find("=@") != std::string_view::npos)
    return false;
  NamedFile &input = inputs.emplace_back();
  input.name = literal->name;
  input.literal = std::move(literal);
  return true;
}

/// A port to print, or to draw in a file.
bool parseSharding(std::string_view text, std::vector<NamedFile> &shardings) {
  if (text.find("=@") == std::string_view::npos) {
    shardings.emplace_back().name = text;
    return !text.empty();
  }
  return !text.starts_with("@") && parseNamedFile(text, shardings);
}

/// An option with a value: what it must look like, and how it is taken in.
struct ValueOption {
  const char *name;
  const char *expected;
  std::function<bool(std::string_view)> take;
};

struct FlagOption {
  const char *name;
  std::function<void()> take;
};

ProcessRank &processRank(Options &o) {
  return o.process ? *o.process : o.process.emplace();
}

std::vector<ValueOption> valuedOptions(Options &o) {
  auto integer = [](auto &target, int64_t least) {
    return [&target, least](std::string_view text) {
      int64_t value;
      if (!parseInteger(text, value) || value < least)
        return false;
      target = value;
      return true;
    };
  };
  auto number = [](double &target, bool positive) {
    return [&target, positive](std::string_view text) {
      return parseNumber(text, target) && target >= 0 &&
             (!positive || target > 0);
    };
  };
  auto text = [](std::string &target) {
    return [&target](std::string_view value) {
      target = value;
      return !target.empty();
    };
  };
  auto ofProcess = [&o](auto member) {
    return [&o, member](std::string_view value) {
      auto &target = processRank(o).*member;
      return parseWhole(value, target) && target >= 0;
    };
  };
  auto file = [](std::vector<NamedFile> &target) {
    return [&target](std::string_view value) {
      return parseNamedFile(value, target);
    };
  };
  return {
      {"ranks", "a number of ranks", integer(o.ranks, 1)},
      {"entry", "the name of an entry", text(o.entry)},
      {"weights", "a .safetensors or .safetensors.index.json file, or a folder",
       [&](std::string_view value) {
         o.weights.emplace_back(value);
         return !value.empty();
       }},
      {"weights-prefix", "what keys have before names, or lack: P or -P",
       text(o.weightsPrefix)},
      {"input", "NAME=@FILE, @FILE or NAME=1x4xi64=[1 2 3 4]",
       [&](std::string_view value) { return parseInput(value, o.inputs); }},
      {"expected-output", "NAME=@FILE or @FILE", file(o.expected)},
      {"output", "NAME=@FILE or @FILE", file(o.outputs)},
      {"sharding", "NAME or NAME=@FILE",
       [&](std::string_view value) {
         return parseSharding(value, o.shardings);
       }},
      {"load-state", "what --save-state wrote", text(o.loadState)},
      {"save-state", "a .safetensors file, or a folder", text(o.saveState)},
      {"dtype",
       "one of: f64 f32 f16 bf16 i64 i32 i16 i8 i1 u64 u32 u16 u8 "
       "f8E4M3FN f8E5M2 f8E4M3FNUZ f8E5M2FNUZ",
       [&](std::string_view value) {
         o.rawType = parseDataType(value);
         return o.rawType.has_value() && *o.rawType != DataType::Index;
       }},
      {"atol", "a number of at least 0", number(o.atol, false)},
      {"rtol", "a number of at least 0", number(o.rtol, false)},
      {"repeat", "a number of steps",
       [&o, take = integer(o.repeat, 1)](std::string_view value) {
         o.repeatIsGiven = true;
         return take(value);
       }},
      {"transport", "threads or processes",
       [&](std::string_view value) {
         o.transportIsGiven = true;
         o.rankMode =
             value == "processes" ? RankMode::Process : RankMode::Thread;
         return value == "processes" || value == "threads";
       }},
      {"timeout", "a number of seconds above 0", number(o.timeout, true)},
      {"start-timeout", "a number of seconds above 0",
       number(o.startTimeout, true)},
      {"only-rank", "a rank", integer(o.onlyRank, 0)},
      {"random-data", "a seed", integer(o.randomSeed, 0)},
      {"trace", "a file", text(o.trace)},
      {"time-commands", "a file", text(o.commandTimes)},
      {"store", "a folder or tcp://HOST:PORT",
       [&](std::string_view value) {
         o.store = value;
         bool address = value.starts_with("tcp://");
         if (address)
           o.storeAddress = StoreAddress::parse(value);
         return !value.empty() && address == o.storeAddress.has_value();
       }},
      {"link", "a library",
       [&](std::string_view value) {
         o.links.emplace_back(value);
         return !value.empty();
       }},
      {"plan", "a file", text(o.plan)},
      {"mesh", "AXIS=SIZE,...", text(o.mesh)},
      {"target", "cpu or cuda", text(o.target)},
      {"chip", "the name of a GPU", text(o.chip)},
      {"inject-fault",
       "KIND@RANK:COMMAND, KIND@RANK:start or KIND@RANK:end[STEP]",
       [&](std::string_view value) {
         o.fault = parseFault(value);
         return o.fault.has_value();
       }},
      {"process-rank", "a rank", ofProcess(&ProcessRank::rank)},
      {"segment-file", "a descriptor", ofProcess(&ProcessRank::segmentFile)},
      {"times-file", "a descriptor", ofProcess(&ProcessRank::timesFile)},
      {"artifact-identity", "a number",
       [&](std::string_view value) {
         return parseUnsigned(value, processRank(o).artifactIdentity.emplace());
       }},
  };
}

std::vector<FlagOption> flags(Options &o) {
  return {
      {"stats", [&] { o.stats = true; }},
      {"info", [&] { o.info = true; }},
      {"json", [&] { o.json = true; }},
      {"quiet", [&] { o.quiet = true; }},
      {"help", [&] { o.help = true; }},
      {"version", [&] { o.version = true; }},
      {"poison", [&] { o.poison = true; }},
      {"no-poison", [&] { o.poison = false; }},
      {"skip-collectives", [&] { o.skipCollectives = true; }},
  };
}

/// Values and options that have a better word.
Status checkReplaced(std::string_view name, std::string_view value) {
  if (name == "rank-mode")
    return invalidArgument("--rank-mode is now --transport: expected "
                           "--transport=threads or --transport=processes");
  if (name == "transport" && value == "mpi")
    return unsupported("--transport=mpi is not built yet, expected threads or "
                       "processes; for ranks that mpirun starts give "
                       "--store=FOLDER");
  return {};
}

Status unknownOption(std::string_view word) {
  std::string nearest = nearestOption(word, usage());
  return invalidArgument(
      "unknown option '" + std::string(word) + "'" +
      (nearest.empty() ? "; see --help" : ", did you mean " + nearest + "?"));
}

Status checkTogether(const Options &o) {
  if (o.help || o.version)
    return {};
  if (o.artifact.empty())
    return invalidArgument("no artifact given; see --help");
  if (o.skipCollectives && !o.expected.empty())
    return invalidArgument("--skip-collectives makes results meaningless: it "
                           "cannot go with --expected-output");
  if (o.skipCollectives && !o.outputs.empty())
    return invalidArgument("--skip-collectives makes results meaningless: it "
                           "cannot go with --output");
  if (o.skipCollectives && !o.saveState.empty())
    return invalidArgument("--skip-collectives makes results meaningless: it "
                           "cannot go with --save-state");
  if (o.randomSeed && !o.expected.empty())
    return invalidArgument("--random-data cannot go with --expected-output");
  if (o.onlyRank && !o.skipCollectives)
    return invalidArgument("--only-rank needs --skip-collectives: the other "
                           "ranks of its collectives do not run");
  if (o.onlyRank && o.rankMode == RankMode::Process)
    return invalidArgument("--only-rank runs in this process: it cannot go "
                           "with --transport=processes");
  if (!o.store.empty() && o.onlyRank)
    return invalidArgument("--store cannot go with --only-rank");
  if (!o.store.empty() && o.transportIsGiven)
    return invalidArgument("--store cannot go with --transport: each process "
                           "is one rank");
  if (!o.store.empty() && !o.storeAddress && !o.trace.empty())
    return invalidArgument("--store=FOLDER cannot go with --trace");
  if (!o.commandTimes.empty() && (!o.onlyRank || !o.trace.empty()))
    return invalidArgument("--time-commands needs --only-rank, and cannot go "
                           "with --trace");
  if (o.fault && o.rankMode == RankMode::Thread && o.store.empty() &&
      (o.fault->kind == Fault::Exit || o.fault->kind == Fault::Stop))
    return invalidArgument("--inject-fault: exit and stop need "
                           "--transport=processes");
  if (o.info && !o.shardings.empty())
    return invalidArgument("--sharding cannot go with --info: each is all that "
                           "is printed");
  if (o.json && !o.info)
    return invalidArgument("--json is a form of --info, expected it too");
  if (o.json && !o.entry.empty())
    return invalidArgument("--entry cannot go with --json: the manifest is of "
                           "all entries, in its list 'entries'");
  return {};
}

} // namespace

LaunchOptions Options::launchOptions() const {
  LaunchOptions result;
  result.rank.timeoutSeconds = timeout;
  result.rank.startTimeoutSeconds = startTimeout;
  result.rank.fault = fault;
  result.rank.skipCollectives = skipCollectives;
  // Without collectives their outputs stay poisoned, and checks of indices in
  // the program would fail on them.
  result.rank.poison = poison && !skipCollectives;
  result.rank.trace = !trace.empty();
  result.steps = repeat;
  result.onlyRank = onlyRank;
  return result;
}

StoreLocation Options::storeLocation() const {
  if (store.empty() || storeAddress)
    return {.folder = "", .address = storeAddress};
  return {.folder = store, .data = checksumOfGivenData(*this)};
}

Status tp::run::parseOptions(int argc, char **argv, Options &options) {
  Options parsed;
  parsed.poison = poisonByDefault();
  std::vector<ValueOption> valued = valuedOptions(parsed);
  std::vector<FlagOption> simple = flags(parsed);
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word.starts_with("-") && !(word.starts_with("--") && word.size() > 2))
      return unknownOption(word);
    if (!word.starts_with("--")) {
      if (!parsed.artifact.empty())
        return invalidArgument("more than one artifact: '" + parsed.artifact +
                               "' and '" + std::string(word) + "'");
      parsed.artifact = word;
      continue;
    }
    size_t equals = word.find('=');
    std::string_view name = word.substr(2, equals - 2);
    if (Status status = checkReplaced(name, equals != std::string_view::npos
                                                ? word.substr(equals + 1)
                                            : i + 1 < argc ? argv[i + 1]
                                                           : "");
        !status.ok())
      return status;
    bool known = false;
    for (const FlagOption &flag : simple) {
      if (name != flag.name)
        continue;
      known = true;
      if (equals != std::string_view::npos)
        return invalidArgument("--" + std::string(name) + " takes no value");
      flag.take();
    }
    for (const ValueOption &option : valued) {
      if (name != option.name)
        continue;
      known = true;
      if (equals == std::string_view::npos && i + 1 == argc)
        return invalidArgument("--" + std::string(name) + " expects " +
                               option.expected);
      std::string_view value = equals == std::string_view::npos
                                   ? argv[++i]
                                   : word.substr(equals + 1);
      if (!option.take(value))
        return invalidArgument("--" + std::string(name) + " expects " +
                               option.expected + ", got '" +
                               std::string(value) + "'");
    }
    if (!known)
      return unknownOption(word);
  }
  if (Status status = checkTogether(parsed); !status.ok())
    return status;
  options = std::move(parsed);
  return {};
}

const char *tp::run::usage() {
  return R"(usage: tp-run MODEL.tp [options]
       tp-run MODEL.mlir --plan=PLAN.mlir --mesh=tp=4 [--target=cuda --chip=sm_90] [options]

  --entry=NAME               the function to run, of an artifact of several
  --ranks=N                  must be the size of the artifact's mesh
  --weights=FILE|FOLDER      .safetensors, .safetensors.index.json, or the folder that
                             has one; repeatable
  --weights-prefix=P         keys of the files are P and the name; -P: names have P, keys
                             lack it
  --input=NAME=@FILE         .npy or .safetensors, the whole array; or @FILE in order;
                             @'FOLDER/*.npy': one per step
  --input=NAME=1x4xi64=[1 2 3 4]
                             the numbers themselves; one without brackets is for all
  --output=NAME=@FILE.npy    write a result; several may go to one FILE.safetensors,
                             which --weights reads
  --link=LIBRARY.so          functions that compute ops of other dialects; repeatable
  --save-state=FILE|FOLDER   write what results update after the last step, whole, or
                             the old stays: one .safetensors file, or a checkpoint
  --load-state=FILE|FOLDER   begin with what --save-state wrote, on any mesh
  --expected-output=NAME=@FILE
                             compare a result, on every rank that holds a part of it
  --atol=X --rtol=X          |a - b| <= atol + rtol * |b|; 1e-5 and 1e-4
  --dtype=bf16               what raw elements (|V2, |V1) of .npy files are
  --repeat=N                 run N steps; results that update arguments are those of the
                             next step
  --stats                    times, collectives and memory
  --info [--json]            print what the artifact holds, or --entry of it; run nothing
  --sharding=NAME            print which rank holds which part of an argument or a result,
                             run nothing; --sharding=NAME=@FILE.svg draws it; repeatable
  --transport=threads|processes
                             ranks as threads (default) or as processes
  --timeout=SECONDS          of one collective; 300
  --start-timeout=SECONDS    without a sign of life of a rank that loads; 300
  --poison, --no-poison      fill padding with NaN before every step (TP_POISON=1)
  --trace=FILE.json          times of the last step's commands, for a trace viewer
  --time-commands=FILE.json  times of every command alone, of one rank on a device
  --random-data=SEED         random weights and inputs
  --only-rank=R --skip-collectives
                             one rank's speed alone
  --store=FOLDER             this is one rank of torchrun, mpirun or srun; all of
                             them, on one host, meet in the folder
  --store=tcp://HOST:PORT    the same on any hosts, for devices: all meet at rank 0,
                             whose host that is
  --quiet                    print errors only
  --help, --version          print this, or the version of tp
)";
}
