/*
 * DATA.DATASET mnist: the IDX files of MNIST and of the data sets that copy its format
 * (Fashion-MNIST, KMNIST), as http://yann.lecun.com/exdb/mnist/ defines them, compressed
 * by gzip or not:
 *
 *   train-images-idx3-ubyte[.gz]  train-labels-idx1-ubyte[.gz]    "train"
 *   t10k-images-idx3-ubyte[.gz]   t10k-labels-idx1-ubyte[.gz]     "val" or "test"
 *
 * in the folder DATA_PATH, or below it in raw/ or NAME/raw/, where torchvision puts them.
 * The third dot of old copies (train-images.idx3-ubyte) is accepted. All integers are
 * big-endian: a magic number, whose low bytes are the type (8: uint8) and the number of
 * dimensions, then the dimensions, then the values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "dataset/array_images.h"
#include "dataset/class_names.h"

enum { IDX_UINT8 = 0x0800, SIDE_MAX = 4096, NUMBERED = 10 };

/* Returns the path of `name` in a folder, with or without .gz; NULL if there is none. */
static char *idx_in(const char *dir, const char *name)
{
    static const char *const ending[] = {"", ".gz"};

    for (int dotted = 0; dotted < 2; dotted++)
        for (int e = 0; e < 2; e++) {
            char *path = xasprintf("%s/%s%s", dir, name, ending[e]), *dot;

            if (dotted && (dot = strstr(path + strlen(dir), "-idx")))
                *dot = '.';
            if (file_exists(path) && !file_is_dir(path))
                return path;
            free(path);
        }
    return NULL;
}

/* Returns the folder below `root` that holds `name`; NULL if there is none. */
static char *idx_folder(const char *root, const char *name)
{
    static const char *const below[] = {
        "", "raw", "MNIST/raw", "mnist/raw", "FashionMNIST/raw", "KMNIST/raw"};

    for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++) {
        char *dir = *below[i] ? path_join(root, below[i]) : xstrdup(root);
        char *path = idx_in(dir, name);

        free(path);
        if (path)
            return dir;
        free(dir);
    }
    return NULL;
}

static const char *const images_name[] = {"train-images-idx3-ubyte",
                                          "t10k-images-idx3-ubyte"};
static const char *const labels_name[] = {"train-labels-idx1-ubyte",
                                          "t10k-labels-idx1-ubyte"};

static bool mnist_check(const struct dataset_source *s, struct strbuf *why)
{
    enum array_split split = array_images_split(s);
    char *dir, *labels;

    if (split == ARRAY_UNKNOWN) {
        strbuf_addf(why, "MNIST's files have no split '%s': they have train and test",
                    s->split);
        return false;
    }
    dir = idx_folder(s->path, images_name[split]);
    if (!dir) {
        strbuf_addf(why, "'%s' has no file %s, with or without .gz, also not in raw/",
                    s->path, images_name[split]);
        return false;
    }
    labels = idx_in(dir, labels_name[split]);
    if (!labels)
        strbuf_addf(why, "'%s' has no file %s, with or without .gz", dir,
                    labels_name[split]);
    free(dir);
    free(labels);
    return labels;
}

static bool mnist_probe(const struct dataset_source *s)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = !s->label_maps && s->split && *s->split && mnist_check(s, &unused);

    strbuf_release(&unused);
    return is;
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* An IDX file in memory; dies with the file's name if it is none. */
struct idx {
    uint32_t dim[3];
    uint8_t *value;
};

static void gz_get(gzFile file, const char *path, void *dst, size_t len)
{
    uint8_t *p = dst;

    while (len > 0) {
        unsigned part = len > 1 << 24 ? 1 << 24 : (unsigned)len;
        int got = gzread(file, p, part), code;

        if (got <= 0) {
            const char *text = gzerror(file, &code);

            die("'%s' is %s", path,
                got < 0 && code != Z_BUF_ERROR ? text : "cut off: values are missing");
        }
        p += got;
        len -= (size_t)got;
    }
}

static struct idx idx_read(const char *path, int rank)
{
    gzFile file = gzopen(path, "rbe");
    uint8_t head[4 + 3 * 4], extra;
    struct idx x = {.dim = {1, 1, 1}};
    size_t len = 1;

    if (!file)
        die("cannot open '%s': %s", path, strerror(errno));
    gz_get(file, path, head, 4 + 4 * (size_t)rank);
    if (big_endian(head) != (uint32_t)(IDX_UINT8 | rank))
        die("'%s' is no IDX file of uint8 with %d dimension%s: it starts with %08x", path,
            rank, rank > 1 ? "s" : "", big_endian(head));
    for (int i = 0; i < rank; i++) {
        x.dim[i] = big_endian(head + 4 + 4 * i);
        if (!x.dim[i] || (i && x.dim[i] > SIDE_MAX) ||
            !checked_items(x.dim[i], len, FILE_MAX))
            die("'%s' is damaged: a dimension is %u", path, x.dim[i]);
        len *= x.dim[i];
    }
    x.value = xmalloc(len);
    gz_get(file, path, x.value, len);
    if (gzread(file, &extra, 1) > 0)
        die("'%s' is damaged: it has more than the %zu values of its header", path, len);
    (void)gzclose(file);
    return x;
}

static struct dataset *mnist_open(const struct dataset_source *s)
{
    enum array_split split = array_images_split(s);
    struct strbuf why = STRBUF_INIT;
    struct array_images *a;
    struct idx images, labels;
    char *dir, *images_path, *labels_path;
    int file, top = 0;

    if (!mnist_check(s, &why))
        die("%s", why.buf);
    dir = idx_folder(s->path, images_name[split]);
    images_path = idx_in(dir, images_name[split]);
    labels_path = idx_in(dir, labels_name[split]);
    images = idx_read(images_path, 3);
    labels = idx_read(labels_path, 1);
    if (images.dim[0] != labels.dim[0])
        die("'%s' has %u images, and '%s' has %u labels", images_path, images.dim[0],
            labels_path, labels.dim[0]);
    a = array_images_new(dir, (int)images.dim[2], (int)images.dim[1], 1);
    file = array_images_add_file(a, images_path, images.value);
    for (uint32_t i = 0; i < images.dim[0]; i++) {
        array_images_add(a, file,
                         images.value + (size_t)i * images.dim[1] * images.dim[2],
                         labels.value[i]);
        top = labels.value[i] > top ? labels.value[i] : top;
    }
    if (!class_names_read(&a->base, dir))
        class_names_add_numbers(&a->base, 0, top < NUMBERED ? NUMBERED : top + 1, top);
    array_images_check_labels(a);
    free(labels.value);
    free(labels_path);
    free(images_path);
    free(dir);
    return &a->base;
}

const struct storage storage_mnist = {
    .name = "mnist",
    .alias = {"fashion_mnist", "kmnist"},
    .help =
        "the IDX files of MNIST and Fashion-MNIST (train-images-idx3-ubyte, t10k-...), "
        "also with .gz",
    .labels = STORAGE_CLASSES,
    .probe = mnist_probe,
    .check = mnist_check,
    .open = mnist_open,
};
