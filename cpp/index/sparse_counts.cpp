// SPDX-License-Identifier: Apache-2.0
#include "index/sparse_counts.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "base/bits.hpp"
#include "index/sparse_ranking.hpp"

namespace evidex::index {
namespace {

using postings::ListReader;
using postings::Numbers;
using postings::TermPlace;

}  // namespace

PartCounts::PartCounts(std::shared_ptr<const postings::Postings> of, std::vector<std::uint64_t> bits)
    : of_(std::move(of)), bits_(std::move(bits)) {
  for (const std::uint64_t word : bits_) rows_ += count_bits(word);
  if (of_->weighted()) return;
  if (rows_ == of_->rows()) {
    length_ = of_->length();
    return;
  }
  of_->lengths().visit([&](const auto* lengths) {
    for (std::size_t i = 0; i < bits_.size(); ++i, lengths += 64) {
      for (std::uint64_t word = bits_[i]; word != 0; word &= word - 1) length_ += lengths[std::countr_zero(word)];
    }
  });
}

std::size_t PartCounts::df(const TermPlace& term) const {
  if (!term.found()) return 0;
  if (rows_ == of_->rows()) return of_->named([&] { return of_->list(term).size(); });
  const std::lock_guard guard(lock_);
  if (const auto found = counted_.find(term.number); found != counted_.end()) return found->second;
  return counted_.emplace(term.number, of_->named([&] { return count(term); })).first->second;
}

std::size_t PartCounts::count(const TermPlace& term) const {
  const ListReader list = of_->list(term);
  Numbers rows;
  std::size_t found = 0;
  for (std::size_t b = 0; b < list.blocks(); ++b) {
    list.rows(b, rows);
    const std::size_t size = list.size_of(b);
    for (std::size_t i = 0; i < size; ++i) found += (bits_[rows[i] / 64] >> (rows[i] % 64)) & 1;
  }
  return found;
}

SparseCounts::SparseCounts(const SparseView& view, const search::Bitmask& mask, const SparseCounts* before)
    : norms_(view.parts.size()) {
  std::unordered_map<const postings::Postings*, std::shared_ptr<const PartCounts>> known;
  if (before != nullptr) {
    for (const auto& counts : before->parts_) known.emplace(counts->of(), counts);
  }
  for (const SparsePart& part : view.parts) {
    const std::size_t rows = part.postings->rows();
    std::vector<std::uint64_t> bits((rows + 63) / 64);
    if (rows != 0) permitted_bits(*view.snapshot, mask, part.begin, rows, bits.data());
    const auto same = known.find(part.postings.get());
    std::shared_ptr<const PartCounts> counts = same != known.end() && same->second->bits() == bits
                                                   ? same->second
                                                   : std::make_shared<const PartCounts>(part.postings, std::move(bits));
    rows_ += counts->rows();
    length_ += counts->length();
    parts_.push_back(std::move(counts));
  }
}

std::size_t SparseCounts::df(std::span<const TermPlace> places) const {
  std::size_t found = 0;
  for (std::size_t part = 0; part < places.size(); ++part) found += parts_[part]->df(places[part]);
  return found;
}

const std::vector<double>& SparseCounts::norms(const SparseView& view, std::size_t part) const {
  const std::lock_guard guard(lock_);
  if (norms_[part]) return *norms_[part];
  const postings::Postings& of = *view.parts[part].postings;
  auto squares = std::make_unique<std::vector<double>>(of.rows());
  Numbers rows;
  Numbers values;
  std::vector<TermPlace> places(view.parts.size());
  for (postings::TermWalk terms(of.dictionary()); terms.next();) {
    view.find(terms.term(), places.data());
    const std::size_t df = this->df(places);
    if (df == 0) continue;  // only in rows that nobody here reads
    const double idf = inverse_frequency(rows_, df);
    const ListReader list = of.list(terms.place());
    for (std::size_t b = 0; b < list.blocks(); ++b) {
      list.rows_and_values(b, rows, values);
      for (std::size_t i = 0; i < list.size_of(b); ++i) {
        const double weight = times(values[i]) * idf;
        (*squares)[rows[i]] += weight * weight;
      }
    }
  }
  for (double& square : *squares) square = std::sqrt(square);
  norms_[part] = std::move(squares);
  return *norms_[part];
}

}  // namespace evidex::index
