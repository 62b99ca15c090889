/*
 * DATA.DATASET tfrecord: TensorFlow's records of tf.train.Example, parsed by protobuf-c.
 * A record is its length (8 bytes), the masked CRC-32C of the length (4), the data, and
 * the masked CRC-32C of the data; both checksums are verified. Of an example's features
 * those with the names below are read, as in TensorFlow's own data sets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/crc32c.h"
#include "base/failure.h"
#include "base/log.h"
#include "dataset/class_value.h"
#include "dataset/example.pb-c.h"
#include "dataset/pairs.h"
#include "dataset/raw_file.h"
#include "dataset/samples.h"
#include "dataset/unpack_memory.h"

static const char *const image_names[] = {"image/encoded", "image", "image_raw", NULL};
/* A class as an integer of any type, a text, or a one-hot vector. */
static const char *const label_names[] = {"image/class/label", "label", "class",
                                          "image/class/text", NULL};
static const char *const label_map_names[] = {"image/segmentation/class/encoded",
                                              "label_map", "mask", NULL};

struct record_head {
    uint64_t len;
    uint32_t crc;
} __attribute__((packed));

static bool begins_record(const uint8_t *p)
{
    struct record_head h;

    memcpy(&h, p, sizeof(h));
    return crc32c_masked(&h.len, sizeof(h.len)) == h.crc;
}

static const struct raw_head record_start = {"TFRecord", sizeof(struct record_head), 1,
                                             begins_record};

/* Reads the head of the record at `pos`; its data are within the file. Returns -1 and a
 * reason on failure. */
static int head_at(const struct raw_file *f, uint64_t pos, struct record_head *h,
                   struct strbuf *why)
{
    int rc = raw_file_get(f, pos, h, sizeof(*h), why);

    if (rc < 0)
        return rc;
    if (crc32c_masked(&h->len, sizeof(h->len)) != h->crc) {
        strbuf_addf(why,
                    "the length of the record at byte %" PRIu64 " has a wrong checksum",
                    pos);
        return -1;
    }
    if (!checked_within(sizeof(h->crc), h->len, f->size - pos - sizeof(*h))) {
        strbuf_addstr(why, "truncated: the file ends within the record");
        return -1;
    }
    return 0;
}

/* Reads the record's data. Returns -1 and a reason on failure. */
static int record_at(const struct raw_file *f, uint64_t pos, struct dataset_bytes *out,
                     struct strbuf *why)
{
    struct record_head h;
    uint32_t crc;
    int rc = head_at(f, pos, &h, why);

    if (rc == 0)
        rc = raw_file_read(f, pos + sizeof(h), h.len, INT64_MAX, out, why);
    if (rc == 0)
        rc = raw_file_get(f, pos + sizeof(h) + h.len, &crc, sizeof(crc), why);
    if (rc < 0)
        return rc;
    if (crc32c_masked(out->data, out->len) == crc)
        return 0;
    strbuf_addf(why, "the record at byte %" PRIu64 " has a wrong checksum", pos);
    return -1;
}

/* Returns the feature with the first of these names that exists, and sets *found to it;
 * NULL if there is none. */
static const Trainc__Feature *find(const Trainc__Example *e, const char *const *names,
                                   const char **found)
{
    for (const char *const *name = names; e->features && *name; name++)
        for (size_t i = 0; i < e->features->n_feature; i++) {
            const Trainc__Features__Entry *entry = e->features->feature[i];

            *found = *name;
            if (entry->key && entry->value && strcmp(entry->key, *name) == 0)
                return entry->value;
        }
    return NULL;
}

static const ProtobufCBinaryData *bytes_of(const Trainc__Example *e,
                                           const char *const *names)
{
    const char *found;
    const Trainc__Feature *f = find(e, names, &found);

    if (!f || f->kind_case != TRAINC__FEATURE__KIND_BYTES_LIST ||
        f->bytes_list->n_value < 1)
        return NULL;
    return &f->bytes_list->value[0];
}

