// SPDX-License-Identifier: Apache-2.0
// What is thrown where bytes of postings are not what they should be. Whoever finds it knows no file; Postings::named
// says which it is.
#pragma once

#include <string>

#include "base/error.hpp"

namespace evidex::postings {

struct Damaged : CorruptFile {
  using CorruptFile::CorruptFile;
};

[[noreturn]] inline void damaged(const char* what) {
  throw Damaged(std::string("postings: ") + what + "; restore the file from a copy");
}

}  // namespace evidex::postings
