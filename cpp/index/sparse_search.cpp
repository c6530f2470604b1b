// SPDX-License-Identifier: Apache-2.0
#include "index/sparse_search.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/float_state.hpp"
#include "base/thread_pool.hpp"
#include "index/sparse_scan.hpp"

namespace evidex::index {
namespace {

using search::TopK;

/// Fewer rows are not worth another worker.
constexpr std::size_t kRowsPerWorker = 8 * kSparseWindow;

/// The terms of a query that somebody's rows have, with their weights.
SparseTerms terms_of(const SparseView& view, const SparseCounts* counts, const SparseQuery& query, std::size_t q) {
  const std::size_t parts = view.parts.size();
  SparseTerms found;
  double squares = 0;
  std::vector<std::size_t> order(query.starts[q + 1] - query.starts[q]);
  std::iota(order.begin(), order.end(), query.starts[q]);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return query.terms[a] < query.terms[b]; });
  found.terms.reserve(order.size());
  found.places.resize(order.size() * parts);
  for (const std::size_t i : order) {
    const std::span places = std::span(found.places).subspan(found.terms.size() * parts, parts);
    view.find(query.terms[i], places.data());
    SparseTerm term{query.weights[i], 1};
    if (counts != nullptr) {
      const std::size_t df = counts->df(places);
      if (df == 0) continue;
      term.idf = inverse_frequency(counts->rows(), df);
      term.weight = term.weight / 4 * term.idf;
    }
    found.sum += term.weight;
    squares += term.weight * term.weight;
    found.terms.push_back(term);
  }
  found.norm = std::sqrt(squares);
  return found;
}

/// Rows of all parts in about equal shares, each of whole windows of one part.
std::vector<std::vector<SparseRange>> shares(const SparseView& view, std::size_t count) {
  std::size_t windows = 0;
  for (const SparsePart& part : view.parts) windows += (part.postings->rows() + kSparseWindow - 1) / kSparseWindow;
  std::vector<std::vector<SparseRange>> found(std::clamp<std::size_t>(count, 1, std::max<std::size_t>(windows, 1)));
  const std::size_t each = std::max<std::size_t>((windows + found.size() - 1) / found.size(), 1) * kSparseWindow;
  std::size_t share = 0;
  std::size_t room = each;
  for (std::size_t p = 0; p < view.parts.size(); ++p) {
    const std::size_t rows = view.parts[p].postings->rows();
    for (std::size_t begin = 0; begin < rows;) {
      if (room == 0) {
        ++share;
        room = each;
      }
      const std::size_t taken = std::min(room, (rows - begin + kSparseWindow - 1) / kSparseWindow * kSparseWindow);
      found[share].push_back({p, begin, std::min(rows, begin + taken)});
      begin += taken;
      room -= taken;
    }
  }
  return found;
}

struct Call {
  const SparseView& view;
  const SparseCounts* counts;
  const SparseRanking& ranking;
  const SparseQuery& query;
  const Plan& planned;
  Stop& stop;

  std::size_t mask_of(std::size_t q) const { return query.mask_of.empty() ? 0 : query.mask_of[q]; }

  TopK best_of(std::size_t q) const {
    return TopK(planned.masks[mask_of(q)].returned, -std::numeric_limits<float>::infinity(), query.grouped);
  }

  void scan(std::size_t q, const SparseTerms& terms, const SparseRange& range, SparseScratch& scratch,
            TopK& best) const {
    view.parts[range.part].postings->named([&] { scan_unnamed(q, terms, range, scratch, best); });
  }

 private:
  void scan_unnamed(std::size_t q, const SparseTerms& terms, const SparseRange& range, SparseScratch& scratch,
                    TopK& best) const {
    const search::Bitmask& mask = *query.masks[mask_of(q)];
    if (counts == nullptr) {
      scan_vectors(view, range, terms, mask, scratch, best, stop);
    } else if (ranking.ranking == Ranking::bm25) {
      const Bm25 bm25(ranking.k1, ranking.b, counts->rows(), counts->length());
      scan_bm25(view, range, terms, bm25, mask, scratch, best, stop);
    } else {
      scan_tfidf(view, range, terms, counts->norms(view, range.part), mask, scratch, best, stop);
    }
  }
};

}  // namespace

Plan plan(const SparseView& view, const SparseQuery& query) {
  Plan planned;
  for (const search::Bitmask* mask : query.masks) {
    MaskPlan of_mask;
    of_mask.permitted = view.snapshot->count_permitted(*mask);
    of_mask.returned = std::min(query.k, of_mask.permitted);
    planned.masks.push_back(of_mask);
  }
  // By the rows that are permitted, and not by those that are read over: the number is shown, and tells of no others.
  std::size_t permitted = 0;
  for (std::size_t q = 0; q < query.count(); ++q) {
    permitted += planned.masks[query.mask_of.empty() ? 0 : query.mask_of[q]].permitted;
  }
  const std::size_t useful = std::max(query.count(), permitted / kRowsPerWorker);
  planned.workers = static_cast<unsigned>(std::clamp<std::size_t>(useful, 1, std::max(1U, query.threads)));
  return planned;
}

void search(const SparseView& view, const SparseCounts* counts, const SparseRanking& ranking, const SparseQuery& query,
            const Plan& planned, const Sink& sink, Stop& stop) {
  const FloatState state;
  const Call call{view, counts, ranking, query, planned, stop};
  const std::size_t count = query.count();
  const std::vector<std::vector<SparseRange>> ranges = shares(view, count < planned.workers ? planned.workers : 1);
  // Each query, or each share of its rows, is one piece of work; what the pieces of a query find is merged at its end.
  std::vector<SparseTerms> terms(ranges.size() > 1 ? count : 0);
  std::vector<std::vector<TopK>> found(terms.size());
  for (std::size_t q = 0; q < terms.size(); ++q) {
    terms[q] = terms_of(view, counts, query, q);
    found[q].assign(ranges.size(), call.best_of(q));
  }
  std::atomic<std::size_t> next{0};
  run_workers(planned.workers, [&](unsigned) {
    SparseScratch& scratch = SparseScratch::of_thread();
    for (std::size_t i = next++; i < count * ranges.size(); i = next++) {
      const std::size_t q = i / ranges.size();
      if (planned.masks[call.mask_of(q)].returned == 0) continue;
      if (ranges.size() > 1) {
        for (const SparseRange& range : ranges[i % ranges.size()]) {
          call.scan(q, terms[q], range, scratch, found[q][i % ranges.size()]);
        }
      } else {
        TopK best = call.best_of(q);
        const SparseTerms its = terms_of(view, counts, query, q);
        for (const SparseRange& range : ranges[0]) call.scan(q, its, range, scratch, best);
        sink(q, best.sorted());
      }
    }
    scratch.done();
  });
  for (std::size_t q = 0; q < count; ++q) {
    if (ranges.size() == 1) {
      if (planned.masks[call.mask_of(q)].returned == 0) sink(q, {});
      continue;
    }
    TopK best = call.best_of(q);
    for (const TopK& part : found[q]) best.merge(part);
    sink(q, best.sorted());
  }
}

}  // namespace evidex::index
