// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_budget.hpp"

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

#include "check.hpp"

namespace {

namespace fs = std::filesystem;

/// A folder that plays /sys/fs/cgroup, next to a file that plays /proc/self/cgroup.
class FakeSystem {
 public:
  FakeSystem() {
    std::string pattern = (fs::temp_directory_path() / "evidex-cgroup-XXXXXX").string();
    CHECK(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    membership("");
  }
  ~FakeSystem() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  void membership(const std::string& text) const { write(root_ / "membership", text); }
  void file(const std::string& path, const std::string& text) const {
    const fs::path full = root_ / "mount" / path;
    fs::create_directories(full.parent_path());
    write(full, text);
  }
  unsigned limit() const { return evidex::cgroup_limit((root_ / "membership").string(), (root_ / "mount").string()); }

 private:
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  fs::path root_;
};

}  // namespace

TEST(affinity_and_default_are_at_least_one) {
  CHECK(evidex::affinity_limit() >= 1);
  CHECK(evidex::default_threads() >= 1);
  CHECK(evidex::default_threads() <= evidex::affinity_limit());
}

TEST(version_two_rounds_the_quota_up) {
  const FakeSystem system;
  system.membership("0::/app\n");
  const auto with = [&](const char* text) {
    system.file("app/cpu.max", text);
    return system.limit();
  };
  CHECK_EQ(with("200000 100000\n"), 2U);
  CHECK_EQ(with("200001 100000\n"), 3U);
  CHECK_EQ(with("50000 100000"), 1U);
  CHECK_EQ(with("1 1000000\n"), 1U);
  CHECK_EQ(with("max 100000\n"), 0U);
}

TEST(the_tightest_ancestor_counts) {
  const FakeSystem system;
  system.membership("0::/a/b/c\n");
  system.file("a/b/c/cpu.max", "800000 100000");
  CHECK_EQ(system.limit(), 8U);
  system.file("a/b/cpu.max", "max 100000");
  CHECK_EQ(system.limit(), 8U);
  system.file("a/cpu.max", "300000 100000");
  CHECK_EQ(system.limit(), 3U);
  system.file("cpu.max", "100000 100000");
  CHECK_EQ(system.limit(), 1U);
}

TEST(the_root_group_of_a_container_has_a_limit_too) {
  const FakeSystem system;
  system.membership("0::/\n");
  CHECK_EQ(system.limit(), 0U);
  system.file("cpu.max", "400000 100000");
  CHECK_EQ(system.limit(), 4U);
}

TEST(version_one_reads_quota_and_period) {
  const FakeSystem system;
  system.membership("5:memory:/app\n4:cpu,cpuacct:/app\n3:cpuset:/app\n");
  system.file("cpu/app/cpu.cfs_quota_us", "250000\n");
  CHECK_EQ(system.limit(), 0U);  // no period
  system.file("cpu/app/cpu.cfs_period_us", "100000\n");
  CHECK_EQ(system.limit(), 3U);
  system.file("cpu/app/cpu.cfs_quota_us", "-1\n");
  CHECK_EQ(system.limit(), 0U);
  system.file("cpu/cpu.cfs_quota_us", "100000\n");
  system.file("cpu/cpu.cfs_period_us", "100000\n");
  CHECK_EQ(system.limit(), 1U);
}

TEST(only_the_cpu_controller_counts_and_both_versions_may_be_mounted) {
  const FakeSystem system;
  system.membership("7:cpuset,cpuacct:/x\n");
  system.file("cpu/x/cpu.cfs_quota_us", "100000\n");
  system.file("cpu/x/cpu.cfs_period_us", "100000\n");
  CHECK_EQ(system.limit(), 0U);
  system.membership("7:cpuacct,cpu:/x\n0::/x\n");
  CHECK_EQ(system.limit(), 1U);
  system.file("cpu/x/cpu.cfs_quota_us", "600000\n");
  system.file("x/cpu.max", "500000 100000");
  CHECK_EQ(system.limit(), 5U);
}

TEST(paths_may_hold_colons) {
  const FakeSystem system;
  system.membership("0::/odd:name\n");
  system.file("odd:name/cpu.max", "200000 100000");
  CHECK_EQ(system.limit(), 2U);
}

TEST(malformed_limits_are_no_limit) {
  const FakeSystem system;
  system.membership("0::/app\n");
  for (const char* text : {"", "\n", "max", "100000", "abc def", "abc 100000", "100000 abc", "0 100000", "100000 0",
                           "-5 100000", "100000 -5", "\xff\xfe\xfd"}) {
    const evidex::check::Note note("cpu.max holding '", text, "'");
    system.file("app/cpu.max", text);
    CHECK_EQ(system.limit(), 0U);
  }
}

TEST(malformed_membership_is_no_limit) {
  const FakeSystem system;
  system.file("cpu.max", "100000 100000");
  for (const char* text : {"", "\n", "0", "0:", "nonsense\n\n", ":"}) {
    const evidex::check::Note note("membership holding '", text, "'");
    system.membership(text);
    CHECK_EQ(system.limit(), 0U);
  }
}

TEST(a_membership_path_without_a_slash_does_not_throw) {
  const FakeSystem system;
  system.file("cpu.max", "100000 100000");
  system.membership("0::relative\n");
  CHECK_EQ(system.limit(), 0U);
}

TEST(a_quota_of_more_processors_than_can_be_counted_is_no_limit_or_a_large_one) {
  const FakeSystem system;
  system.membership("0::/app\n");
  for (const char* text : {"1e30 1", "4294967296 1", "100000000000000 1"}) {
    const evidex::check::Note note("cpu.max holding '", text, "'");
    system.file("app/cpu.max", text);
    const unsigned limit = system.limit();
    CHECK(limit == 0 || limit > 1000000);
  }
}

TEST(missing_files_are_no_limit) {
  CHECK_EQ(evidex::cgroup_limit("/nonexistent/membership", "/nonexistent/mount"), 0U);
}
