// SPDX-License-Identifier: Apache-2.0
// The whole of our C++ test framework: cases, checks, a seed. Include it once in a test file; it
// brings main(). A failed check ends its case. Arguments: a piece of a case's name, or --list.
//
// EVIDEX_SEED=n   other random inputs (printed when a case fails)
// EVIDEX_LONG=1   larger counts
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace evidex::check {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  const char* name;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* text = std::getenv("EVIDEX_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 20270301ULL;
  }();
  return value;
}

/// `usual` repetitions, or `thorough` ones when EVIDEX_LONG is set.
inline std::size_t times(std::size_t usual, std::size_t thorough) {
  static const bool long_run = std::getenv("EVIDEX_LONG") != nullptr;
  return long_run ? thorough : usual;
}

/// What a check was about, for the message when it fails: const Note note("dim ", dim).
class Note {
 public:
  template <class... Parts>
  explicit Note(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    stack().push_back(text.str());
  }
  ~Note() { stack().pop_back(); }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

  static std::vector<std::string>& stack() {
    static thread_local std::vector<std::string> notes;
    return notes;
  }
};

template <class T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_floating_point_v<T>) {
    out << std::hexfloat << value << std::defaultfloat << " (" << value << ")";
  } else if constexpr (std::is_enum_v<T>) {
    out << static_cast<std::int64_t>(value);
  } else if constexpr (std::is_pointer_v<T> && !std::is_same_v<std::decay_t<T>, const char*>) {
    out << static_cast<const void*>(value);
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else {
    out << "(not printable)";
  }
  return out.str();
}

template <class A, class B>
bool equal(const A& a, const B& b) {
  constexpr bool kNumbers =
      std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> && !std::is_same_v<B, bool>;
  if constexpr (kNumbers) {
    return std::cmp_equal(a, b);
  } else {
    return a == b;
  }
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  std::string message = std::string(file) + ":" + std::to_string(line) + ": " + what;
  for (const std::string& note : Note::stack()) message += "\n      with " + note;
  throw Failure(message);
}

inline void expect_bits(float a, float b, const char* text, const char* file, int line) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) return;
  fail(file, line, std::string(text) + ": " + show(a) + " and " + show(b) + " differ in bits");
}

template <class A, class B>
void expect_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (!equal(a, b)) fail(file, line, std::string(text) + ": " + show(a) + " != " + show(b));
}

template <class Exception, class Call>
void expect_throw(Call&& call, std::string_view part, const char* text, const char* file, int line) {
  try {
    call();
  } catch (const Exception& error) {
    if (std::string_view(error.what()).find(part) != std::string_view::npos) return;
    fail(file, line, std::string(text) + ": the message \"" + error.what() + "\" lacks \"" + std::string(part) + "\"");
  } catch (const std::exception& error) {
    fail(file, line, std::string(text) + ": another class was thrown, saying \"" + error.what() + "\"");
  }
  fail(file, line, std::string(text) + ": nothing was thrown");
}

inline bool run(const Case& one) {
  std::string problem;
  try {
    one.body();
    return true;
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {
    problem = "something that is no std::exception was thrown";
  }
  std::printf("FAILED %s\n    %s\n    EVIDEX_SEED=%llu\n", one.name, problem.c_str(),
              static_cast<unsigned long long>(seed()));
  return false;
}

inline int run_all(const char* wanted) {
  std::size_t ran = 0;
  std::size_t failed = 0;
  for (const Case& one : cases()) {
    if (std::strcmp(wanted, "--list") == 0) {
      std::printf("%s\n", one.name);
    } else if (std::strstr(one.name, wanted) != nullptr) {
      ++ran;
      failed += run(one) ? 0 : 1;
    }
  }
  if (std::strcmp(wanted, "--list") == 0) return 0;
  std::printf("%zu cases, %zu failed\n", ran, failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}

}  // namespace evidex::check

#define TEST(name)                                                             \
  static void name();                                                          \
  static const ::evidex::check::Register evidex_register_##name{#name, &name}; \
  static void name()

#define CHECK(...)                                                                          \
  do {                                                                                      \
    if (!(__VA_ARGS__)) ::evidex::check::fail(__FILE__, __LINE__, "not so: " #__VA_ARGS__); \
  } while (false)

#define CHECK_EQ(a, b) ::evidex::check::expect_equal((a), (b), #a " == " #b, __FILE__, __LINE__)

/// Floats equal as bit patterns: -0 is not +0.
#define CHECK_BITS(a, b) ::evidex::check::expect_bits((a), (b), #a " and " #b, __FILE__, __LINE__)

/// `expression` throws an Exception whose message contains `part`.
#define CHECK_THROWS(expression, Exception, part) \
  ::evidex::check::expect_throw<Exception>([&] { expression; }, (part), #expression, __FILE__, __LINE__)

int main(int count, char** arguments) { return ::evidex::check::run_all(count > 1 ? arguments[1] : ""); }
