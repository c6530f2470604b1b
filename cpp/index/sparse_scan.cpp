// SPDX-License-Identifier: Apache-2.0
#include "index/sparse_scan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "index/sparse_cursor.hpp"

namespace evidex::index {
namespace {

using postings::Bounds;
using search::Hit;
using search::TopK;

constexpr std::size_t kWords = kSparseWindow / 64;
/// A window whose permitted rows are fewer is scored through its mask, row by row.
constexpr std::size_t kFewPermitted = kSparseWindow / 4;

/// How contributions are made. `kPrunes`: sums do not depend on their order, and contributions have bounds.
struct ScoreBm25 {
  static constexpr bool kPrunes = true;

  double contribution(const SparseCursor& term, std::uint32_t row, std::uint32_t value) const noexcept {
    return quantum.rounded(term.weight * bm25.share(value, lengths[row]));
  }
  double bound(const SparseCursor& term, const Bounds& of) const noexcept {
    return quantum.rounded(term.weight * bm25.most_share(of.most, of.least_length));
  }
  double score(double sum, std::size_t) const noexcept { return sum; }

  Bm25 bm25;
  Quantum quantum;
  const std::uint32_t* lengths;
};

struct ScoreTfidf {
  static constexpr bool kPrunes = false;

  double contribution(const SparseCursor& term, std::uint32_t, std::uint32_t value) const noexcept {
    return term.weight * (times(value) * term.idf);
  }
  double score(double sum, std::size_t row) const noexcept { return sum / (norm * norms[row]); }

  double norm;
  const double* norms;
};

struct ScoreVectors {
  static constexpr bool kPrunes = false;

  double contribution(const SparseCursor& term, std::uint32_t, std::uint32_t value) const noexcept {
    return term.weight * static_cast<double>(std::bit_cast<float>(value));
  }
  double score(double sum, std::size_t) const noexcept { return sum; }
};

template <class Scorer>
class Scan {
 public:
  Scan(const SparseView& view, const SparseRange& range, const SparseTerms& query, const Scorer& scorer,
       SparseScratch& scratch, TopK& best)
      : snapshot_(*view.snapshot),
        begin_(view.parts[range.part].begin),
        range_(range),
        scorer_(scorer),
        sums_(scratch.sums.data()),
        touched_(scratch.touched.data()),
        best_(best) {
    const postings::Postings& part = *view.parts[range.part].postings;
    cursors_.reserve(query.terms.size());
    for (const SparseTerm& term : query.terms) {
      const std::size_t number = part.find(term.term);
      if (number != postings::Postings::kNone) cursors_.emplace_back(part.list(number), term.weight, term.idf);
    }
  }

  void run(const search::Bitmask& mask, Stop& stop) {
    if (cursors_.empty()) return;
    for (first_ = range_.begin; first_ < range_.end; first_ += kSparseWindow) {
      stop.throw_if_requested();
      end_ = static_cast<std::uint32_t>(std::min(range_.end, first_ + kSparseWindow));
      if (permitted_bits(snapshot_, mask, begin_ + first_, end_ - first_, permitted_.data()) && find_active()) window();
    }
  }

 private:
  /// The terms that have rows in the window; those from essential_ on must be read to find every hit.
  bool find_active() {
    active_.clear();
    for (SparseCursor& cursor : cursors_) {
      if (cursor.seek(static_cast<std::uint32_t>(first_)) && cursor.row() < end_) active_.push_back(&cursor);
    }
    optional_.clear();
    if constexpr (Scorer::kPrunes) {
      least_ = least_sum();
      double all = 0;
      for (SparseCursor* cursor : active_) {
        cursor->bound = 0;
        cursor->each_bound_below(
            end_, [&](const Bounds& of) { cursor->bound = std::max(cursor->bound, scorer_.bound(*cursor, of)); });
        all += cursor->bound;
      }
      if (all < least_) return false;
      split_active();
    }
    return !active_.empty();
  }

  /// Takes out the terms that even together cannot make a row a hit: the optional ones, best first.
  void split_active() {
    order_ = active_;
    std::sort(order_.begin(), order_.end(),
              [](const SparseCursor* a, const SparseCursor* b) { return a->bound < b->bound; });
    double together = 0;
    for (SparseCursor* cursor : order_) {
      together += cursor->bound;
      if (together >= least_) break;
      optional_.push_back({cursor, together});
    }
    std::reverse(optional_.begin(), optional_.end());
    std::erase_if(active_, [&](const SparseCursor* cursor) {
      return std::any_of(optional_.begin(), optional_.end(), [&](const Optional& one) { return one.cursor == cursor; });
    });
  }

  /// A smaller sum cannot enter. It is the least double that becomes the threshold when it is rounded, or less.
  double least_sum() const noexcept {
    const float threshold = best_.threshold();
    if (threshold == -std::numeric_limits<float>::infinity()) return -std::numeric_limits<double>::infinity();
    const float below = std::nextafter(threshold, -std::numeric_limits<float>::infinity());
    return (static_cast<double>(below) + static_cast<double>(threshold)) / 2;
  }

