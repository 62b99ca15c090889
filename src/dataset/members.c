#include "dataset/members.h"

#include <archive_entry.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"
#include "dataset/class_value.h"
#include "dataset/member_json.h"
#include "dataset/usual_names.h"
#include "image/image.h"

enum { CLASS_BYTES = 4096, JSON_BYTES = 1 << 20 };

static void cls_label(struct samples *s, struct sample *dst, const char *name,
                      const struct dataset_bytes *b)
{
    class_of_text(s, dst, b->data, b->len, path_basename(name));
}

/* A text may be a caption: only a number is certainly a class. */
static void txt_label(struct samples *s, struct sample *dst, const char *name,
                      const struct dataset_bytes *b)
{
    class_of_text(s, dst, b->data, b->len, path_basename(name));
    if (dst->label == SAMPLE_TEXT)
        dst->label = SAMPLE_REMARK;
    else if (dst->label == SAMPLE_DAMAGED)
        dst->label = SAMPLE_NO_LABEL;
}

/* Members that belong to an image; of several with a class, the first in this table is
 * used. */
static const struct member_kind {
    const char *ending;
    int64_t limit;
    void (*label)(struct samples *s, struct sample *sample, const char *name,
                  const struct dataset_bytes *b); /* NULL for label maps */
} kinds[] = {{".cls", CLASS_BYTES, cls_label},
             {".json", JSON_BYTES, member_json_label},
             {".txt", CLASS_BYTES, txt_label},
             {".seg.png", 0, NULL},
             {".mask.png", 0, NULL},
             {".seg.pgm", 0, NULL},
             {".mask.pgm", 0, NULL}};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct member_kind *kind_of(const char *name)
{
    size_t n = strlen(name);

    for (int k = 0; k < KINDS; k++) {
        size_t e = strlen(kinds[k].ending);

        if (n > e && strcasecmp(name + n - e, kinds[k].ending) == 0)
            return &kinds[k];
    }
    return NULL;
}

/* True if samples of this data set use members of the kind. */
static bool is_used(const struct members *m, const struct member_kind *kind)
{
    return m->samples->label_maps == (kind->label == NULL);
}

/* True if the run has an image but no class or label map of the kind that others have. */
static bool members_lacks(const struct members *m)
{
    bool whole = false;

    for (int i = 0; i < m->nother; i++)
        whole = whole || (is_used(m, m->other[i].kind) && m->other[i].kind <= m->best);
    return m->nimage && m->best && !whole && !m->damaged;
}

/* Attributes a lost member: to the run's first sample if that lacks something, else to an
 * additional sample before it. */
static void members_find_lost(struct members *m)
{
    if (m->lost && members_lacks(m))
        m->damaged = true;
    else if (m->lost)
        samples_add(m->samples, m->lost)->label = SAMPLE_DAMAGED;
    free(m->lost);
    m->lost = NULL;
}

static void leave_out(struct members *m, enum left_reason why, const char *name)
{
    left_out_add(&m->samples->left, why, &m->samples->mem, name);
}

/* Returns the image that a member belongs to, or NULL: the one with the same stem, or the
 * first image if the member's stem is the run's key. */
static struct member_image *image_of(struct members *m, const struct member_other *o,
                                     bool *whole_run)
{
    size_t n = strlen(o->name) - strlen(o->kind->ending);
    char *stem = xstrndup(o->name, n);
    uintptr_t pos = (uintptr_t)strmap_get(&m->stems, stem);

    *whole_run = !pos && strcmp(stem, m->key) == 0 && m->nimage;
    free(stem);
    return pos ? &m->image[pos - 1] : *whole_run ? &m->image[0] : NULL;
}

/* Assigns members to their images. Returns true if the run is a single sample. */
static bool members_join(struct members *m)
{
    bool one = false;

    for (int i = 0; i < m->nother; i++) {
        struct member_other *o = &m->other[i];
        bool whole_run;
        struct member_image *dst = image_of(m, o, &whole_run);

        if (!dst)
            leave_out(m, LEFT_UNPAIRED, o->name);
        else if (!o->kind->label)
            dst->label_map = o->part;
        else if (!dst->label || o->kind < dst->label->kind)
            dst->label = o;
        one = one || (whole_run && is_used(m, o->kind));
    }
    return one;
}

/* Reads the class of an image. Returns a failure only if the machine fails. */
static int read_label(struct members *m, struct sample *dst, const struct member_other *o,
                      struct strbuf *why)
{
    struct dataset_bytes bytes = {0};
    int rc = 0;

    if (o->part.len > (uint64_t)o->kind->limit)
        samples_damage(m->samples, dst, "%s has %" PRIu64 " bytes, no class",
                       path_basename(o->name), o->part.len);
    else
        rc = m->read(m->file, &o->part, o->kind->limit, &bytes, why);
    if (rc == 0 && dst->label != SAMPLE_DAMAGED)
        o->kind->label(m->samples, dst, o->name, &bytes);
    dataset_bytes_release(&bytes);
    if (rc == FAILURE_MACHINE)
        return rc;
    if (rc < 0)
        samples_damage(m->samples, dst, "%s: %s", path_basename(o->name), why->buf);
    strbuf_reset(why);
    return 0;
}

