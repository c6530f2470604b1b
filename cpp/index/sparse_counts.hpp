// SPDX-License-Identifier: Apache-2.0
// Statistics of the rows that somebody may read: how many, how long together, and in how many of them a term occurs.
// Whole numbers, counted through the mask, so they are those of an index that holds these rows only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "index/sparse_view.hpp"

namespace evidex::index {

/// Counts of one part under one mask; what is counted once is kept. Any thread may ask.
class PartCounts {
 public:
  PartCounts(std::shared_ptr<const postings::Postings> of, std::vector<std::uint64_t> bits);

  const postings::Postings* of() const noexcept { return of_.get(); }
  /// The rows that are counted.
  const std::vector<std::uint64_t>& bits() const noexcept { return bits_; }
  std::size_t rows() const noexcept { return rows_; }
  std::uint64_t length() const noexcept { return length_; }
  std::size_t df(const postings::TermPlace& term) const;

 private:
  std::size_t count(const postings::TermPlace& term) const;

  std::shared_ptr<const postings::Postings> of_;
  std::vector<std::uint64_t> bits_;  // permitted and live rows
  std::size_t rows_ = 0;
  std::uint64_t length_ = 0;
  mutable std::mutex lock_;
  mutable std::unordered_map<std::size_t, std::size_t> counted_;
};

class SparseCounts {
 public:
  /// `before`: counts of an earlier state or of anybody; those of parts that are as they were are taken over.
  SparseCounts(const SparseView& view, const search::Bitmask& mask, const SparseCounts* before);

  std::size_t rows() const noexcept { return rows_; }
  std::uint64_t length() const noexcept { return length_; }
  /// Of a term whose place in each part is known.
  std::size_t df(std::span<const postings::TermPlace> places) const;
  /// Of the view that they are of.
  std::size_t parts() const noexcept { return parts_.size(); }

  /// Euclidean lengths of the documents of a part of `view`, with the weights of TF-IDF; made when first asked for.
  const std::vector<double>& norms(const SparseView& view, std::size_t part) const;

 private:
  std::vector<std::shared_ptr<const PartCounts>> parts_;
  std::size_t rows_ = 0;
  std::uint64_t length_ = 0;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<const std::vector<double>>> norms_;
};

}  // namespace evidex::index
