#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"

static void failed(struct atomic_file *f, const char *what)
{
    f->err = errno ? errno : EIO;
    f->failed = what;
}

void atomic_open(struct atomic_file *f, const char *path)
{
    *f = (struct atomic_file){.path = xstrdup(path), .tmp = xasprintf("%s.tmp", path)};
    f->fd = open(f->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0)
        failed(f, "create");
}

void atomic_write(struct atomic_file *f, const void *data, size_t len)
{
    const char *p = data;

    while (!f->err && len) {
        ssize_t put = write(f->fd, p, len);

        if (put < 0) {
            if (errno != EINTR)
                failed(f, "write");
            continue;
        }
        p += put;
        len -= (size_t)put;
    }
}

void atomic_pwrite(struct atomic_file *f, const void *data, size_t len, size_t offset)
{
    const char *p = data;

    while (!f->err && len) {
        ssize_t put = pwrite(f->fd, p, len, (off_t)offset);

        if (put < 0) {
            if (errno != EINTR)
                failed(f, "write");
            continue;
        }
        p += put;
        offset += (size_t)put;
        len -= (size_t)put;
    }
}

static void release(struct atomic_file *f)
{
    free(f->path);
    free(f->tmp);
    *f = (struct atomic_file){.fd = -1};
}

int atomic_commit(struct atomic_file *f, struct strbuf *why)
{
    int err;

    if (!f->err && fsync(f->fd))
        failed(f, "fsync");
    if (f->fd >= 0 && close(f->fd) && !f->err)
        failed(f, "close");
    if (!f->err && rename(f->tmp, f->path))
        failed(f, "rename");
    if (f->err && f->fd >= 0)
        (void)unlink(f->tmp);
    if (!f->err && file_fsync_dir_of(f->path))
        failed(f, "fsync the directory of");
    if (f->err && why)
        strbuf_addf(why, "cannot %s '%s': %s", f->failed, f->path, strerror(f->err));
    err = f->err;
    release(f);
    errno = err;
    return err ? -1 : 0;
}

void atomic_abandon(struct atomic_file *f)
{
    if (f->fd >= 0) {
        (void)close(f->fd);
        (void)unlink(f->tmp);
    }
    release(f);
}
