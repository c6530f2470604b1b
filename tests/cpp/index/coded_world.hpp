// SPDX-License-Identifier: Apache-2.0
// A store large enough for codes, with rows of many kinds, and every answer by brute force.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "index/code_writer.hpp"
#include "index/world.hpp"
#include "random.hpp"
#include "reference.hpp"

namespace evidex::check {

/// What rows are like: apart, in clusters far from the origin, few different ones, hardly different, few values per
/// component, with one component that makes the steps of the code large.
enum class Kind : std::uint8_t { apart, clusters, copies, nearly_equal, few_values, outliers };
inline constexpr Kind kKinds[] = {Kind::apart,        Kind::clusters,   Kind::copies,
                                  Kind::nearly_equal, Kind::few_values, Kind::outliers};

class Vectors {
 public:
  Vectors(Kind kind, std::size_t dim, Random& random) : kind_(kind), dim_(dim), random_(random) {
    for (int i = 0; i < 20; ++i) centres_.push_back(bell(1));
  }

  std::vector<float> next() {
    std::vector<float> v = centres_[random_.below(centres_.size())];
    const float spread = kind_ == Kind::nearly_equal ? 0x1p-22F : 0.2F;
    if (kind_ == Kind::nearly_equal) v = centres_[0];
    if (kind_ == Kind::apart || kind_ == Kind::outliers) v = bell(1);
    for (float& x : v) {
      if (kind_ == Kind::clusters) x += 3;
      if (kind_ == Kind::clusters || kind_ == Kind::nearly_equal) x += spread * random_.real();
      if (kind_ == Kind::few_values) x = random_.whole(1);
    }
    if (kind_ == Kind::few_values) v[random_.below(dim_)] = 1;  // no row of zeros: it has no direction
    if (kind_ == Kind::outliers) v[random_.below(dim_)] = random_.one_in(2) ? 12.0F : -12.0F;
    return v;
  }

 private:
  std::vector<float> bell(float size) {
    std::vector<float> v(dim_);
    for (float& x : v) x = size * (random_.real() + random_.real() + random_.real());
    return v;
  }

  Kind kind_;
  std::size_t dim_;
  Random& random_;
  std::vector<std::vector<float>> centres_;
};

struct Shape {
  std::size_t rows;
  std::size_t dim;
  kernels::Metric metric;
  index::Storage storage;
  Kind kind;
  std::size_t queries;
  bool near_queries = true;  ///< every other one is near some rows, the rest near the origin
};

/// What a call asks for; queries [first, first + count) of the world.
struct Asked {
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t k = 10;
  std::vector<search::Bitmask> masks;
  std::vector<std::uint32_t> mask_of;
  unsigned workers = 1;
  float min_score = index::kNoScore;
  bool grouped = false;
};

class CodedWorld {
 public:
  CodedWorld(const Shape& shape, Random& random)
      : store(shape.dim, shape.metric, shape.storage),
        shape_(shape),
        model_(shape.dim, shape.metric, shape.storage.codec),
        vectors_(shape.kind, shape.dim, random) {
    // Codes start somewhere in these batches, in one of them or between two.
    const std::size_t start = index::least_coded_rows(shape.dim);
    const std::size_t before = start - random.below(40);
    put(std::min(before, shape.rows), random);
    while (rows() < shape.rows && rows() < start + 12) put(1 + random.below(20) * random.below(2), random);
    if (rows() < shape.rows) put(shape.rows - rows(), random);
    for (std::size_t q = 0; q < shape.queries; ++q) {
      std::vector<float> query =
          shape.near_queries && random.one_in(2) ? vectors_.next() : std::vector<float>(shape.dim);
      for (float& x : query) x += random.real() * 0.1F;
      queries.insert(queries.end(), query.begin(), query.end());
      if (shape.metric.unit_rows) query = reference::unit<reference::LibraryFma>(std::move(query));
      prepared_.push_back(std::move(query));
    }
    scores_.resize(shape.queries);
  }

