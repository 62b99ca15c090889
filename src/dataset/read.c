#include "dataset/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/gate.h"

enum { READ_DEPTH = 32 }; /* stops at links to a parent folder */

void dataset_check_depth(const char *path, int depth)
{
    if (depth > READ_DEPTH)
        die("'%s' is nested %d folders deep: it may contain a link to a parent folder",
            path, depth);
}

static int read_failed(const char *what, struct strbuf *why)
{
    int err = errno;

    strbuf_addf(why, "%s: %s", what, strerror(err));
    return failure_passes(err) ? FAILURE_MACHINE : FAILURE_DATA;
}

static int read_refused(const struct stat *st, int64_t limit, struct strbuf *why)
{
    if (!S_ISREG(st->st_mode))
        strbuf_addstr(why, S_ISDIR(st->st_mode) ? "a folder" : "not a file");
    else if (st->st_size > limit)
        strbuf_addf(why, "%lld bytes, more than the limit of %lld",
                    (long long)st->st_size, (long long)limit);
    else
        return image_gate_enter((size_t)st->st_size, why);
    return FAILURE_DATA;
}

/* Reads the rest of an open file into `out`, after comparing its size with the limit. */
static int read_open_file(int fd, int64_t limit, struct dataset_bytes *out,
                          struct strbuf *why)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return read_failed("cannot be read", why);
    if (read_refused(&st, limit, why) < 0)
        return FAILURE_DATA;
    dataset_bytes_reserve(out, (size_t)st.st_size + 1);
    out->len = 0;
    for (;;) {
        ssize_t got = read(fd, out->data + out->len, out->cap - out->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return read_failed("cannot be read", why);
        out->len += (size_t)got;
        if (got == 0 || out->len == out->cap)
            return 0;
    }
}

int dataset_read_at(int dir, const char *path, int64_t limit, struct dataset_bytes *out,
                    struct strbuf *why)
{
    /* O_NONBLOCK: opening a pipe would wait for a writer */
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

    if (fd < 0)
        return read_failed("cannot be opened", why);
    rc = read_open_file(fd, limit, out, why);
    close(fd);
    return rc;
}

bool dataset_stamp_file(int dir, const char *path, struct strbuf *out)
{
    struct stat st;

    if (fstatat(dir, path, &st, 0) < 0)
        return false;
    strbuf_addf(out, "%s %lld %lld.%09ld\n", path, (long long)st.st_size,
                (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return true;
}

bool dataset_try_again(struct dataset_retry *r, int rc)
{
    struct timespec t = {.tv_sec = (time_t)r->pause};

    if (rc != FAILURE_MACHINE || r->tries++ == DATASET_RETRIES)
        return false;
    t.tv_nsec = (long)((r->pause - (double)t.tv_sec) * 1e9);
    (void)nanosleep(&t, NULL);
    r->pause *= 4;
    return true;
}
