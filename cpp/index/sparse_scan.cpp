// SPDX-License-Identifier: Apache-2.0
#include "index/sparse_scan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "index/sparse_cursor.hpp"
#include "index/sparse_scorers.hpp"
#include "index/sparse_window.hpp"

namespace evidex::index {
namespace {

using search::TopK;

/// Looking a row up in a list costs about as much as reading over so many entries of it (benchmarks/NOTES.md).
constexpr std::size_t kEntriesPerLookup = 16;

template <class Scorer>
class Scan {
 public:
  Scan(const SparseView& view, const SparseRange& range, const SparseTerms& query, const Scorer& scorer,
       const search::Bitmask& mask, SparseScratch& scratch, TopK& best)
      : snapshot_(*view.snapshot),
        begin_(view.parts[range.part].begin),
        rows_(view.parts[range.part].postings->rows()),
        window_(view, range, mask),
        scorer_(scorer),
        sums_(scratch.sums.data()),
        touched_(scratch.touched),
        room_(scratch.candidates),
        best_(best),
        grouped_(best.grouped()) {
    const postings::Postings& part = *view.parts[range.part].postings;
    cursors_.reserve(query.terms.size());
    const postings::TermPlace* place = query.places.data() + range.part;
    for (const SparseTerm& term : query.terms) {
      if (place->found()) cursors_.emplace_back(part.list(*place), term.weight, term.idf);
      place += view.parts.size();
    }
  }

  void run(Stop& stop) {
    while (!cursors_.empty() && window_.next()) {
      stop.throw_if_requested();
      if (find_active()) score();
    }
  }

 private:
  using Candidate = SparseCandidate;
  struct Scored {
    float score;
    std::uint32_t row;
  };
  struct Optional {
    SparseCursor* cursor;
    double together;  // its bound and those of the ones after it
  };

  std::size_t first() const noexcept { return window_.first(); }

  /// The terms that have rows in the window, and which of them must be read to find every hit.
  bool find_active() {
    active_.clear();
    for (SparseCursor& cursor : cursors_) {
      if (cursor.seek(static_cast<std::uint32_t>(first())) && cursor.row() < window_.end()) active_.push_back(&cursor);
    }
    optional_.clear();
    if constexpr (Scorer::kPrunes) {
      least_ = least_sum();
      double all = 0;
      for (SparseCursor* cursor : active_) {
        cursor->bound = 0;
        cursor->each_bound_below(window_.end(), [&](const postings::Bounds& of) {
          cursor->bound = std::max(cursor->bound, scorer_.bound(*cursor, of));
        });
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

  void score() {
    for (SparseCursor* cursor : active_) window_.few() ? add_permitted(*cursor) : add_all(*cursor);
    if (window_.few() || window_.all()) {  // what was added is permitted
      collect([](std::size_t) { return std::size_t{1}; });
    } else {
      collect([&](std::size_t at) { return window_.permitted(at); });
    }
    if (!optional_.empty() && !candidates_.empty()) add_optional();
    for (const Candidate& one : candidates_) {
      const auto score = static_cast<float>(scorer_.score(one.sum, first() + one.at));
      if (score >= best_.threshold()) scored_.push_back({score, static_cast<std::uint32_t>(first() + one.at)});
    }
    if (scored_.empty()) return;
    leave_best();
    for (const Scored& one : scored_) push(one);
    scored_.clear();
    (void)best_.best();  // tightens the threshold
  }

  /// Before there is a threshold most rows of a window are beaten by others of it: those are not looked up.
  void leave_best() {
    if (grouped_ || scored_.size() <= 2 * best_.k()) return;
    const auto higher = [](const Scored& a, const Scored& b) { return a.score > b.score; };
    const auto last = scored_.begin() + static_cast<std::ptrdiff_t>(best_.k() - 1);
    std::nth_element(scored_.begin(), last, scored_.end(), higher);
    std::erase_if(scored_, [least = last->score](const Scored& one) { return one.score < least; });
  }

  void push(const Scored& one) {
    const std::size_t row = begin_ + one.row;
    best_.push({one.score, snapshot_.id(row), snapshot_.group(row), static_cast<std::uint32_t>(row)});
  }

  /// Adds what the term gives to rows, and notes which they are.
  void add(const SparseCursor& cursor, const std::uint32_t* rows, const std::uint32_t* values, std::size_t count) {
    if (touched_.size() < touched_count_ + count) touched_.resize(2 * (touched_count_ + count));
    std::uint32_t* touched = touched_.data() + touched_count_;
    touched_count_ += count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = rows[i] - first();
      touched[i] = static_cast<std::uint32_t>(at);
      sums_[at] += scorer_.contribution(cursor, rows[i], values[i]);
    }
  }

  void add_all(SparseCursor& cursor) {
    cursor.each_below(window_.end(), [&](const std::uint32_t* rows, const std::uint32_t* values, std::size_t count) {
      add(cursor, rows, values, count);
    });
  }

  /// Picks out the permitted rows first, without a branch that nobody could foretell.
  void add_permitted(SparseCursor& cursor) {
    cursor.each_below(window_.end(), [&](const std::uint32_t* rows, const std::uint32_t* values, std::size_t count) {
      postings::Numbers kept_rows;
      postings::Numbers kept_values;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i) {
        kept_rows[kept] = rows[i];
        kept_values[kept] = values[i];
        kept += window_.permitted(rows[i] - first());
      }
      add(cursor, kept_rows.data(), kept_values.data(), kept);
    });
  }

  /// Takes the sums of the window, and leaves zeros. Rows that may still be hits become candidates. A row that several
  /// terms touched has no sum any more when it comes again; every contribution is above zero.
  template <class Permitted>
  void collect(Permitted&& permitted) {
    const double rest = optional_.empty() ? 0 : optional_.front().together;
    if (room_.size() < touched_count_) room_.resize(2 * touched_count_);
    std::size_t kept = 0;
    for (const std::uint32_t at : std::span(touched_).first(touched_count_)) {
      const double sum = sums_[at];
      sums_[at] = 0;
      room_[kept] = {sum, at};
      kept += permitted(at) & static_cast<std::size_t>(sum > 0) & static_cast<std::size_t>(sum + rest >= least_);
    }
    candidates_ = std::span(room_).first(kept);
    touched_count_ = 0;
  }

  /// Completes the candidates' sums, list by list, in whichever way reads less.
  void add_optional() {
    for (const Candidate& one : candidates_) sums_[one.at] = one.sum;
    bool ascending = false;
    for (const Optional& optional : optional_) {
      const std::size_t entries = optional.cursor->size() * kSparseWindow / rows_;
      if (entries < kEntriesPerLookup * candidates_.size()) {
        add_to_candidates(*optional.cursor);
        continue;
      }
      if (!ascending) {
        std::sort(candidates_.begin(), candidates_.end(),
                  [](const Candidate& a, const Candidate& b) { return a.at < b.at; });
      }
      ascending = true;
      look_up(optional);
    }
    for (Candidate& one : candidates_) one.sum = std::exchange(sums_[one.at], 0);
  }

  /// Rows without a sum are no candidates.
  void add_to_candidates(SparseCursor& cursor) {
    cursor.each_below(window_.end(), [&](const std::uint32_t* rows, const std::uint32_t* values, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        double& sum = sums_[rows[i] - first()];
        if (sum > 0) sum += scorer_.contribution(cursor, rows[i], values[i]);
      }
    });
  }