/* Unpacks *e, to be released with free_unpacked(). Returns a failure and a reason. */
static int example_of(const struct dataset_bytes *b, Trainc__Example **e,
                      struct strbuf *why)
{
    bool failed;
    struct unpack_memory m = unpack_memory(&failed);

    *e = trainc__example__unpack(&m.allocator, b->len, b->data);
    return *e ? 0 : unpack_failure(&m, "the record is not a tf.train.Example", why);
}

/* Returns the numbers of a feature, a heap array of *n, or NULL if it has none. */
static double *numbers_of(const Trainc__Feature *f, size_t *n)
{
    bool ints = f->kind_case == TRAINC__FEATURE__KIND_INT64_LIST;
    bool floats = f->kind_case == TRAINC__FEATURE__KIND_FLOAT_LIST;
    double *v;

    *n = ints ? f->int64_list->n_value : floats ? f->float_list->n_value : 0;
    if (!*n)
        return NULL;
    v = xcalloc(*n, sizeof(*v));
    for (size_t i = 0; i < *n; i++)
        v[i] = ints ? (double)f->int64_list->value[i] : (double)f->float_list->value[i];
    return v;
}

/* Appends "2 values of float: 0.25, 0.75". */
static void describe_numbers(const Trainc__Feature *f, const double *v, size_t n,
                             struct strbuf *out)
{
    enum { SHOWN = 4 };

    strbuf_addf(out, "%zu value%s of %s", n, n == 1 ? "" : "s",
                f->kind_case == TRAINC__FEATURE__KIND_FLOAT_LIST ? "float" : "int64");
    for (size_t i = 0; i < n && i < SHOWN; i++)
        strbuf_addf(out, "%s%.6g", i ? ", " : ": ", v[i]);
    if (n > SHOWN)
        strbuf_addstr(out, ", ...");
}

static void fill_label(struct samples *s, struct sample *dst, const char *name,
                       const Trainc__Feature *f)
{
    struct strbuf has = STRBUF_INIT;
    size_t n;
    double *v = numbers_of(f, &n);

    if (v)
        dst->label = n == 1 ? class_of_number(v[0]) : class_of_one_hot(v, n);
    if (v && dst->label < 0)
        describe_numbers(f, v, n, &has);
    else if (!v && f->kind_case == TRAINC__FEATURE__KIND_BYTES_LIST &&
             f->bytes_list->n_value == 1)
        class_of_text(s, dst, f->bytes_list->value[0].data, f->bytes_list->value[0].len,
                      "its label");
    else if (!v && f->kind_case == TRAINC__FEATURE__KIND_BYTES_LIST)
        strbuf_addf(&has, "%zu values of bytes", f->bytes_list->n_value);
    else if (!v)
        strbuf_addstr(&has, "no values");
    if (has.len)
        samples_damage(s, dst,
                       "feature '%s' has %s: expected a class (a whole number, a name, "
                       "or a one-hot list)",
                       name, has.buf);
    strbuf_release(&has);
    free(v);
}

/* Sets s->hint, once, to a list of the features. */
static void describe_features(struct samples *s, const Trainc__Example *e)
{
    struct strbuf names = STRBUF_INIT;

    if (s->hint)
        return;
    for (size_t i = 0; e->features && i < e->features->n_feature && i < 12; i++)
        strbuf_addf(&names, "%s'%.60s'", i ? ", " : "",
                    e->features->feature[i]->key ? e->features->feature[i]->key : "");
    s->hint = xasprintf("expected a feature '%s' or '%s', found %s", label_names[0],
                        label_names[1], names.buf);
    strbuf_release(&names);
}

