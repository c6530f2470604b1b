// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "cpu/isa.hpp"

namespace {

using namespace evidex;
using kernels::IsaStatus;

/// What a fresh process with EVIDEX_ISA=`value` would run, or the error's text.
std::string chosen_with(const char* value) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    setenv("EVIDEX_ISA", value, 1);
    std::string answer;
    try {
      answer = std::string(kernels::active().isa);
    } catch (const InvalidInput& error) {
      answer = error.what();
    }
    const bool written = write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  char buffer[256];
  for (ssize_t n = read(ends[0], buffer, sizeof buffer); n > 0; n = read(ends[0], buffer, sizeof buffer)) {
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
  return answer;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(the_environment_names_the_set_or_is_refused) {  // first: children must find nothing chosen yet
  std::string best;
  for (const cpu::Isa& isa : cpu::kIsas) {
    const std::string name(isa.name);
    const bool supported = (cpu::features() & isa.required) == isa.required;
    const std::string chosen = chosen_with(name.c_str());
    if (supported) {
      if (best.empty()) best = name;
      CHECK_EQ(chosen, name);
    } else {
      CHECK(contains(chosen, "lacks '" + name + "'"));
    }
  }
  CHECK_EQ(chosen_with(""), best);
  for (const char* unknown : {"nonsense", "AVX2", "avx2 ", "0", "scalar,avx2"}) {
    const std::string chosen = chosen_with(unknown);
    CHECK(contains(chosen, std::string("unknown instruction set '") + unknown + "'"));
    CHECK(contains(chosen, "scalar"));
  }
}

TEST(every_supported_set_can_be_forced) {
  for (const IsaStatus& status : kernels::report()) {
    if (!status.supported) {
      CHECK_THROWS(kernels::force(status.name), InvalidInput, "lacks");
      continue;
    }
    kernels::force(status.name);
    CHECK_EQ(kernels::active().isa, status.name);
    CHECK(&kernels::active() == status.table);
    std::size_t active = 0;
    for (const IsaStatus& now : kernels::report()) {
      CHECK_EQ(now.active, now.name == status.name);
      active += now.active ? 1 : 0;
    }
    CHECK_EQ(active, 1U);
  }
}

TEST(an_unknown_set_is_refused_and_nothing_changes) {
  for (const IsaStatus& status : kernels::report()) {
    if (!status.supported) continue;
    kernels::force(status.name);
    for (const char* unknown : {"nonsense", "", "AVX2", "sse"}) {
      CHECK_THROWS(kernels::force(unknown), InvalidInput, "unknown instruction set");
      CHECK_EQ(kernels::active().isa, status.name);
    }
  }
}

TEST(every_slot_is_filled) {
  for (const IsaStatus& status : kernels::report()) {
    CHECK_EQ(status.table->isa, status.name);
    for (const kernels::MetricKernels& kernel : status.table->metrics) {
      CHECK(kernel.scan != nullptr);
      CHECK(kernel.gather != nullptr);
      CHECK(kernel.tile != nullptr);
      CHECK(kernel.bound != nullptr);
    }
    const kernels::CodeKernels& codes = status.table->codes;
    CHECK(codes.scan != nullptr && codes.tile != nullptr && codes.unpack != nullptr);
    CHECK(codes.quantise != nullptr && codes.measure != nullptr && codes.decode != nullptr);
    CHECK(status.table->halves.narrow != nullptr && status.table->halves.widen != nullptr);
    CHECK(status.table->reach != nullptr);
    const bool scalar = status.name == "scalar";
    CHECK_EQ(status.table->lanes_kind, scalar ? "generic" : "native");
    CHECK_EQ(status.table->reach_kind, scalar ? "generic" : "native");
  }
}
