#include "dataset/recordio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/pairs.h"
#include "dataset/raw_file.h"
#include "dataset/samples.h"

struct recordio {
    struct raw_file *images, *labels; /* labels: the file of label maps, or NULL */
    char *index;                      /* text of SPLIT.idx, or NULL */
};

static char *other_ending(const char *path, const char *ending)
{
    return xasprintf("%.*s%s", (int)(strlen(path) - strlen(".rec")), path, ending);
}

static void recordio_close(void *file)
{
    struct recordio *f = file;

    if (f->images)
        raw_file_close(f->images);
    if (f->labels)
        raw_file_close(f->labels);
    free(f->index);
    free(f);
}

static void *recordio_open(const char *path, struct strbuf *why)
{
    struct recordio *f = xcalloc(1, sizeof(*f));
    char *labels = other_ending(path, ".labels.rec"), *index = other_ending(path, ".idx");
    bool good;

    f->images = raw_file_open(path, why);
    good = f->images != NULL;
    if (good && file_exists(labels)) {
        f->labels = raw_file_open(labels, why);
        good = f->labels != NULL;
    }
    if (good && file_exists(index)) {
        f->index = file_read(index, NULL);
        good = f->index != NULL;
        if (!good)
            strbuf_addf(why, "'%s' cannot be read", index);
    }
    free(labels);
    free(index);
    if (good)
        return f;
    recordio_close(f);
    return NULL;
}

static bool begins_record(const uint8_t *p)
{
    uint32_t magic;

    memcpy(&magic, p, sizeof(magic));
    return magic == RECORD_MAGIC;
}

static const struct raw_head record_start = {"RecordIO", sizeof(uint32_t), 4,
                                             begins_record};

struct record_part {
    enum record_kind kind;
    uint64_t offset, len,
        next; /* offset and length of the data; offset of the next part */
};

static int part_head(const struct raw_file *f, uint64_t pos, struct record_part *p,
                     struct strbuf *why)
{
    uint32_t word[2];
    int rc = raw_file_get(f, pos, word, sizeof(word), why);

    if (rc < 0)
        return rc;
    if (word[0] != RECORD_MAGIC) {
        strbuf_addf(why, "no record at byte %llu", (unsigned long long)pos);
        return -1;
    }
    p->kind = (enum record_kind)(word[1] >> RECORD_LENGTH_BITS);
    p->len = word[1] & ((1u << RECORD_LENGTH_BITS) - 1);
    p->offset = pos + sizeof(word);
    p->next = p->offset + (p->len + 3) / 4 * 4;
    return 0;
}

/* Returns the length of the record at byte `pos` and the offset of the next one. On
 * failure returns -1 and a reason; *next is then the offset of the damage. */
static int record_length(const struct raw_file *f, uint64_t pos, uint64_t *len,
                         uint64_t *next, struct strbuf *why)
{
    struct record_part p;
    int rc;

    *len = 0;
    *next = pos;
    do {
        bool first = *next == pos;

        rc = part_head(f, *next, &p, why);
        if (rc < 0)
            return rc;
        if (first != (p.kind == RECORD_WHOLE || p.kind == RECORD_FIRST) ||
            p.kind > RECORD_LAST) {
            strbuf_addf(why, "a part of kind %d at byte %llu", p.kind,
                        (unsigned long long)*next);
            return -1;
        }
        *len += p.len + (first ? 0 : 4);
        *next = p.next;
    } while (p.kind == RECORD_FIRST || p.kind == RECORD_MIDDLE);
    return 0;
}

/* Reads a whole record and reinserts the magic between its parts, which the writer
 * omits. */
static int record_read(const struct raw_file *f, uint64_t pos, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why)
{
    static const uint32_t magic = RECORD_MAGIC;
    uint64_t len, end;
    size_t gap;
    struct record_part p;
    int rc = record_length(f, pos, &len, &end, why);

    if (rc < 0)
        return rc;
    if (len > (uint64_t)limit + sizeof(struct record_head) + 4096) { /* 4096: labels */
        strbuf_addf(why, "%llu bytes, more than the limit of %lld",
                    (unsigned long long)len, (long long)limit);
        return -1;
    }
    if (len > f->size)
        return raw_file_get(f, pos, NULL, (size_t)len, why);
    dataset_bytes_reserve(out, (size_t)len);
    out->len = 0;
    for (; pos < end; pos = p.next) {
        rc = part_head(f, pos, &p, why);
        if (rc < 0)
            return rc;
        gap = p.kind == RECORD_MIDDLE || p.kind == RECORD_LAST ? sizeof(magic) : 0;
        if (!checked_within(out->len, gap + p.len, len)) {
            strbuf_addstr(why, "the file changes while it is read");
            return -1;
        }
        memcpy(out->data + out->len, &magic, gap);
        out->len += gap;
        rc = raw_file_get(f, p.offset, out->data + out->len, (size_t)p.len, why);
        if (rc < 0)
            return rc;
        out->len += (size_t)p.len;
    }
    return 0;
}

