// SPDX-License-Identifier: Apache-2.0
// The errors the core raises on purpose. bindings/errors.cpp is the only place that turns them
// into Python classes; nothing anywhere decides by message text.
#pragma once

#include <stdexcept>

namespace evidex {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An argument was refused before any state changed.
struct InvalidInput : Error {
  using Error::Error;
};

/// An id is unknown to the store.
struct NotFound : Error {
  using Error::Error;
};

/// A file is not what it should be.
struct CorruptFile : Error {
  using Error::Error;
};

/// The caller asked a running call to stop.
struct Cancelled : Error {
  using Error::Error;
};

}  // namespace evidex
