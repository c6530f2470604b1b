// SPDX-License-Identifier: Apache-2.0
// How many threads this process may sensibly use: the affinity mask and the cgroup quota, whichever
// is smaller. Containers limit by quota, and a library that counts cores there slows everyone down.
#pragma once

#include <string>

namespace evidex {

/// Processors in this process's affinity mask; at least 1.
unsigned affinity_limit();

/// Quota of the process's cgroup and its ancestors, rounded up; 0 when there is no limit.
/// `membership` and `mount` are files of their own so that tests can supply them.
unsigned cgroup_limit(const std::string& membership = "/proc/self/cgroup", const std::string& mount = "/sys/fs/cgroup");

/// min(affinity, quota), read once per process.
unsigned default_threads();

}  // namespace evidex
