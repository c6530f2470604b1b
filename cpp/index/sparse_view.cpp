// SPDX-License-Identifier: Apache-2.0
#include "index/sparse_view.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace evidex::index {

SparseView::SparseView(std::shared_ptr<const Snapshot> of, std::vector<SparsePart> its_parts)
    : snapshot(std::move(of)), parts(std::move(its_parts)), weighted(!parts.empty() && parts[0].postings->weighted()) {
  std::size_t next = 0;
  for (const SparsePart& part : parts) {
    const std::size_t rows = part.postings->rows();
    if (part.begin < next || rows > snapshot->rows || part.begin > snapshot->rows - rows) {
      throw InvalidInput("begins: " + std::to_string(rows) + " rows from " + std::to_string(part.begin) +
                         " on overlap others, or the snapshot does not have them");
    }
    if (part.postings->weighted() != weighted) throw InvalidInput("postings: expected all of one kind");
    next = part.begin + rows;
  }
}

void SparseView::find(std::string_view term, postings::TermPlace* places) const {
  for (const SparsePart& part : parts) {
    *places++ = part.postings->named([&] { return part.postings->dictionary().find(term); });
  }
}

bool permitted_bits(const Snapshot& snapshot, const search::Bitmask& mask, std::size_t first, std::size_t count,
                    std::uint64_t* to) {
  const std::size_t words = (count + 63) / 64;
  if (first % 64 == 0 && snapshot.dead_rows == 0 && first + count <= mask.rows()) {  // the usual case, word by word
    std::uint64_t found = 0;
    for (std::size_t i = 0; i + 1 < words; ++i) found |= to[i] = mask.word(first / 64 + i);
    to[words - 1] = mask.word(first / 64 + words - 1);
    if (count % 64 != 0) to[words - 1] &= (std::uint64_t{1} << (count % 64)) - 1;
    return (found | to[words - 1]) != 0;
  }
  std::fill_n(to, words, 0);
  const std::size_t shift = first % 64;
  std::uint64_t any = 0;
  snapshot.for_each_permitted(mask, first / 64, (first + count + 63) / 64, [&](std::size_t i, std::uint64_t word) {
    const std::size_t at = i - first / 64;  // its bits belong to word `at`, and shifted out ones to the one before
    if (at < words) to[at] |= word >> shift;
    if (shift != 0 && at > 0) to[at - 1] |= word << (64 - shift);
  });
  if (count % 64 != 0) to[words - 1] &= (std::uint64_t{1} << (count % 64)) - 1;
  for (std::size_t i = 0; i < words; ++i) any |= to[i];
  return any != 0;
}

}  // namespace evidex::index
