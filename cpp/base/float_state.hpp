// SPDX-License-Identifier: Apache-2.0
// Canonical arithmetic needs round-to-nearest-even and gradual underflow. Other libraries switch
// flush-to-zero on for the whole thread, so every entry point and every worker sets the state it
// needs and gives back what it found.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace evidex {

class FloatState {
 public:
  FloatState() noexcept : saved_(read()) { write(kCanonical); }
  ~FloatState() { write(saved_); }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word kCanonical = 0x1F80;  // all exceptions masked, nearest even, no FTZ, no DAZ
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word w) noexcept { _mm_setcsr(w); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kCanonical = 0;
  static Word read() noexcept {
    Word w;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void write(Word w) noexcept { __asm__ __volatile__("msr fpcr, %0" : : "r"(w)); }
#else
#error "evidex: say here how this processor's rounding and underflow state is read and written"
#endif

  Word saved_;
};

}  // namespace evidex
