// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "base/cpu_budget.hpp"
#include "bindings/register.hpp"
#include "codecs/codec.hpp"
#include "cpu/features.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::bindings {
namespace {

namespace py = pybind11;

const char* name_of(kernels::SelfTest result) {
  switch (result) {
    case kernels::SelfTest::passed:
      return "passed";
    case kernels::SelfTest::failed:
      return "failed";
    case kernels::SelfTest::not_run:
      break;
  }
  return "not run";
}

py::list isas() {
  py::list out;
  for (const kernels::IsaStatus& status : kernels::report()) {
    py::dict slots;
    for (const kernels::Metric& metric : kernels::kMetrics) {
      for (const char* loop : {"scan", "gather", "tile", "bound"}) {
        slots[py::str(std::string(loop) + " " + std::string(metric.name))] = status.table->lanes_kind;
      }
    }
    slots["reach"] = status.table->reach_kind;
    for (const char* loop : {"nibble scan", "nibble tile", "unpack", "quantise", "measure", "decode", "narrow", "widen",
                             "lookup sums", "lookup estimates"}) {
      slots[loop] = status.table->lanes_kind;
    }
    py::dict entry;
    entry["name"] = status.name;
    entry["supported"] = status.supported;
    entry["self_test"] = name_of(status.self_test);
    entry["active"] = status.active;
    entry["slots"] = slots;
    out.append(entry);
  }
  return out;
}

py::list metrics() {
  py::list out;
  for (const kernels::Metric& metric : kernels::kMetrics) {
    out.append(py::make_tuple(metric.name, metric.alias, metric.id, metric.unit_rows));
  }
  return out;
}

py::list codec_list() {
  py::list out;
  for (const codecs::CodecFacts& codec : codecs::kCodecs) {
    out.append(py::make_tuple(codec.name, static_cast<int>(codec.codec)));
  }
  return out;
}

}  // namespace

void register_cpu(py::module_& m) {
  m.def("isas", &isas, "Instruction sets compiled in, best first, with their kernel slots.");
  m.def("active_isa", [] { return kernels::active().isa; }, "Name of the instruction set in use.");
  m.def("processor_name", &cpu::processor_name, "What the processor calls itself; empty where it does not say.");
  m.def("default_threads", &default_threads, "Threads this process may use: affinity and cgroup quota.");
  m.def("codecs", &codec_list, "(name, number) of each form rows can be stored in.");
  m.def("metrics", &metrics, "(name, alias, id, whether rows are divided by their norm) of each metric.");
}

}  // namespace evidex::bindings
