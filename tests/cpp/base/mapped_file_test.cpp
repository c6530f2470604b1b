// SPDX-License-Identifier: Apache-2.0
// Seen red with O_NONBLOCK left out (a pipe then waits for a writer for ever), O_NOFOLLOW left out, and without a look
// at the kind of file (a folder has a size too).
#include "base/mapped_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"

namespace {

using namespace evidex;

/// A new folder, removed with all in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "evidex-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  std::string file(const std::string& name, std::size_t size) const {
    std::ofstream out(path_ / name, std::ios::binary);
    for (std::size_t i = 0; i < size; ++i) out.put(static_cast<char>(i % 251));
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

void check_bytes(const MappedFile& file, std::size_t size) {
  CHECK_EQ(file.bytes().size(), size);
  for (std::size_t i = 0; i < size; ++i) CHECK(file.bytes()[i] == static_cast<std::byte>(i % 251));
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace

TEST(a_file_of_the_right_size_is_read) {
  const Folder folder;
  const std::size_t before = open_files();
  for (const std::size_t size : {1U, 64U, 4095U, 4096U, 4097U, 1000000U}) {
    const MappedFile file(folder.file("some", size), size);
    check_bytes(file, size);
  }
  CHECK_EQ(open_files(), before);
}

TEST(an_empty_file_holds_nothing) {
  const Folder folder;
  const MappedFile file(folder.file("empty", 0), 0);
  CHECK(file.bytes().empty());
  CHECK_THROWS(MappedFile(folder / "empty", 1), CorruptFile, "expected a file of 1 bytes");
}

TEST(another_size_is_refused) {
  const Folder folder;
  const std::string path = folder.file("some", 4096);
  const std::size_t before = open_files();
  for (const std::size_t size : {std::size_t{0}, std::size_t{4095}, std::size_t{4097}, ~std::size_t{0}}) {
    CHECK_THROWS(MappedFile(path, size), CorruptFile, path + ": expected a file of " + std::to_string(size) + " bytes");
  }
  CHECK_EQ(open_files(), before);
}

TEST(what_is_no_plain_file_is_refused) {
  const Folder folder;
  const std::size_t before = open_files();
  CHECK_THROWS(MappedFile(folder / "missing", 4), CorruptFile, "missing: cannot be read: No such file");
  CHECK_THROWS(MappedFile("", 0), CorruptFile, "cannot be read");

  const std::string inner = folder / "folder";
  CHECK_EQ(::mkdir(inner.c_str(), 0700), 0);
  struct stat facts{};
  CHECK_EQ(::stat(inner.c_str(), &facts), 0);
  CHECK_THROWS(MappedFile(inner, static_cast<std::size_t>(facts.st_size)), CorruptFile, "expected a file");

  // Neither a link to a file of that size, nor one to nowhere, nor a pipe, which would wait for a writer.
  const std::string file = folder.file("file", 10);
  for (const std::string& target : {file, folder / "missing"}) {
    const std::string link = target + ".link";
    CHECK_EQ(::symlink(target.c_str(), link.c_str()), 0);
    CHECK_THROWS(MappedFile(link, 10), CorruptFile, "link: cannot be read");
  }
  const std::string pipe = folder / "pipe";
  CHECK_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  CHECK_THROWS(MappedFile(pipe, 0), CorruptFile, "expected a file of 0 bytes");
  CHECK_THROWS(MappedFile("/dev/null", 0), CorruptFile, "expected a file of 0 bytes");
  CHECK_EQ(open_files(), before);
}

TEST(a_file_that_is_removed_or_replaced_stays_readable) {
  const Folder folder;
  const std::string path = folder.file("some", 100000);
  auto file = std::make_unique<MappedFile>(path, 100000);
  CHECK_EQ(::unlink(path.c_str()), 0);
  check_bytes(*file, 100000);
  std::ofstream(path) << "another";
  check_bytes(*file, 100000);
}
