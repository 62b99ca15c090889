/*
 * Enables the debug check that no step allocates, in a test of any build: compiles
 * base/alloc.c into the test instead of using the library's. Sanitizers bring their own
 * malloc, so nothing can be checked: then OTHER_MALLOC is defined. Include it first,
 * once.
 */
#ifndef TESTS_BASE_ALLOC_DEBUG_H
#define TESTS_BASE_ALLOC_DEBUG_H

#if defined(__has_feature)
#define CLANG_HAS(x) __has_feature(x)
#else
#define CLANG_HAS(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                     \
    CLANG_HAS(address_sanitizer) || CLANG_HAS(thread_sanitizer)
#define OTHER_MALLOC
#elif !defined(DEBUG)
#define DEBUG
#endif
#include "base/alloc.c"

#endif
