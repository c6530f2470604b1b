// SPDX-License-Identifier: Apache-2.0
// One query against some rows of one part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/stop.hpp"
#include "index/sparse_ranking.hpp"
#include "index/sparse_view.hpp"
#include "search/bitmask.hpp"
#include "search/top_k.hpp"

namespace evidex::index {

/// A term of a query: what it is worth there, and how rare it is.
struct SparseTerm {
  double weight;
  double idf;
};

/// A query's terms in the order of their bytes, with what scoring them needs.
struct SparseTerms {
  std::vector<SparseTerm> terms;
  std::vector<postings::TermPlace> places;  // [terms, parts]
  double sum = 0;                           // of the weights
  double norm = 0;                          // of the weights, Euclidean
};

inline constexpr std::size_t kSparseWindow = 8192;

/// A row of a window with what its terms gave it.
struct SparseCandidate {
  double sum;
  std::uint32_t at;  // in the window
};

/// Room for one worker: sums of a window of rows, zero in between. A thread keeps its own from call to call.
class SparseScratch {
 public:
  /// This thread's, to be used until `done`; what did not get that far, by an exception, is cleaned here.
  static SparseScratch& of_thread() {
    thread_local SparseScratch scratch;
    if (scratch.used_) scratch.sums.assign(kSparseWindow, 0);
    scratch.used_ = true;
    return scratch;
  }
  void done() noexcept {
    used_ = false;
    if (touched.size() <= kKept && candidates.size() <= kKept) return;
    touched = {};
    candidates = {};
  }

  std::vector<double> sums;
  // Only their memory is kept.
  std::vector<std::uint32_t> touched;
  std::vector<SparseCandidate> candidates;

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 16;  // a thread that asked for more once need not again

  bool used_ = true;
};

struct SparseRange {
  std::size_t part;
  std::size_t begin;  // rows of the part; a multiple of the window
  std::size_t end;
};

/// BM25, with lists passed over where they cannot matter: MaxScore (Turtle and Flood, 1995) window by window, with
/// block maxima (Ding and Suel, SIGIR 2011).
void scan_bm25(const SparseView& view, const SparseRange& range, const SparseTerms& query, const Bm25& bm25,
               const search::Bitmask& mask, SparseScratch& scratch, search::TopK& best, Stop& stop);

/// Cosine of TF-IDF weights. `norms` are those of the part's rows.
void scan_tfidf(const SparseView& view, const SparseRange& range, const SparseTerms& query,
                const std::vector<double>& norms, const search::Bitmask& mask, SparseScratch& scratch,
                search::TopK& best, Stop& stop);

/// Inner products of float weights.
void scan_vectors(const SparseView& view, const SparseRange& range, const SparseTerms& query,
                  const search::Bitmask& mask, SparseScratch& scratch, search::TopK& best, Stop& stop);

}  // namespace evidex::index
