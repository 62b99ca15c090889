#include "base/utf8_names.h"

#include <pthread.h>

static locale_t utf8;

static void make_locale(void)
{
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

locale_t utf8_names_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_locale);
    return uselocale(utf8); /* (locale_t)0 changes nothing */
}

void utf8_names_end(locale_t before)
{
    (void)uselocale(before);
}
