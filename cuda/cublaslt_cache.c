/*
 * Choices on disk: one JSON file for each product in options.cache, as cuDNN's plans are
 * kept (cuda/cudnn_cache.c). cuBLASLt promises that an algorithm's bytes hold for the
 * same version of the library; whether they hold for the product is asked of it again.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cuda/cublaslt.h"

static char *cache_path(const struct device *dev, const char *key)
{
    const char *folder = dev->options.cache;
    XXH128_hash_t h = XXH3_128bits(key, strlen(key));

    return folder && *folder ? xasprintf("%s/cublaslt-%016" PRIx64 "%016" PRIx64 ".json",
                                         folder, (uint64_t)h.high64, (uint64_t)h.low64)
                             : NULL;
}

static bool from_hex(const char *text, unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned v;

        if (sscanf(text + 2 * i, "%2x", &v) != 1)
            return false;
        to[i] = (unsigned char)v;
    }
    return text[2 * n] == '\0';
}

bool cublaslt_cache_load(const struct device *dev, const char *key, void *algo, size_t n)
{
    char *path = cache_path(dev, key), *text = NULL;
    json_t *o = NULL;
    bool good = false;
    size_t len;

    if (path)
        text = file_read(path, &len);
    if (text) {
        const char *had, *hex;

        o = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
        had = json_string_value(json_object_get(o, "key"));
        hex = json_string_value(json_object_get(o, "algorithm"));
        good = had && hex && !strcmp(had, key) && strlen(hex) == 2 * n &&
               from_hex(hex, algo, n);
        if (!good)
            log_info("%s is passed over; the algorithm is chosen anew", path);
    }
    json_decref(o);
    free(text);
    free(path);
    return good;
}

void cublaslt_cache_store(const struct device *dev, const char *key, const void *algo,
                          size_t n)
{
    char *path = cache_path(dev, key), *file;
    const unsigned char *from = algo;
    struct strbuf hex = STRBUF_INIT;
    json_t *o;

    if (!path)
        return;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&hex, "%02x", from[i]);
    o = json_pack("{s:s, s:s}", "key", key, "algorithm", hex.buf);
    file = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
    if (!file || dir_make_all(dev->options.cache) ||
        file_write_atomic(path, file, strlen(file)))
        log_once("cannot keep cuBLASLt's choices in '%s': %s", dev->options.cache,
                 strerror(errno));
    strbuf_release(&hex);
    json_decref(o);
    free(file);
    free(path);
}