static void fill(struct samples *s, struct sample *dst, const Trainc__Example *e)
{
    const ProtobufCBinaryData *image = bytes_of(e, image_names);
    const ProtobufCBinaryData *label_map = bytes_of(e, label_map_names);
    const char *name;
    const Trainc__Feature *label = find(e, label_names, &name);

    if (!image)
        return;
    dst->label = -1;
    dst->image.len = image->len;
    dst->label_map.len = label_map ? label_map->len : 0;
    if (label && !s->label_maps)
        fill_label(s, dst, name, label);
    else if (!label)
        describe_features(s, e);
}

/* Adds the sample whose record is at byte `pos`, as SAMPLE_DAMAGED if it is damaged.
 * Returns FAILURE_MACHINE and a reason, without adding a sample, if the file cannot be
 * read now. */
static int add_record(const struct raw_file *f, struct samples *s, uint64_t pos,
                      struct dataset_bytes *bytes, struct strbuf *why)
{
    Trainc__Example *e = NULL;
    char name[48];
    struct sample *dst;
    int rc = record_at(f, pos, bytes, why);

    if (rc == 0)
        rc = example_of(bytes, &e, why);
    if (rc == FAILURE_MACHINE)
        return rc;
    snprintf(name, sizeof(name), "byte %" PRIu64, pos);
    dst = samples_add(s, name);
    dst->image.offset = dst->label_map.offset = pos;
    dst->label = SAMPLE_DAMAGED;
    if (e)
        fill(s, dst, e);
    if (e)
        trainc__example__free_unpacked(e, NULL);
    strbuf_reset(why);
    return 0;
}

static int tfrecord_list(void *file, struct samples *s, struct strbuf *why)
{
    const struct raw_file *f = file;
    struct dataset_bytes bytes = {0};
    struct record_head h = {0};
    uint64_t pos = 0;
    int rc = raw_file_check(f, &record_start, why);

    if (rc < 0)
        return rc;
    while (rc == 0 && pos < f->size) {
        rc = add_record(f, s, pos, &bytes, why);
        if (rc == 0)
            rc = head_at(f, pos, &h, why);
        if (rc == 0)
            pos += sizeof(h) + h.len + 4;
    }
    dataset_bytes_release(&bytes);
    if (rc != FAILURE_DATA)
        return rc;
    log_warning("'%s': %s: ignoring the rest of the file", f->path, why->buf);
    strbuf_reset(why);
    return 0;
}

static int tfrecord_read(void *file, const struct sample *sample, bool label_map,
                         int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    const ProtobufCBinaryData *part;
    Trainc__Example *e;
    int rc;

    if (sample->image.len > (uint64_t)limit || sample->label_map.len > (uint64_t)limit) {
        strbuf_addf(why, "%" PRIu64 " bytes, more than the limit of %lld",
                    label_map ? sample->label_map.len : sample->image.len,
                    (long long)limit);
        return -1;
    }
    rc = record_at(file, sample->image.offset, out, why);
    if (rc == 0)
        rc = example_of(out, &e, why);
    if (rc < 0)
        return rc;
    part = bytes_of(e, label_map ? label_map_names : image_names);
    if (part && part->len > (uint64_t)limit) { /* an index claimed less */
        rc = FAILURE_DATA;
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", part->len,
                    (long long)limit);
    } else if (part && part->len <= out->len) {
        memcpy(out->data, part->data, part->len);
        out->len = part->len;
    } else {
        rc = FAILURE_DATA;
        strbuf_addf(why, "the example has no feature '%s'",
                    label_map ? label_map_names[0] : image_names[0]);
    }
    trainc__example__free_unpacked(e, NULL);
    return rc;
}

const struct container container_tfrecord = {
    .name = "tfrecord",
    .ending = ".tfrecord",
    .other_endings = {".tfrecords", ".tfrec"},
    .numbered = true,
    .open = raw_file_open,
    .list = tfrecord_list,
    .read = tfrecord_read,
    .close = raw_file_close,
};

CONTAINER_STORAGE(tfrecord,
                  "TFRecords of tf.train.Example, SPLIT.tfrecord or SPLIT-*: "
                  "image/encoded, image/class/label, image/segmentation/class/encoded");