static int members_emit(struct members *m, int i, struct strbuf *why)
{
    const struct member_image *src = &m->image[i];
    struct sample *dst = samples_add(m->samples, src->name);

    dst->image = src->part;
    dst->label_map = src->label_map;
    if (i == 0 && m->damaged)
        dst->label = SAMPLE_DAMAGED;
    else if (src->label && !m->samples->label_maps)
        return read_label(m, dst, src->label, why);
    return 0;
}

static void members_clear(struct members *m)
{
    for (int i = 0; i < m->nimage; i++)
        free(m->image[i].name);
    for (int i = 0; i < m->nother; i++)
        free(m->other[i].name);
    strmap_release(&m->stems);
    m->nimage = m->nother = 0;
    free(m->key);
    m->key = NULL;
    m->damaged = false;
}

static int members_flush(struct members *m, struct strbuf *why)
{
    bool one;
    int rc = 0;

    if (m->key)
        members_find_lost(m);
    one = m->key && members_join(m);
    for (int i = 0; i < m->nimage && rc == 0; i++)
        if (i == 0 || !one)
            rc = members_emit(m, i, why);
        else
            leave_out(m, LEFT_EXTRA_IMAGE, m->image[i].name);
    members_clear(m);
    return rc;
}

static size_t key_length(const char *name)
{
    const char *slash = strrchr(name, '/'), *dot = strchr(slash ? slash + 1 : name, '.');

    return dot ? (size_t)(dot - name) : strlen(name);
}

static void add_image(struct members *m, const char *name, const struct sample_part *part)
{
    char *stem = xstrndup(name, strlen(name) - strlen(path_extension(name)));

    GROW(m->image, m->nimage, m->image_cap);
    m->image[m->nimage++] = (struct member_image){.name = xstrdup(name), .part = *part};
    if (!strmap_has(&m->stems, stem))
        strmap_put(&m->stems, stem, (void *)(uintptr_t)m->nimage);
    free(stem);
}

struct members members_begin(struct samples *s, void *file, member_read *read)
{
    return (struct members){.samples = s, .file = file, .read = read, .first = s->base.n};
}

const char *members_name(struct samples *s, struct archive_entry *e)
{
    const char *name = archive_entry_pathname(e);
    bool file = archive_entry_filetype(e) == AE_IFREG && !archive_entry_hardlink(e);
    bool link = archive_entry_filetype(e) == AE_IFLNK || archive_entry_hardlink(e);
    enum left_reason why = link ? LEFT_LINK : LEFT_SPECIAL;

    if (!name)
        name = archive_entry_pathname_utf8(e);
    if (!name || archive_entry_filetype(e) == AE_IFDIR)
        return NULL;
    if (usual_path_is_system(name))
        why = LEFT_HIDDEN;
    else if (file)
        return name;
    if (s)
        left_out_add(&s->left, why, &s->mem, name);
    return NULL;
}

int members_add(struct members *m, const char *name, const struct sample_part *part,
                struct strbuf *why)
{
    const struct member_kind *kind = kind_of(name);
    size_t n = key_length(name);
    int rc = 0;

    if (!m->key || strncmp(m->key, name, n) != 0 || m->key[n]) {
        rc = members_flush(m, why);
        m->key = xstrndup(name, n);
    }
    if (kind) {
        GROW(m->other, m->nother, m->other_cap);
        m->other[m->nother++] = (struct member_other){xstrdup(name), kind, *part};
        if (is_used(m, kind) && (!m->best || kind < m->best))
            m->best = kind;
    } else if (image_has_extension(name)) {
        add_image(m, name, part);
    } else {
        leave_out(m, LEFT_KIND, name);
    }
    return rc;
}

int members_drop(struct members *m, const char *name, struct strbuf *why)
{
    int rc;

    if (members_lacks(m)) {
        m->damaged = true;
        name = NULL;
    }
    rc = members_flush(m, why);
    if (name) {
        free(m->lost);
        m->lost = xstrdup(name);
    }
    return rc;
}

struct named_sample {
    uint64_t hash;
    int64_t index;
};

static int by_hash(const void *a, const void *b)
{
    const struct named_sample *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Of members with the same name the last one wins, as when the archive is unpacked. */
static void drop_twice(struct members *m)
{
    struct samples *s = m->samples;
    size_t n = (size_t)(s->base.n - m->first);
    struct named_sample *named = xcalloc(n + 1, sizeof(*named));
    bool *drop = xcalloc(n + 1, sizeof(*drop));

    for (size_t i = 0; i < n; i++) {
        const char *name = s->sample[m->first + (int64_t)i].name;

        named[i] = (struct named_sample){XXH3_64bits(name, strlen(name)), (int64_t)i};
    }
    qsort(named, n, sizeof(*named), by_hash);
    for (size_t i = 0; i + 1 < n; i++) {
        const char *name = s->sample[m->first + named[i].index].name;

        if (named[i].hash != named[i + 1].hash ||
            strcmp(name, s->sample[m->first + named[i + 1].index].name) != 0)
            continue;
        drop[named[i].index] = true;
        leave_out(m, LEFT_DUPLICATE, name);
    }
    samples_remove(s, m->first, drop);
    free(named);
    free(drop);
}

int members_end(struct members *m, struct strbuf *why)
{
    int rc = members_flush(m, why);

    members_find_lost(m);
    drop_twice(m);
    free(m->image);
    free(m->other);
    return rc;
}
