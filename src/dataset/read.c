#include "dataset/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

enum { READ_DEPTH = 32 }; /* a link to a folder above would go on for ever */

void dataset_check_depth(const char *path, int depth)
{
    if (depth > READ_DEPTH)
        die("'%s' lies %d folders deep: a link to a folder above?", path, depth);
}

/* The rest of an open file into out; its size is checked against the limit first. */
static int read_open_file(int fd, int64_t limit, struct dataset_bytes *out,
                          struct strbuf *why)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        strbuf_addstr(why, S_ISDIR(st.st_mode) ? "a folder" : "not a file");
        return -1;
    }
    if (st.st_size > limit) {
        strbuf_addf(why, "%lld bytes, more than the limit of %lld", (long long)st.st_size,
                    (long long)limit);
        return -1;
    }
    if ((size_t)st.st_size + 1 > out->cap) {
        free(out->data);
        out->cap = (size_t)st.st_size + 1;
        out->data = xmalloc(out->cap);
    }
    out->len = 0;
    for (;;) {
        ssize_t got = read(fd, out->data + out->len, out->cap - out->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        out->len += (size_t)got;
        if (got == 0 || out->len == out->cap)
            return 0;
    }
}

int dataset_read_at(int dir, const char *path, int64_t limit, struct dataset_bytes *out,
                    struct strbuf *why)
{
    /* O_NONBLOCK: to open a pipe would be to wait for its writer */
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

    if (fd < 0) {
        strbuf_addf(why, "cannot be opened: %s", strerror(errno));
        return -1;
    }
    rc = read_open_file(fd, limit, out, why);
    if (rc < 0 && why->len == 0)
        strbuf_addf(why, "cannot be read: %s", strerror(errno));
    close(fd);
    return rc;
}
