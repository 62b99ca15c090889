/*
 * DATA.DATASET cifar: CIFAR-10 and CIFAR-100 as https://www.cs.toronto.edu/~kriz/cifar.html
 * offers them, in the binary version and in that for Python, which torchvision downloads:
 *
 *   cifar-10-batches-bin/   data_batch_1.bin to data_batch_5.bin, test_batch.bin
 *   cifar-100-binary/       train.bin, test.bin
 *   cifar-10-batches-py/    data_batch_1 to data_batch_5, test_batch
 *   cifar-100-python/       train, test
 *
 * DATA_PATH is such a folder or the one that it lies in. Splits are "train", and "val" or
 * "test". An image has 32 x 32 pixels: 1024 red, 1024 green, 1024 blue. In a binary file
 * the class precedes it (CIFAR-100: the superclass, then the class, which is the one that is used);
 * a Python file is a pickled dict of `data` [n, 3072] and `labels` or `fine_labels`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "dataset/array_images.h"
#include "dataset/class_names.h"
#include "io/pickle.h"

enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE, BATCHES = 5 };

static const struct cifar_kind {
    const char *folder;
    const char *file[2][BATCHES]; /* by split */
    bool pickled;
    int classes;
    int label, record; /* bytes before the class, and of a record; pickled: 0 */
    const char *names_file, *names_key, *labels_key;
} cifar_kinds[] = {
    {.folder = "cifar-10-batches-bin",
     .file = {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
               "data_batch_4.bin", "data_batch_5.bin"},
              {"test_batch.bin"}},
     .classes = 10,
     .label = 0,
     .record = 1 + PIXELS,
     .names_file = "batches.meta.txt"},
    {.folder = "cifar-100-binary",
     .file = {{"train.bin"}, {"test.bin"}},
     .classes = 100,
     .label = 1,
     .record = 2 + PIXELS,
     .names_file = "fine_label_names.txt"},
    {.folder = "cifar-10-batches-py",
     .file = {{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
               "data_batch_5"},
              {"test_batch"}},
     .pickled = true,
     .classes = 10,
     .names_file = "batches.meta",
     .names_key = "label_names",
     .labels_key = "labels"},
    {.folder = "cifar-100-python",
     .file = {{"train"}, {"test"}},
     .pickled = true,
     .classes = 100,
     .names_file = "meta",
     .names_key = "fine_label_names",
     .labels_key = "fine_labels"},
};

enum { KINDS = sizeof(cifar_kinds) / sizeof(*cifar_kinds) };

static bool has_file(const char *dir, const char *name)
{
    char *path = path_join(dir, name);
    bool has = file_exists(path) && !file_is_dir(path);

    free(path);
    return has;
}

/* Of CIFAR-100's plain "train" and "test", the names file decides. */
static bool is_kind(const struct cifar_kind *k, const char *dir, enum array_split split)
{
    return has_file(dir, k->file[split][0]) &&
           (!k->pickled || has_file(dir, k->names_file));
}

/* Returns the kind of the data, and its folder; NULL if there is none. */
static const struct cifar_kind *find_kind(const struct dataset_source *s,
                                          enum array_split split, char **dir)
{
    for (int k = 0; k < KINDS && split != ARRAY_UNKNOWN; k++) {
        char *below = path_join(s->path, cifar_kinds[k].folder);

        *dir = is_kind(&cifar_kinds[k], s->path, split) ? xstrdup(s->path)
               : is_kind(&cifar_kinds[k], below, split) ? xstrdup(below)
                                                        : NULL;
        free(below);
        if (*dir)
            return &cifar_kinds[k];
    }
    *dir = NULL;
    return NULL;
}

static bool cifar_check(const struct dataset_source *s, struct strbuf *why)
{
    enum array_split split = array_images_split(s);
    char *dir;
    const struct cifar_kind *k = find_kind(s, split, &dir);

    if (split == ARRAY_UNKNOWN)
        strbuf_addf(why, "CIFAR's files have no split '%s': they have train and test",
                    s->split);
    else if (!k)
        strbuf_addf(
            why,
            "'%s' has no folder cifar-10-batches-bin, cifar-10-batches-py, "
            "cifar-100-binary, or cifar-100-python, and is none (archives must be "
            "unpacked: tar xf)",
            s->path);
    for (int i = 0; k && i < BATCHES && k->file[split][i]; i++)
        if (!has_file(dir, k->file[split][i])) {
            strbuf_addf(why, "'%s' has no file %s", dir, k->file[split][i]);
            k = NULL;
        }
    free(dir);
    return k;
}

static bool cifar_probe(const struct dataset_source *s)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = !s->label_maps && s->split && *s->split && cifar_check(s, &unused);

    strbuf_release(&unused);
    return is;
}

static char *read_or_die(const char *path, size_t *len)
{
    char *data = file_read(path, len);

    if (!data)
        die("cannot read '%s': %s", path, file_strerror(errno));
    return data;
}

