/* Writes records in the layout that dataset/tfrecord.c reads. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "dataset/example.pb-c.h"
#include "pack/file.h"
#include "pack/format.h"

enum { FEATURES = 4 };

/* A feature and everything it points to. */
struct feature {
    Trainc__Features__Entry entry;
    Trainc__Feature value;
    Trainc__BytesList bytes;
    Trainc__Int64List numbers;
    ProtobufCBinaryData data;
    int64_t number;
};

static void *tfrecord_create(const char *dir, const char *stem, int64_t first)
{
    struct pack_file *f = xcalloc(1, sizeof(*f));

    (void)first;
    pack_file_open(f, dir, stem, ".tfrecord");
    return f;
}

static void start(struct feature *f, const char *key)
{
    trainc__features__entry__init(&f->entry);
    trainc__feature__init(&f->value);
    trainc__bytes_list__init(&f->bytes);
    trainc__int64_list__init(&f->numbers);
    f->entry.key = (char *)(uintptr_t)key;
    f->entry.value = &f->value;
}

static void put_bytes(struct feature *f, const char *key, const void *data, size_t len)
{
    start(f, key);
    f->data = (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)data};
    f->bytes.n_value = 1;
    f->bytes.value = &f->data;
    f->value.kind_case = TRAINC__FEATURE__KIND_BYTES_LIST;
    f->value.bytes_list = &f->bytes;
}

static void put_number(struct feature *f, const char *key, int64_t number)
{
    start(f, key);
    f->number = number;
    f->numbers.n_value = 1;
    f->numbers.value = &f->number;
    f->value.kind_case = TRAINC__FEATURE__KIND_INT64_LIST;
    f->value.int64_list = &f->numbers;
}

static void record(struct pack_file *f, const void *data, size_t len)
{
    uint64_t n = len;
    uint32_t head = crc32c_masked(&n, sizeof(n)), tail = crc32c_masked(data, len);

    pack_file_add(f, &n, sizeof(n));
    pack_file_add(f, &head, sizeof(head));
    pack_file_add(f, data, len);
    pack_file_add(f, &tail, sizeof(tail));
}

static void tfrecord_add(void *file, const struct pack_sample *s)
{
    struct feature f[FEATURES];
    Trainc__Features__Entry *entry[FEATURES];
    Trainc__Features features = TRAINC__FEATURES__INIT;
    Trainc__Example e = TRAINC__EXAMPLE__INIT;
    const char *format = s->ending + 1; /* TensorFlow's name is "jpeg" */
    size_t n = 0, len;
    uint8_t *data;

    format = strcmp(format, "jpg") == 0 ? "jpeg" : format;
    put_bytes(&f[n++], "image/encoded", s->image, s->len);
    put_bytes(&f[n++], "image/format", format, strlen(format));
    if (s->label >= 0)
        put_number(&f[n++], "image/class/label", s->label);
    if (s->label_map)
        put_bytes(&f[n++], "image/segmentation/class/encoded", s->label_map,
                  s->label_map_len);
    for (size_t i = 0; i < n; i++)
        entry[i] = &f[i].entry;
    features.n_feature = n;
    features.feature = entry;
    e.features = &features;
    len = trainc__example__get_packed_size(&e);
    data = xmalloc(len);
    trainc__example__pack(&e, data);
    record(file, data, len);
    free(data);
}

static void tfrecord_finish(void *file)
{
    pack_file_close(file);
    free(file);
}

const struct pack_format pack_tfrecord = {
    .name = "tfrecord",
    .help = "TFRecords of tf.train.Example",
    .ending = ".tfrecord",
    .create = tfrecord_create,
    .add = tfrecord_add,
    .finish = tfrecord_finish,
};
