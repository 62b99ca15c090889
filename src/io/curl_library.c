#include "io/curl_library.h"

#include "base/dynlib.h"

#define SYMBOL(name)                                                                     \
    {                                                                                    \
        "curl_" #name, offsetof(struct curl_library, name)                               \
    }

static const struct dynlib_symbol symbols[] = {
    SYMBOL(global_init),    SYMBOL(easy_init),
    SYMBOL(easy_setopt),    SYMBOL(easy_perform),
    SYMBOL(easy_getinfo),   SYMBOL(easy_strerror),
    SYMBOL(easy_cleanup),   SYMBOL(slist_append),
    SYMBOL(slist_free_all), {0},
};

/* The ABI does not depend on the TLS library. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
static struct dynlib row = {.names = names, .package = "libcurl4", .symbols = symbols};

const struct curl_library *curl_library(struct strbuf *why)
{
    static struct curl_library library;
    static bool started;

    if (dynlib_open(&row, &library, why) < 0)
        return NULL;
    if (!started && library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        strbuf_addf(why, "%s does not start", names[0]);
        return NULL;
    }
    started = true;
    return &library;
}
