// SPDX-License-Identifier: Apache-2.0
// A file's bytes as read-only memory: pages are shared between processes and read when they are first touched.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace evidex {

class MappedFile {
 public:
  /// Throws CorruptFile unless this is a plain file of exactly `size` bytes that can be read.
  MappedFile(const std::string& path, std::size_t size);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Writing to them is undefined: the pages are read-only.
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace evidex
