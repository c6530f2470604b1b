// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "base/error.hpp"

namespace evidex {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw CorruptFile(path + ": cannot be read: " + std::generic_category().message(error));
}

}  // namespace

MappedFile::MappedFile(const std::string& path, std::size_t size) : size_(size) {
  // Not a link: a store's files lie in its own folder. Not a pipe either, which would wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) refuse(path, errno);
  struct stat facts{};
  const int known = ::fstat(file, &facts);
  const bool fits = known == 0 && S_ISREG(facts.st_mode) && static_cast<std::size_t>(facts.st_size) == size;
  void* data = fits && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : nullptr;
  const int error = errno;
  (void)::close(file);
  if (!fits) throw CorruptFile(path + ": expected a file of " + std::to_string(size) + " bytes");
  if (data == MAP_FAILED) refuse(path, error);
  data_ = static_cast<std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) (void)::munmap(data_, size_);
}

}  // namespace evidex
