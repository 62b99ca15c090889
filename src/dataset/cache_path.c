#include "dataset/cache_path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/label.h"

struct keep_paths cache_paths(const struct dataset *d, const struct transform *t,
                              const struct image_limits *limits, const struct keep *k)
{
    struct strbuf s = STRBUF_INIT;
    struct keep_paths paths;

    strbuf_addf(&s, "2 %016" PRIx64 " %d %d %d %d %d %d %d %d ", dataset_digest(d),
                limits->rotate + (limits->jpeg ? 2 : 0) + (limits->truncated ? 4 : 0),
                (int)t->kind, t->w, t->h, transform_channels(t), (int)t->filter,
                t->label_divisor > 0, transform_is_fixed(t));
    strbuf_addf(&s, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g %d", t->scale[0],
                t->scale[1], t->ratio[0], t->ratio[1], t->factor[0], t->factor[1],
                t->shrink_gap, t->resize);
    strbuf_addf(&s, " %d %.17g %.17g", (int)limits->range.kind, limits->range.lo,
                limits->range.hi);
    if (dataset_has_labels(d))
        dataset_add_label_meaning(d, &s);
    paths = keep_paths(k, "cache", XXH3_64bits(s.buf, s.len), "");
    strbuf_release(&s);
    return paths;
}

int64_t cache_path_free_space(const char *dir)
{
    char *cursor = xstrdup(dir), *parent;
    struct statvfs v;
    int64_t room = 0;

    while (statvfs(cursor, &v) < 0) {
        parent = path_dirname(cursor);
        if (!strcmp(parent, cursor)) { /* "/" or "." */
            free(parent);
            break;
        }
        free(cursor);
        cursor = parent;
    }
    if (statvfs(cursor, &v) == 0)
        room = (int64_t)(v.f_bavail * v.f_frsize / 2);
    free(cursor);
    return room > 1 ? room : 1;
}
