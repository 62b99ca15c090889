/* See hdf5_library.h. The library is not thread-safe, so there is one read at a time.
 * Functions require hdf5_lock unless stated otherwise. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "dataset/hdf5_rows.h"
#include "dataset/pairs.h"
#include "dataset/samples.h"

struct hdf5 {
    const struct hdf5_library *lib;
    char *path;
    hdf5_id file; /* < 0 after a failure; reopened by the next read */
    struct rows images, label_maps, labels;
};

/* Returns the channels of a row of pixels or class values. */
static int channels_of(const struct rows *r)
{
    return r->rank == 4 ? (int)r->dims[3] : 1;
}

/* `colors`: true for images, which may have 3 channels. */
static int rows_check(const struct rows *r, const char *name, bool colors, hdf5_size n,
                      struct strbuf *why)
{
    if (r->id < 0)
        return 0;
    if (!r->bytes || (r->files ? r->rank != 1 : r->rank != 3 && r->rank != 4) ||
        (r->rank == 4 && r->dims[3] != 1 && !(colors && r->dims[3] == 3))) {
        strbuf_addf(why, "'%s' is ", name);
        rows_describe(r, why);
        strbuf_addf(
            why, ": files ([n] of uint8 of variable length) or %s of uint8 are expected",
            colors ? "pixels ([n, h, w, 3] or [n, h, w])" : "values ([n, h, w])");
        return -1;
    }
    if (r->dims[0] == n)
        return 0;
    strbuf_addf(why, "'%s' has %llu rows, and 'images' has %llu", name, r->dims[0], n);
    return -1;
}

/* Returns the file size in bytes. It limits the number of rows, as a damaged header can
 * claim any number. */
static hdf5_size file_size(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (hdf5_size)st.st_size : 0;
}

static int hdf5_start(struct hdf5 *f, struct strbuf *why)
{
    hdf5_size n;

    f->file = f->lib->Fopen(f->path, HDF5_READ_ONLY, 0);
    if (f->file < 0) {
        strbuf_addstr(why, "it is not a readable HDF5 file");
        return -1;
    }
    if (rows_open(f->lib, f->file, "images", &f->images, why) < 0 ||
        rows_open(f->lib, f->file, "labels", &f->labels, why) < 0 ||
        rows_open(f->lib, f->file, "label_maps", &f->label_maps, why) < 0)
        return -1;
    if (f->images.id < 0) {
        strbuf_addstr(why, "it has no dataset 'images'");
        return -1;
    }
    n = f->images.dims[0];
    if (n > file_size(f->path)) {
        strbuf_addf(why, "'images' has %llu rows, more than the file has bytes", n);
        return -1;
    }
    if (rows_check(&f->images, "images", true, n, why) < 0 ||
        rows_check(&f->label_maps, "label_maps", false, n, why) < 0)
        return -1;
    if (rows_check_filters(f->lib, &f->images, "images", why) < 0)
        return -1;
    if (f->labels.id < 0 || labels_fit(&f->labels, n))
        return 0;
    strbuf_addstr(why, "'labels' is ");
    rows_describe(&f->labels, why);
    strbuf_addf(why, ": %llu classes are expected, numbers, strings or one-hot rows", n);
    return -1;
}

static void hdf5_stop(struct hdf5 *f)
{
    struct rows *data[] = {&f->images, &f->labels, &f->label_maps};

    for (int i = 0; i < 3; i++) {
        if (data[i]->id >= 0)
            (void)f->lib->Dclose(data[i]->id);
        data[i]->id = -1;
    }
    if (f->file >= 0)
        (void)f->lib->Fclose(f->file);
    f->file = -1;
}

static void hdf5_free(struct hdf5 *f)
{
    hdf5_stop(f);
    free(f->path);
    free(f);
}

/* Takes the lock. */
static void hdf5_close(void *file)
{
    pthread_mutex_lock(&hdf5_lock);
    hdf5_free(file);
    pthread_mutex_unlock(&hdf5_lock);
}

/* Takes the lock. */
static void *hdf5_open(const char *path, struct strbuf *why)
{
    const struct hdf5_library *lib = hdf5_library(why);
    struct hdf5 *f;

    if (!lib)
        return NULL;
    f = xcalloc(1, sizeof(*f));
    f->lib = lib;
    f->path = xstrdup(path);
    f->images.id = f->labels.id = f->label_maps.id = f->file = -1;
    pthread_mutex_lock(&hdf5_lock);
    if (hdf5_start(f, why) < 0) {
        hdf5_free(f);
        f = NULL;
    }
    pthread_mutex_unlock(&hdf5_lock);
    return f;
}

