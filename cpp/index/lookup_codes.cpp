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

namespace {

/// A piece of this store's own that begins with `words` blocks of another.
std::shared_ptr<LookupPiece> copied(const LookupPiece* from, std::size_t words, std::size_t positions) {
  auto piece = std::make_shared<LookupPiece>(positions);
  if (from != nullptr) {
    std::copy_n(from->codes.data(), words * positions * kernels::kLookupBytes, piece->codes.data());
    std::copy_n(from->facts.data(), words * kLookupRows, piece->facts.data());
  }
  return piece;
}

}  // namespace

LookupCodes::LookupCodes(std::shared_ptr<const LookupModel> model, std::uint64_t layout)
    : LookupCodes(std::move(model), layout, {}, 0, {}) {}

LookupCodes::LookupCodes(std::shared_ptr<const LookupModel> model, std::uint64_t layout, LookupPieces pieces,
                         std::size_t rows, const MeanFit& fit)
    : model_(std::move(model)),
      layout_(layout),
      pieces_(std::make_shared<const LookupPieces>(std::move(pieces))),
      rows_(rows),
      fit_(fit) {}

LookupView LookupCodes::view() const {
  const std::scoped_lock lock(mutex_);
  return {model_, pieces_, layout_, rows_};
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
  const std::size_t before = view().rows;
  for (std::size_t word = before / kLookupRows; word < snapshot.rows / kLookupRows; ++word) {
    stop.throw_if_requested();
    const std::size_t number = word / LookupPiece::kWords;
    const std::size_t at = word % LookupPiece::kWords;
    const LookupPiece* there = number < pieces_->size() ? (*pieces_)[number].get() : nullptr;
    std::shared_ptr<const LookupPieces> pieces = pieces_;
    // A block that is half full has readers, and mapped pieces have no room.
    if (there == nullptr || at >= there->words() || word * kLookupRows < before) {
      auto others = std::make_shared<LookupPieces>(*pieces_);
      others->resize(std::max(others->size(), number + 1));
      (*others)[number] = copied(there, at, model_->positions);
      pieces = std::move(others);
    }
    std::uint8_t* codes = (*pieces)[number]->codes.data() + at * block_bytes;
    kernels::LookupFacts* facts = (*pieces)[number]->facts.data() + at * kLookupRows;
    std::fill_n(codes, block_bytes, std::uint8_t{0});
    std::fill_n(facts, kLookupRows, kernels::LookupFacts{0});
    for (std::size_t i = 0; i < kLookupRows; ++i) {
      const std::size_t row = word * kLookupRows + i;
      if (!snapshot.has(row)) continue;
      const auto [c, place] = snapshot.place(row);
      const codecs::LookupFit of_row =
          encoder.encode(snapshot.vector(kernels, c, place, scratch.data()), i, codes, facts[i]);
      if (row >= before) fit.add(of_row);
    }
    const std::scoped_lock lock(mutex_);
    pieces_ = std::move(pieces);
    rows_ = (word + 1) * kLookupRows;
    fit_ = fit;
  }
}

void gather(const LookupView& from, std::span<const std::int64_t> rows, std::uint8_t* codes,
            kernels::LookupFacts* facts, Stop& stop) {
  constexpr std::size_t kHalf = kernels::kLookupBytes;
  const std::size_t positions = from.model->positions;
  const std::size_t words = rows.size() / kLookupRows + (rows.size() % kLookupRows != 0);
  std::fill_n(codes, words * positions * kernels::kLookupBytes, std::uint8_t{0});
  std::fill_n(facts, words * kLookupRows, kernels::LookupFacts{0});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % kLookupRows == 0) stop.throw_if_requested();
    const std::size_t word = static_cast<std::size_t>(rows[i]) / kLookupRows;
    const std::size_t old = static_cast<std::size_t>(rows[i]) % kLookupRows;
    const std::size_t at = i % kLookupRows;
    facts[i] = from.facts(word)[old];
    const std::uint8_t* source = from.codes(word) + old % kHalf;
    std::uint8_t* target = codes + i / kLookupRows * positions * kernels::kLookupBytes + at % kHalf;
    for (std::size_t p = 0; p < positions; ++p, source += kHalf, target += kHalf) {
      const unsigned code = old < kHalf ? *source & 15U : *source >> 4;
      *target = static_cast<std::uint8_t>(*target | code << (at < kHalf ? 0 : 4));
    }
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
