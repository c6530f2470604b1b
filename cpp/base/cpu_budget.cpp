// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_budget.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace evidex {
namespace {

unsigned ceil_share(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  constexpr double kMost = 1 << 20;
  return static_cast<unsigned>(std::clamp(std::ceil(quota / period), 1.0, kMost));
}

unsigned smaller_limit(unsigned a, unsigned b) {  // 0 means "no limit"
  if (a == 0) return b;
  if (b == 0) return a;
  return std::min(a, b);
}

/// cgroup v2: `cpu.max` holds "quota period" or "max period".
unsigned read_v2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  std::istringstream number(quota);
  double value = 0;
  return (number >> value) ? ceil_share(value, period) : 0;
}

/// cgroup v1: two files; a quota of -1 means no limit.
unsigned read_v1(const std::string& directory) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
  std::ifstream period_file(directory + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return 0;
  return ceil_share(quota, period);
}

/// The tightest limit on the way from `path` up to the mount point.
template <class Read>
unsigned walk_up(const std::string& mount, std::string path, Read read) {
  unsigned limit = 0;
  for (;;) {
    limit = smaller_limit(limit, read(mount + path));
    const auto slash = path.find_last_of('/');
    if (slash == std::string::npos || path == "/") return limit;
    path.erase(slash);
  }
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  std::string name;
  while (std::getline(list, name, ',')) {
    if (name == "cpu") return true;
  }
  return false;
}

}  // namespace

unsigned affinity_limit() {
#if defined(__linux__)
  // A fixed cpu_set_t fails on machines with more than 1,024 processors; grow until it fits.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const int failed = sched_getaffinity(0, bytes, set);
    const int count = failed == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<unsigned>(count);
  }
#endif
  return std::max(1U, std::thread::hardware_concurrency());
}

unsigned cgroup_limit(const std::string& membership, const std::string& mount) {
  std::ifstream file(membership);
  std::string line;
  unsigned limit = 0;
  while (std::getline(file, line)) {  // hierarchy-id:controllers:path
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = smaller_limit(limit, walk_up(mount, path, read_v2));
    } else if (names_cpu(controllers)) {
      limit = smaller_limit(limit, walk_up(mount + "/cpu", path, read_v1));
    }
  }
  return limit;
}

unsigned default_threads() {
  static const unsigned threads = smaller_limit(affinity_limit(), cgroup_limit());
  return threads;
}

}  // namespace evidex
