#include "dataset/left_out.h"

#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "image/image.h"

/* `endings`: the message ends with the list of image extensions. */
static const struct {
    const char *what;
    bool endings, quiet;
} reasons[LEFT_REASONS] = {
    [LEFT_KIND] = {"members that are not a class or label map and do not end in ", true,
                   false},
    [LEFT_LINK] = {"links to files that are not in the archive", false, false},
    [LEFT_SPECIAL] = {"members that are not files", false, false},
    [LEFT_UNPAIRED] = {"classes and label maps without an image", false, false},
    [LEFT_EXTRA_IMAGE] = {"additional images of a sample", false, false},
    [LEFT_DUPLICATE] = {"members that a later member with the same name replaces", false,
                        false},
    [LEFT_BESIDE] = {"images outside the class folders", false, false},
    [LEFT_NO_IMAGE] = {"records without an image", false, false},
    [LEFT_HIDDEN] = {"hidden members and those of a system (__MACOSX)", false, true},
};

void left_out_add(struct left_out *l, enum left_reason why, struct arena *mem,
                  const char *name)
{
    if (l->n[why]++ == 0)
        l->first[why] = arena_strdup(mem, name);
}

void left_out_log(const struct left_out *l, const char *name)
{
    for (int r = 0; r < LEFT_REASONS; r++) {
        struct strbuf what = STRBUF_INIT;

        if (!l->n[r])
            continue;
        strbuf_addstr(&what, reasons[r].what);
        if (reasons[r].endings)
            image_add_extensions(&what);
        if (reasons[r].quiet)
            log_debug("'%s': skipping %s (%lld), such as '%s'", name, what.buf,
                      (long long)l->n[r], l->first[r]);
        else
            log_warning("'%s': skipping %s (%lld), such as '%s'", name, what.buf,
                        (long long)l->n[r], l->first[r]);
        strbuf_release(&what);
    }
}
