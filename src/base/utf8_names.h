/*
 * Treats non-ASCII file names as UTF-8 whatever the program's locale (which is "C"), for
 * libraries such as libarchive that convert names to the thread's locale and drop them if
 * they cannot.
 */
#ifndef BASE_UTF8_NAMES_H
#define BASE_UTF8_NAMES_H

#include <locale.h>

/* Starts this in the current thread. Pass the result to utf8_names_end(). */
locale_t utf8_names_begin(void);
void utf8_names_end(locale_t before);

#endif