  void window() {
    std::size_t permitted = 0;
    for (std::size_t i = 0; i < words(); ++i) permitted += static_cast<std::size_t>(std::popcount(permitted_[i]));
    for (SparseCursor* cursor : active_) {
      permitted < kFewPermitted ? add_permitted(*cursor) : add_all(*cursor);
    }
    collect();
    for (const Candidate& one : candidates_) finish(one);
    candidates_.clear();
    (void)best_.best();  // tightens the threshold
  }

  void add(const SparseCursor& cursor, std::uint32_t row, std::uint32_t value) noexcept {
    const std::size_t at = row - first_;
    sums_[at] += scorer_.contribution(cursor, row, value);
    touched_[at / 64] |= std::uint64_t{1} << (at % 64);
  }

  void add_all(SparseCursor& cursor) {
    cursor.each_below(end_, [&](std::uint32_t row, std::uint32_t value) { add(cursor, row, value); });
  }

  /// Picks out the permitted rows first, without a branch that nobody could foretell.
  void add_permitted(SparseCursor& cursor) {
    std::array<std::uint32_t, kSparseWindow> rows;
    std::array<std::uint32_t, kSparseWindow> values;
    std::size_t count = 0;
    cursor.each_below(end_, [&](std::uint32_t row, std::uint32_t value) {
      const std::size_t at = row - first_;
      rows[count] = row;
      values[count] = value;
      count += (permitted_[at / 64] >> (at % 64)) & 1;
    });
    for (std::size_t i = 0; i < count; ++i) add(cursor, rows[i], values[i]);
  }

  /// Takes the sums of the window, and leaves zeros. Rows that may still be hits become candidates.
  void collect() {
    const double rest = optional_.empty() ? 0 : optional_.front().together;
    for (std::size_t i = 0; i < words(); ++i) {
      const std::uint64_t permitted = permitted_[i];
      for (std::uint64_t word = touched_[i]; word != 0; word &= word - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(word));
        const double sum = sums_[i * 64 + bit];
        sums_[i * 64 + bit] = 0;
        if (((permitted >> bit) & 1) == 0) continue;
        if constexpr (Scorer::kPrunes) {
          if (sum + rest < least_) continue;
        }
        candidates_.push_back({sum, static_cast<std::uint32_t>(first_ + i * 64 + bit)});
      }
      touched_[i] = 0;
    }
  }

  struct Candidate {
    double sum;
    std::uint32_t row;
  };

  void finish(Candidate one) {
    for (const Optional& optional : optional_) {
      if (one.sum + optional.together < least_) return;
      SparseCursor& cursor = *optional.cursor;
      if (cursor.seek(one.row) && cursor.row() == one.row) {
        one.sum += scorer_.contribution(cursor, one.row, cursor.value());
      }
    }
    const std::size_t row = begin_ + one.row;
    const auto score = static_cast<float>(scorer_.score(one.sum, one.row));
    if (score < best_.threshold()) return;
    best_.push({score, snapshot_.id(row), snapshot_.group(row), static_cast<std::uint32_t>(row)});
  }

  std::size_t words() const noexcept { return (end_ - first_ + 63) / 64; }

  struct Optional {
    SparseCursor* cursor;
    double together;  // its bound and those of the ones after it
  };

  const Snapshot& snapshot_;
  std::size_t begin_;
  SparseRange range_;
  Scorer scorer_;
  double* sums_;
  std::uint64_t* touched_;
  TopK& best_;
  std::vector<SparseCursor> cursors_;
  std::vector<SparseCursor*> active_;
  std::vector<SparseCursor*> order_;
  std::vector<Optional> optional_;
  std::vector<Candidate> candidates_;
  std::array<std::uint64_t, kWords> permitted_;
  std::size_t first_ = 0;
  std::uint32_t end_ = 0;
  double least_ = 0;
};

}  // namespace

void scan_bm25(const SparseView& view, const SparseRange& range, const SparseTerms& query, const Bm25& bm25,
               const search::Bitmask& mask, SparseScratch& scratch, TopK& best, Stop& stop) {
  const ScoreBm25 scorer{bm25, Quantum(query.sum), view.parts[range.part].postings->lengths().data()};
  Scan<ScoreBm25>(view, range, query, scorer, scratch, best).run(mask, stop);
}

void scan_tfidf(const SparseView& view, const SparseRange& range, const SparseTerms& query,
                const std::vector<double>& norms, const search::Bitmask& mask, SparseScratch& scratch, TopK& best,
                Stop& stop) {
  Scan<ScoreTfidf>(view, range, query, {query.norm, norms.data()}, scratch, best).run(mask, stop);
}

void scan_vectors(const SparseView& view, const SparseRange& range, const SparseTerms& query,
                  const search::Bitmask& mask, SparseScratch& scratch, TopK& best, Stop& stop) {
  Scan<ScoreVectors>(view, range, query, {}, scratch, best).run(mask, stop);
}

}  // namespace evidex::index
