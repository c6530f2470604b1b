// SPDX-License-Identifier: Apache-2.0
// The logarithm against that of the C library in long double, and rising.
//
// Seen red with one term of the series less.
#include "base/logarithm.hpp"

#include <cmath>
#include <limits>

#include "check.hpp"
#include "random.hpp"

TEST(within_two_units_in_the_last_place) {
  evidex::check::Random random(evidex::check::seed(), "logarithm");
  for (std::size_t turn = evidex::check::times(200000, 5000000); turn > 0; --turn) {
    const double most = random.one_in(2) ? 2.0 : 1e10;
    const double x = 1 + static_cast<double>(random.next() >> 11) * 0x1p-53 * (most - 1);
    const double exact = static_cast<double>(std::log(static_cast<long double>(x)));
    const double unit = std::nextafter(exact, std::numeric_limits<double>::infinity()) - exact;
    CHECK(std::fabs(evidex::logarithm(x) - exact) <= 2 * unit);
  }
  CHECK(evidex::logarithm(1.0) == 0);
}