/* Returns the bytes before the image file, which is `len` if there is no image, or -1 if
 * the record is too short. */
static int64_t head_length(const struct record_head *h, uint64_t len)
{
    uint64_t n = sizeof(*h) + 4 * (uint64_t)h->flag;

    return n <= len ? (int64_t)n : -1;
}

/* Reads the head of the record at byte `pos` of `len` bytes, and its first label. *before:
 * bytes before the image, < 0 if the record is too short. */
static int read_head(const struct raw_file *f, uint64_t pos, uint64_t len,
                     struct record_head *h, int64_t *before, struct strbuf *why)
{
    int rc = raw_file_get(f, pos + 8, h, sizeof(*h), why);

    *before = rc == 0 ? head_length(h, len) : -1;
    if (*before >= 0 && h->flag)
        rc = raw_file_get(f, pos + 8 + sizeof(*h), &h->label, sizeof(h->label), why);
    return rc;
}

/* Returns -1 if the label is not a class, such as a regression target. */
static int32_t class_of(float label)
{
    return label >= 0 && label < 1e6f && label == (float)(int32_t)label ? (int32_t)label
                                                                        : -1;
}

/* Adds the sample whose record is at byte `pos`, as SAMPLE_DAMAGED if it is damaged. A
 * record without data after its labels is not a sample (face data sets store identities
 * so). Returns FAILURE_DATA if the next record cannot be located. Returns FAILURE_MACHINE
 * and a reason, without adding a sample, if the file cannot be read now. */
static int add_record(const struct raw_file *f, struct samples *s, uint64_t pos,
                      uint64_t *next, struct strbuf *why)
{
    struct record_head h = {0};
    uint64_t len;
    char name[48];
    struct sample *dst;
    int64_t before = -1;
    int rc = record_length(f, pos, &len, next, why);
    int head = rc < 0 ? rc : read_head(f, pos, len, &h, &before, why);

    if (head == FAILURE_MACHINE)
        return head;
    strbuf_reset(why);
    snprintf(name, sizeof(name), "byte %llu", (unsigned long long)pos);
    if (head == 0 && before == (int64_t)len) {
        left_out_add(&s->left, LEFT_NO_IMAGE, &s->mem, name);
        return rc;
    }
    dst = samples_add(s, name);
    dst->image.offset = pos;
    dst->label = SAMPLE_DAMAGED;
    if (head == 0 && before > 0) {
        dst->image.len = len - (uint64_t)before;
        dst->label = class_of(h.label);
    }
    return rc;
}

/* Adds all records in file order. Sets *lost if a damaged head prevents finding the next
 * record. */
static int scan_records(const struct raw_file *f, struct samples *s, bool *lost,
                        struct strbuf *why)
{
    uint64_t pos = 0;
    int rc = 0;

    while (rc == 0 && pos < f->size)
        rc = add_record(f, s, pos, &pos, why);
    if (rc != FAILURE_DATA)
        return rc;
    *lost = true;
    log_warning("'%s': damaged record at byte %llu: ignoring the rest of the file",
                f->path, (unsigned long long)pos);
    return 0;
}

/* Parses a number of the index. If it overflows, sets UINT64_MAX, which is outside any
 * file. */
static bool index_number(const char **text, uint64_t *number)
{
    size_t digits = strspn(*text, "0123456789");

    if (digits == 0 || checked_number(text, UINT64_MAX, number))
        return digits > 0;
    *text += digits;
    *number = UINT64_MAX;
    return true;
}

