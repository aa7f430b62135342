//===- Module.cpp - the C ABI of the runtime in Python --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module tp._runtime: artifacts, transports and ranks, as thin as they can
// be. Everything that explains itself to a user is in Python; _runtime.pyi has
// the types. Calls that copy or wait release the interpreter's lock.
//
//===----------------------------------------------------------------------===//

#include "Drawing.h"
#include "RankThreads.h"
#include "tp/Runtime/ArtifactFile.h"
#include <cstdlib>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h> // IWYU pragma: keep
#include <nanobind/stl/vector.h> // IWYU pragma: keep
#include <optional>
#include <string_view>

namespace nb = nanobind;
using namespace tp::python;

/// The bytes of an array as a tensor of the port. The caller has compared the
/// dtypes, which are more than Python's array libraries share; the C ABI
/// compares the sizes.
template <typename Array>
static tp_tensor toTensor(const Array &array, const tp_tensor &port) {
  if (array.ndim() > TP_MAX_RANK)
    throw Failure(TP_INVALID_ARGUMENT, "the array has more than 16 dimensions");
  tp_tensor tensor = {};
  tensor.data = const_cast<void *>(static_cast<const void *>(array.data()));
  tensor.dtype = port.dtype;
  tensor.rank = int32_t(array.ndim());
  for (size_t d = 0; d < array.ndim(); ++d) {
    tensor.sizes[d] = int64_t(array.shape(d));
    tensor.strides[d] = array.stride(d);
  }
  tensor.memory_space = TP_HOST;
  return tensor;
}

using InputArray = nb::ndarray<nb::ro, nb::device::cpu>;
using OutputArray = nb::ndarray<nb::device::cpu>;

/// Of an entry of an artifact.
static tp_port_info infoOf(const tp_artifact *artifact, tp_port_side side,
                           int64_t index) {
  tp_port_info info = {};
  info.struct_size = sizeof info;
  check(tp_artifact_port_info(artifact, side, index, &info));
  return info;
}

/// A rank's tensor of the port, row-major at the start of a row of `memory`.
static tp_tensor rowOf(const OutputArray &memory, size_t row,
                       const tp_port_info &info, size_t elementBytes) {
  tp_tensor tensor = info.local;
  int64_t elements = 1;
  for (int32_t d = tensor.rank; d-- > 0;) {
    tensor.strides[d] = elements;
    elements *= tensor.sizes[d];
  }
  size_t bytes = memory.ndim() == 2 ? memory.shape(1) : 0;
  if (memory.ndim() != 2 || row >= memory.shape(0) ||
      size_t(elements) * elementBytes > bytes)
    throw Failure(TP_INVALID_ARGUMENT,
                  "expected a row of bytes for the tensor of every rank");
  tensor.data = static_cast<char *>(memory.data()) + row * bytes;
  return tensor;
}

namespace {

struct Artifact {
  explicit Artifact(const std::string &path) {
    check(tp_artifact_open(path.c_str(), &handle));
  }
  ~Artifact() { tp_artifact_close(handle); }
  Artifact(const Artifact &) = delete;

  /// The whole array of a result from the tensors of all ranks, by rank.
  void assembleAll(const std::string &entry, int64_t result,
                   const OutputArray &memory, const OutputArray &array) const {
    const tp_artifact *ports = nullptr;
    tp_tensor global;
    check(tp_artifact_entry(handle, entry.c_str(), &ports));
    check(tp_artifact_port(ports, TP_RESULT, result, &global));
    tp_tensor target = toTensor(array, global);
    nb::gil_scoped_release release;
    tp_port_info info = infoOf(ports, TP_RESULT, result);
    std::vector<tp_tensor> locals(size_t(tp_artifact_size(handle)));
    for (size_t rank = 0; rank < locals.size(); ++rank)
      locals[rank] = rowOf(memory, rank, info, array.itemsize());
    check(tp_assemble_all(ports, TP_RESULT, result, int64_t(locals.size()),
                          locals.data(), &target));
  }

