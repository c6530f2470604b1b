// SPDX-License-Identifier: Apache-2.0
#include "cpu/features.hpp"

#include <set>
#include <string>
#include <string_view>

#include "check.hpp"
#include "cpu/isa.hpp"
#include "kernels/dispatch.hpp"

namespace cpu = evidex::cpu;

TEST(features_agree_with_the_compilers_own_detection) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  CHECK_EQ((cpu::features() & cpu::kAvx2) != 0, __builtin_cpu_supports("avx2") != 0);
  CHECK_EQ((cpu::features() & cpu::kFma) != 0, __builtin_cpu_supports("fma") != 0);
#else
  CHECK_EQ(cpu::features() & (cpu::kAvx2 | cpu::kFma), 0U);
#endif
  CHECK_EQ(cpu::features(), cpu::features());
}

TEST(the_processor_has_a_name_that_can_be_printed) {
  const std::string name = cpu::processor_name();
  CHECK_EQ(name, cpu::processor_name());
#if defined(__x86_64__)
  CHECK(!name.empty());
#endif
  for (const char c : name) CHECK(c >= ' ' && c <= '~');
}

TEST(the_list_ends_with_scalar_and_names_each_set_once) {
  std::set<std::string_view> names;
  for (const cpu::Isa& isa : cpu::kIsas) CHECK(names.insert(isa.name).second);
  CHECK_EQ(cpu::kIsas.back().name, std::string_view("scalar"));
  CHECK_EQ(cpu::kIsas.back().required, 0U);
}

TEST(a_set_is_supported_exactly_when_its_features_are_there) {
  const auto statuses = evidex::kernels::report();
  CHECK_EQ(statuses.size(), cpu::kIsas.size());
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const cpu::Isa& isa = cpu::kIsas[i];
    CHECK_EQ(statuses[i].name, isa.name);
    CHECK_EQ(statuses[i].supported, (cpu::features() & isa.required) == isa.required);
    CHECK(statuses[i].table != nullptr);
    CHECK_EQ(statuses[i].table->isa, isa.name);
  }
}