/* Adds the records in the index, in its order. */
static int index_records(const struct recordio *f, struct samples *s, struct strbuf *why)
{
    for (const char *p = f->index; *p;) {
        const char *end = p;
        uint64_t unused, pos;

        if (!index_number(&end, &unused) || *end++ != '\t' || !index_number(&end, &pos) ||
            (*end && *end != '\r' && *end != '\n')) {
            strbuf_addf(why, "its index has a line other than 'key<tab>offset': '%.*s'",
                        (int)strcspn(p, "\r\n"), p);
            return -1;
        }
        if (add_record(f->images, s, pos, &unused, why) == FAILURE_MACHINE)
            return FAILURE_MACHINE;
        p = end + strspn(end, "\r\n");
    }
    return 0;
}

/* Marks samples [first, n) as damaged: their label maps cannot be located because of the
 * damage at byte `pos`. */
static void drop_label_maps(const struct recordio *f, struct samples *s, int64_t first,
                            uint64_t pos)
{
    log_warning(
        "'%s': damaged record at byte %llu: the label maps of %lld samples are lost",
        f->labels->path, (unsigned long long)pos, (long long)(s->base.n - first));
    for (int64_t i = first; i < s->base.n; i++) {
        s->sample[i].label_map.offset = pos;
        s->sample[i].label = SAMPLE_DAMAGED;
    }
}

/* Record i of SPLIT.labels.rec is the label map of image i. */
static int add_label_maps(const struct recordio *f, struct samples *s, int64_t first,
                          bool lost, struct strbuf *why)
{
    uint64_t pos = 0, next, len;

    for (int64_t i = first; i < s->base.n; i++, pos = next) {
        int rc = record_length(f->labels, pos, &len, &next, why);

        if (rc == FAILURE_MACHINE)
            return rc;
        strbuf_reset(why);
        if (rc < 0) {
            drop_label_maps(f, s, i, pos);
            return 0;
        }
        len = len > sizeof(struct record_head) ? len - sizeof(struct record_head) : 0;
        s->sample[i].label_map = (struct sample_part){.offset = pos, .len = len};
    }
    if (lost || pos >= f->labels->size) /* the last record may be truncated */
        return 0;
    strbuf_addf(why, "'%s' has more records than there are images", f->labels->path);
    return -1;
}

static int recordio_list(void *file, struct samples *s, struct strbuf *why)
{
    struct recordio *f = file;
    int64_t first = s->base.n;
    bool lost = false, label_maps = f->labels && s->label_maps;
    int rc = raw_file_check(f->images, &record_start, why);

    if (rc == 0 && label_maps) {
        rc = raw_file_check(f->labels, &record_start, why);
        if (rc < 0)
            strbuf_addf(why, " ('%s')", f->labels->path);
    }
    if (rc == 0)
        rc = f->index ? index_records(f, s, why) : scan_records(f->images, s, &lost, why);
    return rc == 0 && label_maps ? add_label_maps(f, s, first, lost, why) : rc;
}

static int recordio_read(void *file, const struct sample *sample, bool label_map,
                         int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    const struct recordio *f = file;
    struct record_head h;
    int64_t head;
    int rc;

    if (label_map && !f->labels) { /* a forged sample index */
        strbuf_addstr(why, "it has no label map file (.labels.rec)");
        return -1;
    }
    rc = label_map ? record_read(f->labels, sample->label_map.offset, limit, out, why)
                   : record_read(f->images, sample->image.offset, limit, out, why);
    if (rc < 0)
        return rc;
    if (out->len <= sizeof(h)) {
        strbuf_addf(why, "a record of %zu bytes has no image", out->len);
        return -1;
    }
    memcpy(&h, out->data, sizeof(h));
    head = head_length(&h, out->len);
    if (head < 0) {
        strbuf_addf(why, "a record of %zu bytes has no room for %u labels", out->len,
                    h.flag);
        return -1;
    }
    out->len -= (size_t)head;
    memmove(out->data, out->data + head, out->len);
    if ((int64_t)out->len <= limit)
        return 0;
    strbuf_addf(why, "%zu bytes, more than the limit of %lld", out->len,
                (long long)limit);
    return -1;
}

const struct container container_recordio = {
    .name = "recordio",
    .ending = ".rec",
    .companion_end = ".labels.rec",
    .companion = {".labels.rec", ".idx"},
    .open = recordio_open,
    .list = recordio_list,
    .read = recordio_read,
    .close = recordio_close,
};

CONTAINER_STORAGE(recordio, "MXNet's image records, SPLIT.rec (and SPLIT.idx) or "
                            "SPLIT-*.rec; label maps in SPLIT.labels.rec");
