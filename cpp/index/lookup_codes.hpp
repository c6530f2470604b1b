// SPDX-License-Identifier: Apache-2.0
// 4-bit codes beside the rows of one layout: of each whole mask word of 64 rows, which is a block of codes. The last
// rows, too few for a word, have none yet. Blocks are never rewritten, so a reader needs no lock for those it knows.
// Codes that were saved are mapped: removed rows were left out then, so the last of their blocks may be half full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/stop.hpp"
#include "codecs/lookup_code.hpp"
#include "index/snapshot.hpp"

namespace evidex::index {

/// How well codes stand for rows, on average: squared norm of row - reference, cosine between that and the code.
struct MeanFit {
  std::size_t rows = 0;
  double square = 0;
  double cosine = 0;

  void add(const codecs::LookupFit& fit) {
    ++rows;
    square += (fit.square - square) / static_cast<double>(rows);
    cosine += (fit.cosine - cosine) / static_cast<double>(rows);
  }
};

/// Codes of many blocks: of so many as there is room for.
class LookupPiece {
  AlignedBuffer<std::uint8_t> own_codes_;
  AlignedBuffer<kernels::LookupFacts> own_facts_;
  std::vector<Keeper> keepers_;

 public:
  static constexpr std::size_t kWords = 1024;

  explicit LookupPiece(std::size_t positions)
      : own_codes_(kWords * positions * kernels::kLookupBytes),
        own_facts_(kWords * kernels::kLookupRows),
        codes(own_codes_.data(), own_codes_.size()),
        facts(own_facts_.data(), own_facts_.size()) {}

  /// Over memory of others, complete: nothing writes there.
  LookupPiece(std::span<std::uint8_t> of_codes, std::span<kernels::LookupFacts> of_facts, std::vector<Keeper> keepers)
      : keepers_(std::move(keepers)), codes(of_codes), facts(of_facts) {}
  LookupPiece(const LookupPiece&) = delete;
  LookupPiece& operator=(const LookupPiece&) = delete;

  std::size_t words() const { return facts.size() / kernels::kLookupRows; }

  std::span<std::uint8_t> codes;          // [words, positions, 32]
  std::span<kernels::LookupFacts> facts;  // [words, 64]
};

using LookupPieces = std::vector<std::shared_ptr<LookupPiece>>;

/// What a search sees of them.
struct LookupView {
  std::shared_ptr<const codecs::LookupModel> model;
  std::shared_ptr<const LookupPieces> pieces;
  std::uint64_t layout;
  std::size_t rows;  ///< those with smaller numbers have codes

  std::size_t words() const { return rows / kernels::kLookupRows + (rows % kernels::kLookupRows != 0); }
  const std::uint8_t* codes(std::size_t word) const {
    const std::size_t bytes = model->positions * kernels::kLookupBytes;
    return (*pieces)[word / LookupPiece::kWords]->codes.data() + word % LookupPiece::kWords * bytes;
  }
  const kernels::LookupFacts* facts(std::size_t word) const {
    const std::size_t at = word % LookupPiece::kWords * kernels::kLookupRows;
    return (*pieces)[word / LookupPiece::kWords]->facts.data() + at;
  }
};

class LookupCodes {
 public:
  LookupCodes(std::shared_ptr<const codecs::LookupModel> model, std::uint64_t layout);

  /// Of rows that were coded before: all pieces but the last are full, and together they have words enough for `rows`.
  LookupCodes(std::shared_ptr<const codecs::LookupModel> model, std::uint64_t layout, LookupPieces pieces,
              std::size_t rows, const MeanFit& fit);

  /// Codes the whole words of a snapshot of this layout that have none yet. A call that is interrupted keeps what it
  /// did.
  void extend(const Snapshot& snapshot, Stop& stop);

  LookupView view() const;
  const std::shared_ptr<const codecs::LookupModel>& model() const { return model_; }
  /// Of the rows coded so far.
  MeanFit fit() const;

 private:
  const std::shared_ptr<const codecs::LookupModel> model_;
  const std::uint64_t layout_;
  std::mutex writing_;
  mutable std::mutex mutex_;  // of what is below
  std::shared_ptr<const LookupPieces> pieces_;
  std::size_t rows_ = 0;
  MeanFit fit_;
};

/// Codes of rows that have some, in this order, in blocks of their own: [words, positions, 32] and [words, 64]. Places
/// without a row hold zeros.
void gather(const LookupView& from, std::span<const std::int64_t> rows, std::uint8_t* codes,
            kernels::LookupFacts* facts, Stop& stop);

/// Learns from rows of a snapshot, chosen by the seed. Throws InvalidInput where there are too few, or too many
/// dimensions.
codecs::LookupModel train(const Snapshot& snapshot, codecs::LookupKind kind, std::uint64_t seed, Stop& stop);

}  // namespace evidex::index
