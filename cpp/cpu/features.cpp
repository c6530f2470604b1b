// SPDX-License-Identifier: Apache-2.0
#include "cpu/features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <array>
#include <cstring>
#endif

namespace evidex::cpu {
namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf) noexcept {
  Registers r;
  __get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d);
  return r;
}

/// XCR0: which register files the operating system saves. Only valid when OSXSAVE is set.
std::uint64_t xcr0() noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

Features detect() noexcept {
  const Registers leaf1 = cpuid(1);
  constexpr unsigned kOsxsave = 1U << 27;
  if ((leaf1.c & kOsxsave) == 0) return 0;
  constexpr std::uint64_t kXmmAndYmm = 0x6;
  if ((xcr0() & kXmmAndYmm) != kXmmAndYmm) return 0;
  Features found = 0;
  if ((leaf1.c & (1U << 12)) != 0) found |= kFma;
  if ((leaf1.c & (1U << 29)) != 0) found |= kF16c;
  const Registers leaf7 = cpuid(7);
  if ((leaf7.b & (1U << 5)) != 0) found |= kAvx2;
  constexpr std::uint64_t kMaskAndZmm = 0xE0;
  constexpr unsigned kFoundation = 1U << 16;
  constexpr unsigned kBwDqVl = 1U << 30 | 1U << 17 | 1U << 31;
  constexpr unsigned kVnni = 1U << 11;
  if ((xcr0() & kMaskAndZmm) == kMaskAndZmm && (leaf7.b & (kFoundation | kBwDqVl)) == (kFoundation | kBwDqVl) &&
      (leaf7.c & kVnni) != 0) {
    found |= kAvx512;
  }
  return found;
}

#else

Features detect() noexcept { return 0; }

#endif

}  // namespace

Features features() noexcept {
  static const Features found = detect();
  return found;
}

std::string processor_name() {
#if defined(__x86_64__)
  constexpr unsigned kFirst = 0x80000002;  // of three leaves with sixteen characters each
  constexpr std::size_t kLeaves = 3;
  if (__get_cpuid_max(0x80000000, nullptr) < kFirst + kLeaves - 1) return {};
  std::array<Registers, kLeaves> said;
  for (std::size_t i = 0; i < kLeaves; ++i) said[i] = cpuid(kFirst + static_cast<unsigned>(i));
  std::array<char, sizeof said + 1> text{};
  std::memcpy(text.data(), said.data(), sizeof said);
  std::string name;
  for (const char* c = text.data(); *c != 0; ++c) {
    if (*c > ' ' && *c <= '~') {
      name += *c;
    } else if (!name.empty() && name.back() != ' ') {
      name += ' ';
    }
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name + " " + std::to_string(cpuid(1).a);
#else
  return {};
#endif
}

}  // namespace evidex::cpu
