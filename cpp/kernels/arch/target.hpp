// SPDX-License-Identifier: Apache-2.0
// A region whose functions are compiled for other instructions than the rest of the file. Open it
// after every other header, so that no inline function of a library is compiled inside it.
#pragma once

#define EVIDEX_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define EVIDEX_TARGET_BEGIN(isa) EVIDEX_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define EVIDEX_TARGET_END EVIDEX_PRAGMA(clang attribute pop)
#else
#define EVIDEX_TARGET_BEGIN(isa) EVIDEX_PRAGMA(GCC push_options) EVIDEX_PRAGMA(GCC target(isa))
#define EVIDEX_TARGET_END EVIDEX_PRAGMA(GCC pop_options)
#endif
