// SPDX-License-Identifier: Apache-2.0
// One pool of std::thread for the process, created on first use, grown to what calls ask for and
// never shrunk; idle workers sleep. A forked child abandons the parent's pool and starts its own.
#pragma once

#include <cstddef>
#include <functional>

namespace evidex {

/// Runs body(worker) for worker = 0 .. workers-1; worker 0 is the calling thread. A helper that no
/// pool thread has picked up by the time worker 0 is done never runs, so `body` must take its work
/// from something shared (a counter), not from its number. Rethrows the first exception after all
/// running workers have ended. workers <= 1 starts and touches no thread.
void run_workers(unsigned workers, const std::function<void(unsigned worker)>& body);

/// Threads the pool of this process holds now.
std::size_t pool_threads();

}  // namespace evidex
