// SPDX-License-Identifier: Apache-2.0
#include "bindings/answer.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace evidex::bindings {
namespace {

using search::Hit;

py::array_t<std::int64_t> whole_numbers(std::size_t nq, std::size_t width) {
  return py::array_t<std::int64_t>({static_cast<py::ssize_t>(nq), static_cast<py::ssize_t>(width)});
}

/// Writes hits into an answer's arrays without touching a Python object.
class Writer {
 public:
  Writer(Answer& answer, std::size_t nq, std::size_t width) : width_(width) {
    answer.ids = whole_numbers(nq, width);
    answer.groups = whole_numbers(nq, width);
    answer.rows = whole_numbers(nq, width);
    answer.scores = py::array_t<float>({static_cast<py::ssize_t>(nq), static_cast<py::ssize_t>(width)});
    answer.counts = py::array_t<std::int64_t>(static_cast<py::ssize_t>(nq));
    ids_ = answer.ids.mutable_data();
    groups_ = answer.groups.mutable_data();
    rows_ = answer.rows.mutable_data();
    scores_ = answer.scores.mutable_data();
    counts_ = answer.counts.mutable_data();
  }

  void write(std::size_t query, const std::vector<Hit>& hits) const {
    constexpr Hit kNone{-std::numeric_limits<float>::infinity(), -1, -1};
    counts_[query] = static_cast<std::int64_t>(hits.size());
    for (std::size_t i = 0; i < width_; ++i) {
      const Hit& hit = i < hits.size() ? hits[i] : kNone;
      ids_[query * width_ + i] = hit.id;
      scores_[query * width_ + i] = hit.score;
      groups_[query * width_ + i] = hit.group;
      rows_[query * width_ + i] = i < hits.size() ? static_cast<std::int64_t>(hit.row) : -1;
    }
  }

 private:
  std::size_t width_;
  std::int64_t* ids_;
  std::int64_t* groups_;
  std::int64_t* rows_;
  float* scores_;
  std::int64_t* counts_;
};

}  // namespace

void fill(Answer& answer, std::size_t count, std::optional<std::size_t> k,
          const std::function<void(const index::Sink&)>& run) {
  constexpr std::size_t kWidestPadding = 65536;
  if (k && *k <= kWidestPadding) {
    const Writer writer(answer, count, *k);
    run([&](std::size_t q, const std::vector<Hit>& hits) { writer.write(q, hits); });
    return;
  }
  std::vector<std::vector<Hit>> found(count);
  run([&](std::size_t q, const std::vector<Hit>& hits) { found[q] = hits; });
  std::size_t width = 0;
  for (const auto& hits : found) width = std::max(width, hits.size());
  const Writer writer(answer, found.size(), width);
  for (std::size_t q = 0; q < found.size(); ++q) writer.write(q, found[q]);
}

}  // namespace evidex::bindings
