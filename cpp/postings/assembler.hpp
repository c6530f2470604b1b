// SPDX-License-Identifier: Apache-2.0
// Puts postings together, term by term.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "postings/postings.hpp"

namespace evidex::postings {

class Assembler {
 public:
  /// `lengths` [rows], in quarters; where weighted, all 0. Throws InvalidInput for more rows than a segment may have.
  Assembler(std::vector<std::uint32_t> lengths, bool weighted);

  /// The list of a term, as append_list takes it. Terms come in the order of their bytes, each once. Throws
  /// InvalidInput for one that is too long.
  void add(std::string_view term, std::span<const std::uint32_t> rows, std::span<const std::uint32_t> values);

  std::shared_ptr<const Postings> finish() const;

 private:
  std::vector<std::uint32_t> lengths_;
  bool weighted_;
  std::uint64_t entries_ = 0;
  DictionaryWriter dictionary_;
  std::vector<std::byte> lists_;
};

}  // namespace evidex::postings