static void add_binary(struct array_images *a, const struct cifar_kind *k,
                       const char *path)
{
    size_t len, record = (size_t)k->record;
    uint8_t *data = (uint8_t *)read_or_die(path, &len);
    int file = array_images_add_file(a, path, data);

    if (!len || len % record)
        die("'%s' is damaged or of another data set: its %zu bytes are no whole number "
            "of images of %zu bytes",
            path, len, record);
    for (size_t pos = 0; pos < len; pos += record)
        array_images_add(a, file, data + pos + record - PIXELS,
                         data[pos + (size_t)k->label]);
}

/* The bytes of a NumPy array of uint8: the last item of its state (NumPy's
 * ndarray.__setstate__: version, shape, type, order, values). NULL if it is none. */
static const struct pickle_value *array_bytes(const struct pickle_value *array)
{
    const struct pickle_value *v = pickle_item(pickle_item(array, 2), 4);

    return v && (v->kind == PICKLE_BYTES || v->kind == PICKLE_TEXT) ? v : NULL;
}

/* Opens a pickled file; dies if it is damaged. Keys may be of Python 2 or 3. */
static struct pickle read_pickle(const char *path)
{
    struct strbuf why = STRBUF_INIT;
    struct pickle p;
    size_t len;
    char *data = read_or_die(path, &len);

    if (pickle_read(&p, data, len, &why) < 0)
        die("'%s' is no pickle that can be read: %s", path, why.buf);
    free(data);
    return p;
}

static void add_pickled(struct array_images *a, const struct cifar_kind *k,
                        const char *path)
{
    struct pickle p = read_pickle(path);
    const struct pickle_value *labels = pickle_get(p.root, k->labels_key);
    const struct pickle_value *values = array_bytes(pickle_get(p.root, "data"));
    size_t n = labels && labels->kind == PICKLE_LIST ? labels->item.n : 0;
    uint8_t *pixels;
    int file;

    if (!n || !values || values->text.len != n * PIXELS)
        die("'%s' is no file of CIFAR: it needs a dict with 'data', an array of uint8 "
            "[n, %d], and a list '%s' of n class indices",
            path, PIXELS, k->labels_key);
    pixels = xmalloc(n * PIXELS);
    memcpy(pixels, values->text.s, n * PIXELS);
    file = array_images_add_file(a, path, pixels);
    for (size_t i = 0; i < n; i++) {
        const struct pickle_value *label = labels->item.v[i];
        bool good =
            label->kind == PICKLE_INT && label->number >= 0 && label->number < k->classes;

        array_images_add(a, file, pixels + i * PIXELS,
                         good ? (int32_t)label->number : INT32_MAX);
    }
    pickle_release(&p);
}

/* The names of the classes, of which there are k->classes, else their numbers. */
static void name_classes(struct array_images *a, const struct cifar_kind *k,
                         const char *dir)
{
    char *path = path_join(dir, k->names_file);
    const char *name[128] = {0};
    char *text = NULL, *save;
    struct pickle p = {0};
    size_t len, n = 0;

    if (k->pickled) {
        const struct pickle_value *list;

        p = read_pickle(path);
        list = pickle_get(p.root, k->names_key);
        while (n < (size_t)k->classes && pickle_text(pickle_item(list, n))) {
            name[n] = pickle_text(pickle_item(list, n));
            n++;
        }
    } else if ((text = file_read(path, &len))) {
        for (char *line = strtok_r(text, "\r\n", &save); line && n < (size_t)k->classes;
             line = strtok_r(NULL, "\r\n", &save))
            name[n++] = line;
    }
    class_names_add_numbers(&a->base, 0, k->classes, 0);
    for (size_t i = 0; n == (size_t)k->classes && i < n; i++) {
        free(a->base.class_name[i]);
        a->base.class_name[i] = xstrdup(name[i]);
    }
    pickle_release(&p);
    free(text);
    free(path);
}

static struct dataset *cifar_open(const struct dataset_source *s)
{
    enum array_split split = array_images_split(s);
    struct strbuf why = STRBUF_INIT;
    const struct cifar_kind *k;
    struct array_images *a;
    char *dir;

    if (!cifar_check(s, &why))
        die("%s", why.buf);
    k = find_kind(s, split, &dir);
    a = array_images_new(dir, SIDE, SIDE, 3);
    for (int i = 0; i < BATCHES && k->file[split][i]; i++) {
        char *path = path_join(dir, k->file[split][i]);

        (k->pickled ? add_pickled : add_binary)(a, k, path);
        free(path);
    }
    if (!class_names_read(&a->base, dir))
        name_classes(a, k, dir);
    array_images_check_labels(a);
    free(dir);
    return &a->base;
}

const struct storage storage_cifar = {
    .name = "cifar",
    .alias = {"cifar10", "cifar100"},
    .help =
        "CIFAR-10 and CIFAR-100 as they are downloaded: the binary files, or those for "
        "Python, which torchvision uses",
    .labels = STORAGE_CLASSES,
    .probe = cifar_probe,
    .check = cifar_check,
    .open = cifar_open,
};