  tp_artifact *handle = nullptr;
};

struct Transport {
  Transport() = default;
  ~Transport() { tp_transport_free(handle); }
  Transport(const Transport &) = delete;

  tp_transport *handle = nullptr;
  int descriptor = -1;
};

struct Rank {
  Rank(const Artifact &artifact, const Transport &transport, int64_t rank,
       double timeout)
      : artifact(artifact.handle), transport(transport.handle), number(rank) {
    // Options that state a time-out state the poison too: TP_POISON says it
    // here as it does where nothing is stated.
    const char *poison = std::getenv("TP_POISON");
    tp_rank_options options = {};
    options.struct_size = sizeof options;
    options.poison = poison && std::string_view(poison) == "1";
    options.timeout_seconds = timeout;
    nb::gil_scoped_release release;
    check(tp_rank_create(this->artifact, this->transport, rank,
                         tp_artifact_size(this->artifact), &options, &handle));
  }
  /// The rank with another entry, which the first one owns.
  Rank(const Rank &rank, const std::string &entry)
      : transport(rank.transport), number(rank.number), owns(false) {
    check(tp_artifact_entry(rank.artifact, entry.c_str(), &artifact));
    check(tp_rank_entry(rank.handle, entry.c_str(), &handle));
  }
  ~Rank() {
    if (owns)
      tp_rank_free(handle);
  }
  Rank(const Rank &) = delete;

  void scatter(int64_t index, const InputArray &array) {
    tp_tensor global;
    check(tp_artifact_port(artifact, TP_ARGUMENT, index, &global));
    tp_tensor given = toTensor(array, global);
    nb::gil_scoped_release release;
    check(tp_rank_scatter(handle, artifact, index, &given));
  }

  void assemble(bool result, int64_t index, const OutputArray &array) {
    tp_port_side side = result ? TP_RESULT : TP_ARGUMENT;
    tp_tensor global;
    check(tp_artifact_port(artifact, side, index, &global));
    tp_tensor target = toTensor(array, global);
    nb::gil_scoped_release release;
    check(tp_rank_assemble(handle, artifact, side, index, &target));
  }

  /// Copies the rank's tensor of a result to its row of `memory`.
  void copyResult(int64_t index, const OutputArray &memory,
                  size_t elementBytes) const {
    nb::gil_scoped_release release;
    tp_tensor local = rowOf(memory, size_t(number),
                            infoOf(artifact, TP_RESULT, index), elementBytes);
    check(tp_rank_get_tensor(handle, TP_RESULT, index, &local));
  }

  /// Without the interpreter's lock, from the rank's thread.
  void step() const {
    check(tp_rank_submit(handle, nullptr));
    check(tp_rank_wait(handle));
  }

  /// The command that the rank is at.
  std::string place() const {
    std::string text(
        size_t(tp_transport_describe(transport, artifact, number, nullptr, 0)) +
            1,
        '\0');
    tp_transport_describe(transport, artifact, number, text.data(),
                          int64_t(text.size()));
    return text.c_str();
  }

  const tp_artifact *artifact;
  tp_transport *transport;
  int64_t number;
  tp_rank *handle = nullptr;
  bool owns = true;
};

/// All ranks of a process.
struct Threads {
  explicit Threads(std::vector<Rank *> ranks)
      : ranks(std::move(ranks)), threads(this->ranks.size()) {}

