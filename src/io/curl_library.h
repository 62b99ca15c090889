/* libcurl, loaded at run time for the first download. Each handle belongs to one
 * thread. */
#ifndef IO_CURL_LIBRARY_H
#define IO_CURL_LIBRARY_H

#include <curl/curl.h>

#include "base/strbuf.h"

struct curl_library {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *curl);
    CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    void (*easy_cleanup)(CURL *curl);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

/* Returns NULL and a reason if libcurl is missing. */
const struct curl_library *curl_library(struct strbuf *why);

#endif
