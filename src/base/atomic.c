#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* True for files such as /dev/stdout that others have open, too: they are not replaced. */
static bool is_standard(const char *path)
{
    return !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/dev/std", 8) ||
           !strncmp(path, "/proc/", 6);
}

static bool is_no_file(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return false;
    return is_standard(path) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Returns the target of a link if it exists, else the path (a heap string). */
static char *follow_links(const char *path)
{
    struct stat st;
    char *dst = !lstat(path, &st) && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;

    return dst ? dst : xstrdup(path);
}

static void find_names(const char *path, const char *ending, char **dst, char **tmp)
{
    bool as_it_is = is_no_file(path);

    *dst = as_it_is ? xstrdup(path) : follow_links(path);
    *tmp = as_it_is ? NULL : xasprintf("%s%s", *dst, ending);
}

void atomic_names(const char *path, char **dst, char **tmp)
{
    find_names(path, ATOMIC_ENDING, dst, tmp);
}

int atomic_make(const char *path)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

    (void)unlink(path);
    return open(path, flags, 0666);
}

static void open_as(struct atomic_file *f, const char *path, const char *ending)
{
    *f = (struct atomic_file){0};
    find_names(path, ending, &f->path, &f->tmp);
    f->as_it_is = !f->tmp;
    if (f->as_it_is)
        f->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    else
        f->fd = atomic_make(f->tmp);
    if (f->fd < 0)
        failed(f, "create");
}

void atomic_open(struct atomic_file *f, const char *path)
{
    open_as(f, path, ATOMIC_ENDING);
}

void atomic_write(struct atomic_file *f, const void *data, size_t len)
{
    if (!f->err && file_write(f->fd, data, len))
        failed(f, "write");
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
    bool file = !f->as_it_is;
    int err;

    if (!f->err && file && fsync(f->fd))
        failed(f, "fsync");
    if (f->fd >= 0 && close(f->fd) && !f->err)
        failed(f, "close");
    if (!f->err && file && rename(f->tmp, f->path))
        failed(f, "rename");
    if (f->err && file && f->fd >= 0)
        (void)unlink(f->tmp);
    if (!f->err && file && file_fsync_dir_of(f->path))
        failed(f, "fsync the directory of");
    if (f->err && why)
        strbuf_addf(why, "cannot %s '%s': %s", f->failed, f->path, strerror(f->err));
    err = f->err;
    release(f);
    errno = err;
    return err ? -1 : 0;
}

int atomic_write_file(const char *path, const void *data, size_t len)
{
    struct atomic_file f;

    atomic_open(&f, path);
    atomic_write(&f, data, len);
    return atomic_commit(&f, NULL);
}

int atomic_write_shared(const char *path, const void *data, size_t len)
{
    uint64_t random;
    struct atomic_file f;
    char *ending;
    int rc, err;

    if (getentropy(&random, sizeof(random)))
        return -1;
    ending = xasprintf(".%016" PRIx64 ATOMIC_ENDING, random);
    open_as(&f, path, ending);
    atomic_write(&f, data, len);
    rc = atomic_commit(&f, NULL);
    err = errno;
    free(ending);
    errno = err;
    return rc;
}

static int kept = -1; /* the standard output if stdout has been redirected */

int atomic_keep_out(const char *path)
{
    if (!path || strcmp(path, "-") != 0 || kept >= 0)
        return 0;
    fflush(stdout);
    kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -1 : 0;
}

int atomic_write_out(const char *path, const void *data, size_t len)
{
    if (strcmp(path, "-") != 0)
        return atomic_write_file(path, data, len);
    if (kept >= 0)
        return file_write(kept, data, len) ? -1 : 0;
    return fwrite(data, 1, len, stdout) == len && !fflush(stdout) ? 0 : -1;
}