  /// Runs a step of these, which are the ranks with one of their entries. A
  /// signal, such as ^C, ends it, and so does the failure of a rank. Ranks that
  /// do not end then, and that wait for something or had a second signal, are
  /// left to themselves: nothing can end a thread.
  void step(const std::vector<Rank *> &entry) {
    threads.start([entry](size_t rank) {
      entry[rank]->step();
      return Failure();
    });
    std::optional<nb::python_error> interrupt;
    // Time in which this process is stopped does not count.
    int64_t used = 0;
    int quietWaits = 0;
    for (;;) {
      {
        nb::gil_scoped_release release;
        if (threads.wait(std::chrono::milliseconds(100)))
          break;
      }
      bool isSecond = false;
      if (PyErr_CheckSignals() != 0) {
        isSecond = interrupt.has_value();
        interrupt.emplace();
        std::string why = "rank " + std::to_string(ranks[0]->number) +
                          ": its step was interrupted";
        tp_transport_abort(ranks[0]->transport, ranks[0]->number, why.c_str());
      }
      // All ranks end with a failed assertion.
      std::optional<Failure> failure = findFailure();
      if (!interrupt && (!failure || failure->code() == TP_ASSERT))
        continue;
      int64_t now = threads.processorTime();
      quietWaits = now == used ? quietWaits + 1 : 0;
      used = now;
      if (isSecond || quietWaits == 20)
        leave(entry, interrupt);
    }
    if (interrupt)
      throw nb::python_error(*interrupt);
    throwFirst();
  }

  /// Starts a barrier of the ranks, which `wait` ends.
  void startBarrier() {
    threads.start([&](size_t rank) {
      check(tp_rank_barrier(ranks[rank]->handle));
      return Failure();
    });
  }

  /// Waits for a moment, in which a signal's handler may come. Whether the
  /// ranks have ended what they have started.
  bool wait() {
    {
      nb::gil_scoped_release release;
      if (!threads.wait(std::chrono::milliseconds(100)))
        return false;
    }
    throwFirst();
    return true;
  }

  std::vector<Rank *> ranks;
  RankThreads threads;

private:
  /// Throws what has ended the step, and which ranks are where in it. What they
  /// use stays until the process ends.
  [[noreturn]] void leave(const std::vector<Rank *> &entry,
                          std::optional<nb::python_error> &interrupt) {
    std::string where;
    for (size_t rank : threads.running())
      where += (where.empty() ? "rank " : ", rank ") +
               std::to_string(entry[rank]->number) + " has not ended " +
               entry[rank]->place();
    for (Rank *rank : entry)
      nb::find(rank).inc_ref();
    threads.leave();
    if (interrupt && !interrupt->matches(PyExc_KeyboardInterrupt))
      throw nb::python_error(*interrupt);
    if (interrupt) {
      PyErr_SetString(PyExc_KeyboardInterrupt, where.c_str());
      throw nb::python_error();
    }
    Failure failure = findFailure().value_or(Failure());
    throw Failure(failure.code(),
                  failure.what() + (where.empty() ? "" : "; " + where));
  }

  std::optional<Failure> findFailure() const {
    // A rank's own failure says more than what it means for the others.
    std::optional<Failure> first;
    for (const Failure &failure : threads.failures())
      if (failure.code() != TP_OK &&
          (!first || first->code() == TP_RANK_FAILED))
        first = failure;
    return first;
  }

  void throwFirst() const {
    if (std::optional<Failure> failure = findFailure())
      throw Failure(*failure);
  }
};

} // namespace

Failure tp::python::toFailure(tp_status *status) {
  Failure failure(tp_status_code(status), tp_status_message(status));
  tp_status_free(status);
  return failure;
}

