/*
 * Algorithms on disk (cuda/plan_file.h). cuBLASLt promises that an algorithm's bytes hold
 * for the same version of the library; whether they hold for the product is asked of it
 * again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "cuda/cublaslt.h"
#include "cuda/plan_file.h"

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
    char *path = plan_file_path(dev, "cublaslt", key);
    const char *why, *hex;
    json_t *o = plan_file_load(path, key, &why);
    bool good = false;

    if (o) {
        hex = json_string_value(json_object_get(o, "algorithm"));
        good = hex && strlen(hex) == 2 * n && from_hex(hex, algo, n);
        if (!good)
            why = "its algorithm has another size";
    }
    if (why)
        log_info("%s is passed over: %s; the algorithm is chosen anew", path, why);
    json_decref(o);
    free(path);
    return good;
}

void cublaslt_cache_store(const struct device *dev, const char *key, const void *algo,
                          size_t n)
{
    char *path = plan_file_path(dev, "cublaslt", key);
    const unsigned char *from = algo;
    struct strbuf hex = STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_addf(&hex, "%02x", from[i]);
    plan_file_store(dev, path, key, json_pack("{s:s}", "algorithm", hex.buf));
    strbuf_release(&hex);
    free(path);
}
