/*
 * Names of files that are no ASCII are UTF-8 here, whatever the locale of the program
 * (which is "C"): for libraries that convert names to the locale of the thread, as
 * libarchive does, and have none if they cannot.
 */
#ifndef BASE_UTF8_NAMES_H
#define BASE_UTF8_NAMES_H

#include <locale.h>

/* From here on, in this thread. The result is for utf8_names_end(). */
locale_t utf8_names_begin(void);
void utf8_names_end(locale_t before);

#endif
