// SPDX-License-Identifier: Apache-2.0
// 4-bit codes beside the rows of one layout: of each whole mask word of 64 rows, which is a block of codes. The last
// rows, too few for a word, have none yet. Blocks are never rewritten, so a reader needs no lock for those it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
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

/// Codes of many blocks.
struct LookupPiece {
  static constexpr std::size_t kWords = 1024;

  explicit LookupPiece(std::size_t positions)
      : codes(kWords * positions * kernels::kLookupBytes), facts(kWords * kernels::kLookupRows) {}

  AlignedBuffer<std::uint8_t> codes;          // [kWords, positions, 32]
  AlignedBuffer<kernels::LookupFacts> facts;  // [kWords, 64]
};

/// What a search sees of them.
struct LookupView {
  std::shared_ptr<const codecs::LookupModel> model;
  std::shared_ptr<const std::vector<std::shared_ptr<LookupPiece>>> pieces;
  std::uint64_t layout;
  std::size_t words;  ///< mask words that have codes

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
  std::shared_ptr<const std::vector<std::shared_ptr<LookupPiece>>> pieces_;
  std::size_t words_ = 0;
  MeanFit fit_;
};

/// Learns from rows of a snapshot, chosen by the seed. Throws InvalidInput where there are too few, or too many
/// dimensions.
codecs::LookupModel train(const Snapshot& snapshot, codecs::LookupKind kind, std::uint64_t seed, Stop& stop);

}  // namespace evidex::index