  void look_up(const Optional& optional) {
    SparseCursor& cursor = *optional.cursor;
    for (const Candidate& one : candidates_) {
      if (sums_[one.at] + optional.together < least_) continue;
      const auto row = static_cast<std::uint32_t>(first() + one.at);
      if (!cursor.seek(row)) return;
      if (cursor.row() == row) sums_[one.at] += scorer_.contribution(cursor, row, cursor.value());
    }
  }

  const Snapshot& snapshot_;
  std::size_t begin_;
  std::size_t rows_;
  SparseWindow window_;
  Scorer scorer_;
  double* sums_;
  std::vector<std::uint32_t>& touched_;
  std::size_t touched_count_ = 0;
  std::vector<Candidate>& room_;
  std::span<Candidate> candidates_;
  TopK& best_;
  std::vector<SparseCursor> cursors_;
  std::vector<SparseCursor*> active_;
  std::vector<SparseCursor*> order_;
  std::vector<Optional> optional_;
  std::vector<Scored> scored_;
  double least_ = 0;
  bool grouped_;
};

}  // namespace

void scan_bm25(const SparseView& view, const SparseRange& range, const SparseTerms& query, const Bm25& bm25,
               const search::Bitmask& mask, SparseScratch& scratch, TopK& best, Stop& stop) {
  view.parts[range.part].postings->lengths().visit([&]<class Length>(const Length* lengths) {
    const ScoreBm25<Length> scorer{bm25, Quantum(query.sum), lengths};
    Scan<ScoreBm25<Length>>(view, range, query, scorer, mask, scratch, best).run(stop);
  });
}

void scan_tfidf(const SparseView& view, const SparseRange& range, const SparseTerms& query,
                const std::vector<double>& norms, const search::Bitmask& mask, SparseScratch& scratch, TopK& best,
                Stop& stop) {
  Scan<ScoreTfidf>(view, range, query, {query.norm, norms.data()}, mask, scratch, best).run(stop);
}

void scan_vectors(const SparseView& view, const SparseRange& range, const SparseTerms& query,
                  const search::Bitmask& mask, SparseScratch& scratch, TopK& best, Stop& stop) {
  Scan<ScoreVectors>(view, range, query, {}, mask, scratch, best).run(stop);
}

}  // namespace evidex::index
