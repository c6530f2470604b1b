// SPDX-License-Identifier: Apache-2.0
// Lists the kernel slots, and runs one of them over the same rows again and again, for a tool that counts instructions
// (tools/kernels_doc.py).
//
//   kernel_counts --list DIM...            slots, with the bytes each reads of a row, as JSON
//   kernel_counts --all DIM                every slot of every set that runs here, over one block of rows
//   kernel_counts SET SLOT DIM BLOCKS      kernel_counts avx2 "scan cosine" 384 10; exit status 3: SET does not run
//   here
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/features.hpp"
#include "cpu/isa.hpp"
#include "kernel_slots.hpp"
#include "kernels/arch/tables.hpp"

namespace evidex::counts {
namespace {

constexpr int kUsage = 2;
constexpr int kNotHere = 3;

bool runs_here(std::size_t set) {
  const cpu::Isa& isa = cpu::kIsas[set];
  return (cpu::features() & isa.required) == isa.required;
}

std::string compiler() {
#if defined(__clang__)
  return std::string("Clang ") + __clang_version__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

/// No text here holds what JSON would have to escape.
std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string key(std::string_view name) { return quoted(name) + ": "; }

std::string_view truth(bool value) { return value ? "true" : "false"; }

template <class Range, class Print>
void print_list(std::string_view name, const Range& range, Print print) {
  std::cout << key(name) << '[';
  const char* separator = "";
  for (const auto& one : range) {
    std::cout << std::exchange(separator, ", ");
    print(one);
  }
  std::cout << ']';
}

void print_slot(const Slot& slot, std::span<const std::size_t> dims) {
  std::cout << '{' << key("name") << quoted(slot.name) << ", " << key("does") << quoted(slot.does) << ", ";
  std::cout << key("reads") << quoted(slot.reads) << ", " << key("tile") << truth(slot.tile) << ", ";
  print_list("kinds", kernels::kTables, [&](const Table* table) { std::cout << quoted(table->*slot.kind); });
  std::cout << ", ";
  print_list("bytes", dims, [&](std::size_t dim) {
    World world(kernels::scalar::kTable, dim);
    (void)slot.prepare(world);
    std::cout << world.row_bytes();
  });
  std::cout << '}';
}

int list(std::span<const std::size_t> dims) {
  std::cout << '{' << key("compiler") << quoted(compiler()) << ", " << key("rows") << kRows << ", ";
  std::cout << key("queries") << kQueries << ",\n";
  std::vector<std::size_t> sets(kernels::kTables.size());
  std::iota(sets.begin(), sets.end(), 0);
  print_list("sets", sets, [](std::size_t set) {
    std::cout << '{' << key("name") << quoted(cpu::kIsas[set].name) << ", " << key("runs") << truth(runs_here(set));
    std::cout << '}';
  });
  std::cout << ",\n";
  print_list("slots", all_slots(), [&](const Slot& slot) {
    std::cout << '\n';
    print_slot(slot, dims);
  });
  std::cout << "}\n";
  return 0;
}

/// Every slot of every set that runs here.
int run_all(std::size_t dim) {
  for (std::size_t set = 0; set < kernels::kTables.size(); ++set) {
    if (!runs_here(set)) continue;
    for (const Slot& slot : all_slots()) {
      World world(*kernels::kTables[set], dim);
      slot.prepare(world)();
    }
  }
  return 0;
}

int run_one(std::string_view set_name, std::string_view slot_name, std::size_t dim, std::size_t blocks) {
  for (std::size_t set = 0; set < kernels::kTables.size(); ++set) {
    if (cpu::kIsas[set].name != set_name) continue;
    if (!runs_here(set)) {
      std::cerr << set_name << " does not run here\n";
      return kNotHere;
    }
    for (const Slot& slot : all_slots()) {
      if (slot.name != slot_name) continue;
      World world(*kernels::kTables[set], dim);
      const Block block = slot.prepare(world);
      for (std::size_t i = 0; i < blocks; ++i) block();
      return 0;
    }
  }
  std::cerr << "no slot '" << slot_name << "' of '" << set_name << "'; --list names them\n";
  return kUsage;
}

int run(std::span<const std::string> arguments) {
  const auto number = [&](std::size_t i) { return static_cast<std::size_t>(std::stoul(arguments[i])); };
  if (arguments.size() > 1 && arguments[0] == "--list") {
    std::vector<std::size_t> dims;
    for (std::size_t i = 1; i < arguments.size(); ++i) dims.push_back(number(i));
    return list(dims);
  }
  if (arguments.size() == 2 && arguments[0] == "--all") return run_all(number(1));
  if (arguments.size() == 4) return run_one(arguments[0], arguments[1], number(2), number(3));
  std::cerr << "kernel_counts --list DIM... | --all DIM | SET SLOT DIM BLOCKS\n";
  return kUsage;
}

}  // namespace
}  // namespace evidex::counts

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return evidex::counts::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "kernel_counts: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
