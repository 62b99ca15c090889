#include "dataset/cache_path.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <xxhash.h>

#include "base/alloc.h"

char *cache_path(const struct dataset *d, const struct transform *t,
                 const struct image_limits *limits, const char *dir)
{
    struct strbuf s = STRBUF_INIT;
    char *path;

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
        strbuf_add(&s, d->map, sizeof(d->map));
    path = xasprintf("%s/.trainc-cache-%016" PRIx64, dir,
                     (uint64_t)XXH3_64bits(s.buf, s.len));
    strbuf_release(&s);
    return path;
}

int64_t cache_path_room(const char *dir)
{
    struct statvfs v;

    return statvfs(dir, &v) < 0 ? 0 : (int64_t)(v.f_bavail * v.f_frsize / 2);
}
