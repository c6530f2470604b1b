// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "cpu/isa.hpp"
#include "kernels/arch/tables.hpp"
#include "kernels/self_test.hpp"

namespace evidex::kernels {
namespace {

static_assert(kTables.size() == cpu::kIsas.size(), "each row of cpu/isa.hpp needs its table in arch/tables.hpp");

std::atomic<const Table*> g_active{nullptr};

/// Every set's fitness for this machine, found out once.
const std::vector<IsaStatus>& fitness() {
  static const std::vector<IsaStatus> statuses = [] {
    const FloatState state;
    std::vector<IsaStatus> found;
    for (std::size_t i = 0; i < cpu::kIsas.size(); ++i) {
      const cpu::Isa& isa = cpu::kIsas[i];
      const Table& table = *kTables[i];
      const bool supported = (cpu::features() & isa.required) == isa.required;
      const SelfTest test =
          !supported ? SelfTest::not_run : (agrees_with_scalar(table) ? SelfTest::passed : SelfTest::failed);
      found.push_back({isa.name, supported, test, false, &table});
    }
    return found;
  }();
  return statuses;
}

const Table& named(std::string_view isa) {
  std::string known;
  for (const IsaStatus& status : fitness()) {
    if (status.name == isa) {
      if (!status.supported) {
        throw InvalidInput("EVIDEX_ISA: this processor or operating system lacks '" + std::string(isa) +
                           "'; unset EVIDEX_ISA to use the best available");
      }
      if (status.self_test == SelfTest::failed) {
        throw InvalidInput("EVIDEX_ISA: '" + std::string(isa) + "' failed its self-test on this machine");
      }
      return *status.table;
    }
    known += (known.empty() ? "" : ", ") + std::string(status.name);
  }
  throw InvalidInput("EVIDEX_ISA: unknown instruction set '" + std::string(isa) + "'; this build knows " + known);
}

const Table& choose() {
  const char* wanted = std::getenv("EVIDEX_ISA");
  if (wanted != nullptr && *wanted != '\0') return named(wanted);
  for (const IsaStatus& status : fitness()) {
    if (status.self_test == SelfTest::passed) return *status.table;
  }
  return scalar::kTable;
}

}  // namespace

const Table& active() {
  const Table* table = g_active.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = &choose();
    g_active.store(table, std::memory_order_release);
  }
  return *table;
}

std::vector<IsaStatus> report() {
  std::vector<IsaStatus> statuses = fitness();
  for (IsaStatus& status : statuses) status.active = status.table == &active();
  return statuses;
}

void force(std::string_view isa) { g_active.store(&named(isa), std::memory_order_release); }

}  // namespace evidex::kernels
