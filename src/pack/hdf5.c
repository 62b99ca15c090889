/* Variable-length files and labels; see dataset/hdf5_library.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/hdf5_library.h"
#include "pack/format.h"

enum { CHUNK = 256 /* samples per chunk */, UNLIMITED = -1 /* H5S_UNLIMITED */ };

/* An HDF5 dataset that grows by one element per sample. */
struct rows {
    hdf5_id id;
    bool open;
    hdf5_size n;
};

struct hdf5 {
    const struct hdf5_library *lib;
    char *path;
    hdf5_id file, bytes; /* bytes: type of an image file, variable-length uint8 */
    struct rows images, labels, label_maps;
};

static hdf5_id check(const struct hdf5 *f, hdf5_id rc)
{
    if (rc < 0)
        die("cannot write '%s': libhdf5 reports an error", f->path);
    return rc;
}

static void *hdf5_create(const char *dir, const char *stem, int64_t first)
{
    struct strbuf why = STRBUF_INIT;
    struct hdf5 *f = xcalloc(1, sizeof(*f));

    (void)first;
    f->lib = hdf5_library(&why);
    if (!f->lib)
        die("%s", why.buf);
    f->path = xasprintf("%s/%s.h5", dir, stem);
    pthread_mutex_lock(&hdf5_lock);
    f->file = check(f, f->lib->Fcreate(f->path, HDF5_TRUNCATE, 0, 0));
    f->bytes = check(f, f->lib->Tvlen_create(*f->lib->uint8));
    pthread_mutex_unlock(&hdf5_lock);
    return f;
}

static void rows_start(struct hdf5 *f, struct rows *r, const char *name, hdf5_id type)
{
    const struct hdf5_library *lib = f->lib;
    hdf5_size none = 0, unlimited = (hdf5_size)UNLIMITED, chunk = CHUNK;
    hdf5_id space = check(f, lib->Screate_simple(1, &none, &unlimited));
    hdf5_id list = check(f, lib->Pcreate(*lib->dataset_create));

    check(f, lib->Pset_chunk(list, 1, &chunk));
    check(f, lib->Pset_obj_track_times(list, false)); /* otherwise files would differ
                                                       * in their times */
    r->id = check(f, lib->Dcreate2(f->file, name, type, space, 0, list, 0));
    r->open = true;
    check(f, lib->Pclose(list));
    check(f, lib->Sclose(space));
}

static void rows_add(struct hdf5 *f, struct rows *r, const char *name, hdf5_id type,
                     const void *src)
{
    const struct hdf5_library *lib = f->lib;
    hdf5_size start = r->n, one = 1, n = r->n + 1;
    hdf5_id space, memory;

    if (!r->open)
        rows_start(f, r, name, type);
    check(f, lib->Dset_extent(r->id, &n));
    space = check(f, lib->Dget_space(r->id));
    memory = check(f, lib->Screate_simple(1, &one, NULL));
    check(f, lib->Sselect_hyperslab(space, HDF5_SELECT_SET, &start, NULL, &one, NULL));
    check(f, lib->Dwrite(r->id, type, memory, space, 0, src));
    check(f, lib->Sclose(memory));
    check(f, lib->Sclose(space));
    r->n++;
}

static void hdf5_add(void *file, const struct pack_sample *s)
{
    struct hdf5 *f = file;
    struct hdf5_bytes image = {s->len, (void *)(uintptr_t)s->image};
    struct hdf5_bytes label_map = {s->label_map_len, (void *)(uintptr_t)s->label_map};
    int64_t label = s->label;

    pthread_mutex_lock(&hdf5_lock);
    rows_add(f, &f->images, "images", f->bytes, &image);
    if (s->label >= 0)
        rows_add(f, &f->labels, "labels", *f->lib->int64, &label);
    if (s->label_map)
        rows_add(f, &f->label_maps, "label_maps", f->bytes, &label_map);
    pthread_mutex_unlock(&hdf5_lock);
}

static void hdf5_finish(void *file)
{
    struct hdf5 *f = file;
    struct rows *all[] = {&f->images, &f->labels, &f->label_maps};

    pthread_mutex_lock(&hdf5_lock);
    for (int i = 0; i < 3; i++)
        if (all[i]->open)
            check(f, f->lib->Dclose(all[i]->id));
    check(f, f->lib->Tclose(f->bytes));
    check(f, f->lib->Fclose(f->file));
    pthread_mutex_unlock(&hdf5_lock);
    free(f->path);
    free(f);
}

const struct pack_format pack_hdf5 = {
    .name = "hdf5",
    .help = "HDF5 with the datasets images, labels and label_maps",
    .ending = ".h5",
    .create = hdf5_create,
    .add = hdf5_add,
    .finish = hdf5_finish,
};
