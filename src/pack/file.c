#include "pack/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

__attribute__((noreturn)) static void fail(const struct pack_file *f)
{
    die("cannot write '%s': %s", f->path, strerror(errno));
}

void pack_file_open(struct pack_file *f, const char *dir, const char *stem,
                    const char *ending)
{
    *f = (struct pack_file){.path = xasprintf("%s/%s%s", dir, stem, ending)};
    f->f = fopen(f->path, "wbe");
    if (!f->f)
        fail(f);
}

void pack_file_add(struct pack_file *f, const void *data, size_t len)
{
    if (len && fwrite(data, 1, len, f->f) != len)
        fail(f);
    f->size += len;
}

void pack_file_pad(struct pack_file *f, unsigned multiple)
{
    static const char zero[512];
    size_t remainder = (size_t)(f->size % multiple);

    pack_file_add(f, zero, remainder ? multiple - remainder : 0);
}

void pack_file_head(struct pack_file *f, const void *data, size_t len)
{
    if (fseek(f->f, 0, SEEK_SET) < 0 || fwrite(data, 1, len, f->f) != len)
        fail(f);
}

void pack_file_close(struct pack_file *f)
{
    if (fflush(f->f) || fsync(fileno(f->f)) < 0)
        fail(f);
    if (fclose(f->f))
        fail(f);
    free(f->path);
}