  /// Adds rows, a few in place of stored ones; ids and groups come in no order.
  void put(std::size_t n, Random& random) {
    Rows some;
    std::vector<std::int64_t> stored;
    for (const auto& [id, row] : model_.stored()) stored.push_back(id);
    random.shuffle(stored);
    for (std::size_t i = 0; i < n; ++i) {
      const bool again = !stored.empty() && random.one_in(20);
      some.ids.push_back(again ? stored.back() : static_cast<std::int64_t>(i * 7919 % 100003 + 200000 * batches_));
      if (again) stored.pop_back();
      some.rules.push_back(0);
      some.groups.push_back(random.between(0, static_cast<std::int64_t>(shape_.rows / 8)));
      const std::vector<float> v = vectors_.next();
      some.vectors.insert(some.vectors.end(), v.begin(), v.end());
    }
    ++batches_;
    put(some);
  }
  void put(const Rows& rows_given) {
    Stop stop;
    store.upsert(rows_given.batch(), stop);
    model_.put(rows_given);
  }
  void remove(std::size_t one_in, Random& random) {
    std::vector<std::int64_t> gone;
    for (const auto& [id, row] : model_.stored()) {
      if (random.one_in(one_in)) gone.push_back(id);
    }
    remove_ids(gone);
  }
  void remove_ids(const std::vector<std::int64_t>& gone) {
    store.remove(gone);
    model_.remove(gone);
  }

  std::size_t rows() const { return model_.layout().size(); }
  const Model& model() const { return model_; }
  const Shape& shape() const { return shape_; }

  float score(std::size_t query, std::size_t row) {
    std::vector<float>& scores = scores_[query];
    const auto metric = static_cast<std::size_t>(shape_.metric.id);
    for (std::size_t r = scores.size(); r < rows(); ++r) {
      scores.push_back(
          reference::kQuick[metric](prepared_[query].data(), model_.layout()[r].vector.data(), shape_.dim));
    }
    return scores[row];
  }

  /// By scoring and sorting everything.
  std::vector<reference::Scored> best(std::size_t query, const Asked& asked, const search::Bitmask& mask) {
    std::vector<reference::Scored> all;
    std::map<std::int64_t, std::int64_t> group_of;
    for (std::size_t r = 0; r < rows(); ++r) {
      const ModelRow& row = model_.layout()[r];
      if (row.dead || !mask.test(r) || score(query, r) < asked.min_score) continue;
      all.push_back({score(query, r), row.id});
      group_of[row.id] = row.group;
    }
    all = reference::ranked(std::move(all));
    if (asked.grouped) {
      std::map<std::int64_t, bool> seen;
      std::erase_if(all, [&](const reference::Scored& hit) { return std::exchange(seen[group_of[hit.id]], true); });
    }
    if (all.size() > asked.k) all.resize(asked.k);
    return all;
  }

  /// Runs the call and compares ids and score bits; returns how it ran.
  Answer compare(const Asked& asked) {
    std::vector<const search::Bitmask*> masks;
    for (const search::Bitmask& mask : asked.masks) masks.push_back(&mask);
    const index::Query query{queries.data() + asked.first * shape_.dim,
                             asked.count,
                             asked.k,
                             masks,
                             asked.mask_of,
                             asked.workers,
                             asked.min_score,
                             asked.grouped};
    const Note note(shape_.metric.name, ", ", codecs::facts(shape_.storage.codec).name, ", kind ",
                    static_cast<int>(shape_.kind), ", ", rows(), " x ", shape_.dim, ", ", asked.count, " queries, k ",
                    asked.k, ", ", asked.masks.size(), " masks, ", asked.workers, " workers, min_score ",
                    asked.min_score, asked.grouped ? ", grouped" : "");
    Answer answer = search_on(*store.snapshot(), query);
    for (std::size_t q = 0; q < asked.count; ++q) {
      const search::Bitmask& mask = asked.masks[asked.mask_of.empty() ? 0 : asked.mask_of[q]];
      const auto expected = best(asked.first + q, asked, mask);
      const Note of(q, ". query, ", expected.size(), " hits");
      for (std::size_t i = 0; i < answer.width; ++i) {
        const bool real = i < expected.size();
        CHECK_EQ(answer.ids[q * answer.width + i], real ? expected[i].id : -1);
        CHECK_BITS(answer.scores[q * answer.width + i], real ? expected[i].score : index::kNoScore);
      }
      CHECK(answer.width >= expected.size());
    }
    return answer;
  }

  index::RowStore store;
  std::vector<float> queries;  // [., dim], as a caller gives them

 private:
  Shape shape_;
  Model model_;
  Vectors vectors_;
  std::int64_t batches_ = 0;
  std::vector<std::vector<float>> prepared_;
  std::vector<std::vector<float>> scores_;  // of each query with every row
};

}  // namespace evidex::check
