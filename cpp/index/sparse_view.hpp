// SPDX-License-Identifier: Apache-2.0
// A snapshot and what words its rows have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "index/snapshot.hpp"
#include "postings/postings.hpp"
#include "search/bitmask.hpp"

namespace evidex::index {

/// Postings of rows begin, begin + 1, ... of a snapshot.
struct SparsePart {
  std::shared_ptr<const postings::Postings> postings;
  std::size_t begin;
};

struct SparseView {
  /// Throws InvalidInput unless the parts ascend, do not overlap, are of one kind, and have rows of the snapshot.
  SparseView(std::shared_ptr<const Snapshot> of, std::vector<SparsePart> its_parts);

  /// Where each part has the term; `places` [parts].
  void find(std::string_view term, postings::TermPlace* places) const;

  std::shared_ptr<const Snapshot> snapshot;
  std::vector<SparsePart> parts;
  bool weighted;
};

/// Sets bit i of `to` [ceil(count / 64)] where row first + i of the snapshot is permitted and there, and says whether
/// any is.
bool permitted_bits(const Snapshot& snapshot, const search::Bitmask& mask, std::size_t first, std::size_t count,
                    std::uint64_t* to);

}  // namespace evidex::index
