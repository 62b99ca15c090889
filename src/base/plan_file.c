#include "base/plan_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"

static const char sum_key[] = "xxh3";

char *plan_file_path(const char *folder, const char *kind, const char *key)
{
    XXH128_hash_t h = XXH3_128bits(key, strlen(key));

    return folder && *folder
               ? xasprintf("%s/%s-%016" PRIx64 "%016" PRIx64 ".json", folder, kind,
                           (uint64_t)h.high64, (uint64_t)h.low64)
               : NULL;
}

/* Checksum of everything except itself; returns false if out of memory. */
static bool sum_text(json_t *o, char text[24])
{
    char *all;

    (void)json_object_del(o, sum_key);
    all = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
    if (all)
        (void)snprintf(text, 24, "%016" PRIx64, (uint64_t)XXH3_64bits(all, strlen(all)));
    free(all);
    return all != NULL;
}

static const char *check(json_t *o, const char *key)
{
    const char *had = json_string_value(json_object_get(o, "key"));
    const char *sum = json_string_value(json_object_get(o, sum_key));
    char want[24], is[24];

    if (!json_is_object(o))
        return "it is not JSON";
    if (!had || !sum || strlen(sum) != 16)
        return "something is missing";
    if (strcmp(had, key) != 0)
        return "it is another plan's";
    memcpy(is, sum, 17); /* before its entry is removed */
    return sum_text(o, want) && !strcmp(is, want) ? NULL : "the checksum is wrong";
}

json_t *plan_file_load(const char *path, const char *key, const char **why)
{
    size_t len = 0;
    char *text = path ? file_read(path, &len) : NULL;
    json_t *o;

    *why = NULL;
    if (!text)
        return NULL;
    o = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    *why = check(o, key);
    if (!*why)
        return o;
    json_decref(o);
    return NULL;
}

void plan_file_store(const char *folder, const char *path, const char *key, json_t *o)
{
    char sum[24], *file = NULL;

    if (path) {
        (void)json_object_set_new(o, "key", json_string(key));
        if (sum_text(o, sum))
            (void)json_object_set_new(o, sum_key, json_string(sum));
        file = json_dumps(o, JSON_INDENT(1));
        if (!file || dir_make_all(folder) || atomic_write_file(path, file, strlen(file)))
            log_once("cannot keep plans in '%s': %s", folder, strerror(errno));
    }
    free(file);
    json_decref(o);
}