static int too_long(uint64_t len, int64_t limit, struct strbuf *why)
{
    if (len <= (uint64_t)limit)
        return 0;
    strbuf_addf(why, "%llu bytes, more than the limit of %lld", (unsigned long long)len,
                (long long)limit);
    return -1;
}

/* Reads a row that is an encoded file. */
static int read_file(const struct hdf5 *f, const struct rows *r, uint64_t i,
                     int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    const struct hdf5_library *lib = f->lib;
    hdf5_size one = 1;
    struct hdf5_bytes got = {0};
    hdf5_id type = lib->Tvlen_create(*lib->uint8);
    int rc = rows_read(f->lib, r, i, type, &got, why);

    if (rc == 0)
        rc = too_long(got.len, limit, why);
    if (rc == 0) {
        dataset_bytes_reserve(out, got.len);
        out->len = got.len;
        if (got.len)
            memcpy(out->data, got.p, got.len);
    }
    if (got.p) {
        hdf5_id space = lib->Screate_simple(1, &one, NULL);

        (void)lib->Dvlen_reclaim(type, space, 0, &got);
        (void)lib->Sclose(space);
    }
    (void)lib->Tclose(type);
    return rc;
}

/* Reads a row of colors as a PPM file, or of gray levels or class values as a PGM file.
 * Neither header exceeds 40 bytes. */
static int read_pixels(const struct hdf5 *f, const struct rows *r, uint64_t i,
                       int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    int channels = channels_of(r);
    uint64_t h = r->dims[1], w = r->dims[2], n;
    int head;

    if (h > 1 << 20 || w > 1 << 20) {
        strbuf_addf(why, "%llu x %llu pixels", (unsigned long long)w,
                    (unsigned long long)h);
        return -1;
    }
    n = h * w * (uint64_t)channels;
    if (too_long(n + 40, limit, why) < 0)
        return -1;
    dataset_bytes_reserve(out, n + 40);
    head = snprintf((char *)out->data, 40, "P%d %llu %llu 255\n", channels == 3 ? 6 : 5,
                    (unsigned long long)w, (unsigned long long)h);
    out->len = (size_t)head + n;
    return rows_read(f->lib, r, i, *f->lib->uint8, out->data + head, why);
}

/* Takes the lock. After a failed disk read the library may cache zeros and return them as
 * data, so the file is reopened after such a failure. */
static int hdf5_read(void *file, const struct sample *sample, bool label_map,
                     int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    struct hdf5 *f = file;
    const struct rows *r = label_map ? &f->label_maps : &f->images;
    int rc = 0;

    pthread_mutex_lock(&hdf5_lock);
    if (f->file < 0 && hdf5_start(f, why) < 0)
        rc = FAILURE_MACHINE;
    if (rc == 0)
        rc = (r->files ? read_file : read_pixels)(f, r, sample->image.offset, limit, out,
                                                  why);
    if (rc == FAILURE_MACHINE)
        hdf5_stop(f);
    pthread_mutex_unlock(&hdf5_lock);
    return rc;
}

/* Takes the lock. */
static int hdf5_list(void *file, struct samples *s, struct strbuf *why)
{
    const struct hdf5 *f = file;
    uint64_t n = f->images.dims[0];
    int64_t first = s->base.n;
    bool maps = s->label_maps && f->label_maps.id >= 0;
    bool classes = !s->label_maps && f->labels.id >= 0;
    int rc;

    for (uint64_t i = 0; i < n; i++) {
        char name[32];
        struct sample *dst;

        snprintf(name, sizeof(name), "images[%llu]", (unsigned long long)i);
        dst = samples_add(s, name);
        /* Lengths are unknown until rows are read; 1 means present. */
        dst->image = (struct sample_part){.offset = i, .len = 1};
        dst->label_map = (struct sample_part){.offset = i, .len = f->label_maps.id >= 0};
    }
    pthread_mutex_lock(&hdf5_lock);
    rc = maps ? rows_check_filters(f->lib, &f->label_maps, "label_maps", why) : 0;
    if (classes)
        rc = rows_check_filters(f->lib, &f->labels, "labels", why);
    if (classes && rc == 0)
        rc = labels_read(f->lib, &f->labels, s, &s->sample[first], n, why);
    pthread_mutex_unlock(&hdf5_lock);
    return rc;
}

const struct container container_hdf5 = {
    .name = "hdf5",
    .ending = ".h5",
    .other_endings = {".hdf5"},
    .open = hdf5_open,
    .list = hdf5_list,
    .read = hdf5_read,
    .close = hdf5_close,
};

CONTAINER_STORAGE(hdf5, "HDF5 files, SPLIT.h5 or SPLIT-*.h5, with datasets images (files "
                        "or pixels), labels, label_maps");
