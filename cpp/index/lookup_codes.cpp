// SPDX-License-Identifier: Apache-2.0
#include "index/lookup_codes.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/random.hpp"
#include "codecs/lookup_training.hpp"
#include "kernels/dispatch.hpp"

namespace evidex::index {

using codecs::LookupModel;
using kernels::kLookupRows;

LookupCodes::LookupCodes(std::shared_ptr<const LookupModel> model, std::uint64_t layout)
    : model_(std::move(model)),
      layout_(layout),
      pieces_(std::make_shared<const std::vector<std::shared_ptr<LookupPiece>>>()) {}

LookupView LookupCodes::view() const {
  const std::scoped_lock lock(mutex_);
  return {model_, pieces_, layout_, words_};
}

MeanFit LookupCodes::fit() const {
  const std::scoped_lock lock(mutex_);
  return fit_;
}

void LookupCodes::extend(const Snapshot& snapshot, Stop& stop) {
  if (snapshot.layout != layout_) return;
  const std::scoped_lock writing(writing_);
  const FloatState state;
  const kernels::Table& kernels = kernels::active();
  codecs::LookupEncoder encoder(*model_);
  std::vector<float> scratch(snapshot.dim);
  MeanFit fit = this->fit();
  const std::size_t block_bytes = model_->positions * kernels::kLookupBytes;
  for (std::size_t word = view().words; word < snapshot.rows / kLookupRows; ++word) {
    stop.throw_if_requested();
    const std::size_t piece = word / LookupPiece::kWords;
    if (piece == pieces_->size()) {
      auto grown = std::make_shared<std::vector<std::shared_ptr<LookupPiece>>>(*pieces_);
      grown->push_back(std::make_shared<LookupPiece>(model_->positions));
      const std::scoped_lock lock(mutex_);
      pieces_ = std::move(grown);
    }
    const std::size_t at = word % LookupPiece::kWords;
    std::uint8_t* codes = (*pieces_)[piece]->codes.data() + at * block_bytes;
    kernels::LookupFacts* facts = (*pieces_)[piece]->facts.data() + at * kLookupRows;
    std::fill_n(codes, block_bytes, std::uint8_t{0});
    std::fill_n(facts, kLookupRows, kernels::LookupFacts{0});
    for (std::size_t i = 0; i < kLookupRows; ++i) {
      const std::size_t row = word * kLookupRows + i;
      if (!snapshot.has(row)) continue;
      const auto [c, place] = snapshot.place(row);
      fit.add(encoder.encode(snapshot.vector(kernels, c, place, scratch.data()), i, codes, facts[i]));
    }
    const std::scoped_lock lock(mutex_);
    words_ = word + 1;
    fit_ = fit;
  }
}

codecs::LookupModel train(const Snapshot& snapshot, codecs::LookupKind kind, std::uint64_t seed, Stop& stop) {
  if (snapshot.dim == 0) throw InvalidInput("train: these rows have no vectors");
  if (snapshot.dim > codecs::kMostLookupDim) {
    throw InvalidInput("train: codes have at most " + std::to_string(codecs::kMostLookupDim) +
                       " dimensions, this has " + std::to_string(snapshot.dim));
  }
  if (snapshot.live_rows() < codecs::kLeastTrainingRows) {
    throw InvalidInput("train: " + std::to_string(snapshot.live_rows()) + " rows tell too little; add at least " +
                       std::to_string(codecs::kLeastTrainingRows) + " first");
  }
  std::vector<std::size_t> live;
  live.reserve(snapshot.live_rows());
  snapshot.for_each_permitted(search::Bitmask::ones(snapshot.rows), 0, snapshot.words(),
                              [&](std::size_t word, Snapshot::Word bits) {
                                for (; bits != 0; bits &= bits - 1) {
                                  live.push_back(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
                                }
                              });
  const std::vector<std::size_t> chosen = Random(seed).sample(live.size(), codecs::kMostTrainingRows);
  const kernels::Table& kernels = kernels::active();
  std::vector<float> rows(chosen.size() * snapshot.dim);
  std::vector<float> scratch(snapshot.dim);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto [c, at] = snapshot.place(live[chosen[i]]);
    std::copy_n(snapshot.vector(kernels, c, at, scratch.data()), snapshot.dim, rows.data() + i * snapshot.dim);
  }
  return codecs::train_lookup(kind, snapshot.metric, snapshot.dim, rows, seed, stop);
}

}  // namespace evidex::index
