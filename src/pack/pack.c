#include "pack/pack.h"

#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/read.h"

enum { BLOCK = 16 }; /* samples in memory per thread */

struct packer {
    const struct pack_options *o;
    const struct dataset *d;
    char *dir; /* folder in which containers are created */
    struct pack_encoder *encoder;
    struct pack_item *item;
    int block; /* entries of `item` */
    struct pack_result result;
};

static void empty_folder(const char *dir)
{
    int n;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++) {
        char *path = path_join(dir, name[i]);

        if (file_is_dir(path)) {
            empty_folder(path);
            (void)rmdir(path);
        } else {
            (void)unlink(path);
        }
        free(path);
    }
    dir_list_free(name, n);
}

static void move(const char *dir, const char *name, const char *out)
{
    char *src = path_join(dir, name), *dst = path_join(out, name);

    if (rename(src, dst) < 0)
        die("cannot rename '%s' to '%s': %s", src, dst, strerror(errno));
    free(src);
    free(dst);
}

/* Moves the files of a container, `main` last: if it is there, the others are, too. */
static void move_all(const struct packer *p, const char *main)
{
    int n;
    char **name = dir_list(p->dir, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(name[i], main) != 0)
            move(p->dir, name[i], p->o->out);
    move(p->dir, main, p->o->out);
    dir_list_free(name, n);
}

static void drop_item(const struct packer *p, struct pack_item *item)
{
    struct strbuf name = STRBUF_INIT;

    dataset_describe(p->d, item->sample.number, &name);
    if (item->machine)
        die("cannot read '%s': %s (tried %d times; the file need not be damaged)",
            name.buf, item->fault, 1 + DATASET_RETRIES);
    if (p->o->fail)
        die("'%s': %s", name.buf, item->fault);
    log_warning("'%s' is left out: %s", name.buf, item->fault);
    strbuf_release(&name);
    free(item->fault);
    item->fault = NULL;
}

/* Encodes samples [from, to), at most p->block, in parallel and adds them in order. */
static void add_block(struct packer *p, void *file, int64_t begin, int64_t end)
{
    int n = (int)(end - begin);

#pragma omp parallel for schedule(dynamic) num_threads(p->o->threads)
    for (int i = 0; i < n; i++)
        pack_encode(&p->encoder[omp_get_thread_num()], &p->o->encoding, p->d, begin + i,
                    &p->item[i]);
    for (int i = 0; i < n; i++) {
        struct pack_item *item = &p->item[i];

        if (item->fault) {
            drop_item(p, item);
            p->result.left_out++;
            continue;
        }
        p->o->format->add(file, &item->sample);
        p->result.samples++;
        p->result.bytes += (int64_t)(item->sample.len + item->sample.label_map_len);
    }
    if (p->o->progress)
        p->o->progress(end, p->d->n, p->o->arg);
}

/* Writes the container of samples [from, to) unless it already exists. */
static void pack_container(struct packer *p, const char *stem, int64_t begin, int64_t end)
{
    const struct pack_format *format = p->o->format;
    char *main = xasprintf("%s%s", stem, format->ending);
    char *path = path_join(p->o->out, main);

    if (file_exists(path)) {
        p->result.kept += end - begin;
    } else {
        int64_t before = p->result.samples;
        void *file;

        empty_folder(p->dir);
        file = format->create(p->dir, stem, begin);
        for (int64_t i = begin; i < end; i += p->block)
            add_block(p, file, i, i + p->block < end ? i + p->block : end);
        format->finish(file);
        if (p->result.samples > before)
            move_all(p, main);
        else
            log_warning("'%s' is not written: all its samples are left out", path);
    }
    p->result.containers += file_exists(path);
    free(main);
    free(path);
}

struct pack_result pack_split(const struct pack_options *o, const struct dataset *d,
                              const char *split)
{
    int64_t shard = o->shard > 0 && !o->format->single_file ? o->shard : d->n, k = 0;
    bool whole = o->format->single_file || o->shard == 0;
    struct packer p = {.o = o, .d = d, .block = BLOCK * o->threads};

    p.dir = path_join(o->out, ".packing");
    if (dir_make_all(p.dir))
        die("cannot make the folder '%s': %s", p.dir, strerror(errno));
    p.encoder = xcalloc((size_t)o->threads, sizeof(*p.encoder));
    for (int i = 0; i < o->threads; i++)
        pack_encoder_init(&p.encoder[i], &o->encoding.limits);
    p.item = xcalloc((size_t)p.block, sizeof(*p.item));
    for (int64_t start = 0; start < d->n; start += shard, k++) {
        char *stem = whole ? xstrdup(split) : xasprintf("%s-%06" PRId64, split, k);

        pack_container(&p, stem, start, start + shard < d->n ? start + shard : d->n);
        free(stem);
    }
    for (int i = 0; i < o->threads; i++)
        pack_encoder_release(&p.encoder[i]);
    for (int i = 0; i < p.block; i++)
        pack_item_release(&p.item[i]);
    empty_folder(p.dir);
    (void)rmdir(p.dir);
    free(p.encoder);
    free(p.item);
    free(p.dir);
    return p.result;
}