NB_MODULE(_runtime, module) {
  module.doc() = "the runtime of tp: artifacts, transports, ranks";
  // A program that is alive when Python ends is no mistake of its user.
  nb::set_leak_warnings(false);
  static PyObject *failureType =
      PyErr_NewException("tp._runtime.Failure", PyExc_Exception, nullptr);
  module.attr("Failure") = nb::handle(failureType);
  nb::register_exception_translator([](const std::exception_ptr &pointer,
                                       void *) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Failure &failure) {
      nb::tuple arguments = nb::make_tuple(int(failure.code()), failure.what());
      PyErr_SetObject(failureType, arguments.ptr());
    }
  });
  module.def("abi_version", &tp_abi_version);
  module.def(
      "checksum",
      [](const InputArray &bytes) {
        return tp::runtime::checksum(
            {static_cast<const char *>(bytes.data()), bytes.nbytes()});
      },
      nb::arg("bytes"));
  module.def("held_intervals", &heldIntervals, nb::arg("description"));
  module.def("reduction_groups", &reductionGroups, nb::arg("description"));
  module.def(
      "held_identity",
      [](const std::string &description, int64_t rank) {
        std::string identity = heldIdentity(description, rank);
        return nb::bytes(identity.data(), identity.size());
      },
      nb::arg("description"), nb::arg("rank"));
  module.def(
      "reduce_parts",
      [](const std::string &description, const std::vector<InputArray> &parts,
         const OutputArray &reduced) {
        std::vector<const char *> data;
        data.reserve(parts.size());
        for (const InputArray &part : parts)
          data.push_back(static_cast<const char *>(part.data()));
        reduceParts(description, data, int64_t(reduced.size()), reduced.data());
      },
      nb::arg("description"), nb::arg("parts"), nb::arg("reduced"));
  module.def("draw_sharding", &drawSharding, nb::arg("description"),
             nb::arg("svg"));
  module.def(
      "link", [](const std::string &path) { check(tp_link(path.c_str())); },
      nb::arg("path"));

  nb::class_<Artifact>(module, "Artifact")
      .def(nb::init<const std::string &>(), nb::arg("path"))
      .def_prop_ro("size",
                   [](const Artifact &artifact) {
                     return tp_artifact_size(artifact.handle);
                   })
      .def("assemble_all", &Artifact::assembleAll, nb::arg("entry"),
           nb::arg("result"), nb::arg("memory").noconvert(),
           nb::arg("array").noconvert());

  nb::class_<Transport>(module, "Transport")
      .def_static(
          "threads",
          [](const Artifact &artifact) {
            auto *made = new Transport();
            nb::object owner = nb::cast(made, nb::rv_policy::take_ownership);
            check(tp_transport_threads(artifact.handle, &made->handle));
            return owner;
          },
          nb::arg("artifact"), nb::keep_alive<0, 1>())
      .def_static(
          "processes",
          [](const Artifact &artifact) {
            auto *made = new Transport();
            nb::object owner = nb::cast(made, nb::rv_policy::take_ownership);
            check(tp_transport_processes(artifact.handle, &made->handle,
                                         &made->descriptor));
            return owner;
          },
          nb::arg("artifact"), nb::keep_alive<0, 1>())
      .def_static(
          "attach",
          [](const Artifact &artifact, int descriptor) {
            auto *made = new Transport();
            nb::object owner = nb::cast(made, nb::rv_policy::take_ownership);
            check(tp_transport_attach(artifact.handle, descriptor,
                                      &made->handle));
            return owner;
          },
          nb::arg("artifact"), nb::arg("descriptor"), nb::keep_alive<0, 1>())
      .def_ro("descriptor", &Transport::descriptor)
      .def(
          "abort",
          [](Transport &transport, int64_t rank, const std::string &message) {
            tp_transport_abort(transport.handle, rank, message.c_str());
          },
          nb::arg("rank"), nb::arg("message"));

  nb::class_<Rank>(module, "Rank")
      .def(nb::init<const Artifact &, const Transport &, int64_t, double>(),
           nb::arg("artifact"), nb::arg("transport"), nb::arg("rank"),
           nb::arg("timeout"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "entry",
          [](const Rank &rank, const std::string &name) {
            return new Rank(rank, name);
          },
          nb::arg("name"), nb::rv_policy::take_ownership,
          nb::keep_alive<0, 1>())
      .def("scatter", &Rank::scatter, nb::arg("index"),
           nb::arg("array").noconvert())
      .def("assemble", &Rank::assemble, nb::arg("result"), nb::arg("index"),
           nb::arg("array").noconvert())
      .def("copy_result", &Rank::copyResult, nb::arg("index"),
           nb::arg("memory").noconvert(), nb::arg("element_bytes"))
      .def("step", &Rank::step, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<Threads>(module, "Threads")
      .def(nb::init<std::vector<Rank *>>(), nb::arg("ranks"),
           nb::keep_alive<1, 2>())
      .def("step", &Threads::step, nb::arg("ranks"))
      .def("start_barrier", &Threads::startBarrier)
      .def("wait", &Threads::wait);
}
