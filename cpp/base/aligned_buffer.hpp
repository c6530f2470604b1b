// SPDX-License-Identifier: Apache-2.0
// Uninitialised storage for trivially copyable elements, aligned for SIMD and cache lines. Large
// buffers are aligned to huge pages and ask for them: a scan over gigabytes is then not bound by
// address translation. Untouched pages of a large buffer cost no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace evidex {

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "AlignedBuffer never runs constructors or destructors");

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T) - kHugePage) throw std::bad_alloc();
    data_ = static_cast<T*>(::operator new(bytes(), alignment()));
#if defined(__linux__)
    // Advice only: where huge pages are off this fails and nothing is lost.
    if (bytes() >= kHugePage) (void)::madvise(data_, bytes(), MADV_HUGEPAGE);
#endif
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() {
    if (data_ != nullptr) ::operator delete(data_, alignment());
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  std::align_val_t alignment() const noexcept {
    return std::align_val_t{bytes() >= kHugePage ? kHugePage : kCacheLine};
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace evidex
