/*
 * Algorithms on disk (base/plan_file.h). cuBLASLt guarantees that an algorithm's bytes
 * stay valid for the same library version; validity for this GEMM is checked again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plan_file.h"
#include "base/strbuf.h"
#include "cuda/cublaslt.h"

/* True if text is exactly 2 n hexadecimal digits. */
static bool from_hex(const char *text, unsigned char *dst, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    if (strlen(text) != 2 * n || strspn(text, digits) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++)
        dst[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 |
                                 (strchr(digits, text[2 * i + 1]) - digits));
    return true;
}

bool cublaslt_cache_load(const struct device *dev, const char *key, void *algo, size_t n,
                         float *microseconds)
{
    char *path = plan_file_path(dev->options.cache, "cublaslt", key);
    const char *why, *hex;
    json_t *o = plan_file_load(path, key, &why);
    bool good = false;

    if (o) {
        hex = json_string_value(json_object_get(o, "algorithm"));
        good = hex && from_hex(hex, algo, n);
        if (!good)
            why = "its algorithm has another size";
        *microseconds = (float)json_number_value(json_object_get(o, "microseconds"));
    }
    if (why)
        log_info("ignoring %s: %s; choosing the algorithm again", path, why);
    json_decref(o);
    free(path);
    return good;
}

void cublaslt_cache_store(const struct device *dev, const char *key, const void *algo,
                          size_t n, float microseconds)
{
    char *path = plan_file_path(dev->options.cache, "cublaslt", key);
    const unsigned char *src = algo;
    struct strbuf hex = STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_addf(&hex, "%02x", src[i]);
    plan_file_store(dev->options.cache, path, key,
                    json_pack("{s:s, s:f}", "algorithm", hex.buf, "microseconds",
                              (double)microseconds));
    strbuf_release(&hex);
    free(path);
}
