#include "dataset/keep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"

struct keep_paths keep_paths(const struct keep *k, const char *name, uint64_t key,
                             const char *ending)
{
    struct keep_paths p = {.data = xasprintf("%s/.trainc-%s-%016" PRIx64 "%s", k->data,
                                               name, key, ending)};
    char *data = realpath(k->data, NULL), *dir = NULL;

    if (k->dir && *k->dir)
        dir = realpath(k->dir, NULL);
    if (dir && data && !strcmp(dir, data)) {
        p.user = p.data;
        p.data = NULL;
    } else if (k->dir && *k->dir) {
        const char *data_path = data ? data : k->data;

        p.user =
            xasprintf("%s/%s-%016" PRIx64 "-%016" PRIx64 "%s", k->dir, name,
                      (uint64_t)XXH3_64bits(data_path, strlen(data_path)), key, ending);
    }
    free(data);
    free(dir);
    return p;
}

void keep_paths_release(struct keep_paths *p)
{
    free(p->user);
    free(p->data);
}

int keep_make_folder(const struct keep_paths *p)
{
    char *dir = path_dirname(p->user);
    int rc = dir_make_all(dir);

    free(dir);
    return rc;
}

void keep_write(const struct keep_paths *p, const void *bytes, size_t len)
{
    char *dir;

    if (!p->user ||
        (keep_make_folder(p) == 0 && atomic_write_shared(p->user, bytes, len) == 0))
        return;
    dir = path_dirname(p->user);
    log_once(
        "cannot cache data set indexes in '%s': %s: set DATA.INDEX_DIR to another folder",
        dir, strerror(errno));
    free(dir);
}
