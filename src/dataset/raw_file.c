#include "dataset/raw_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/failure.h"

/* Limit of the search for a record head, and the size and overlap of its blocks (a head
 * may cross the border of two blocks). */
enum { CHECK_MAX = 16 << 20, CHECK_BLOCK = 1 << 16, CHECK_OVERLAP = 16 };

void *raw_file_open(const char *path, struct strbuf *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct raw_file *f;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        strbuf_addstr(why, fd >= 0 && !S_ISREG(st.st_mode) ? "no file" : strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    f = xcalloc(1, sizeof(*f));
    f->fd = fd;
    f->path = xstrdup(path);
    f->size = (uint64_t)st.st_size;
    return f;
}

void raw_file_close(void *file)
{
    struct raw_file *f = file;

    close(f->fd);
    free(f->path);
    free(f);
}

int raw_file_get(const struct raw_file *f, uint64_t offset, void *dst, size_t len,
                 struct strbuf *why)
{
    uint8_t *p = dst;

    if (!checked_within(offset, len, f->size)) {
        strbuf_addf(why,
                    "truncated: the file has %llu bytes, but the sample needs %zu bytes "
                    "from %llu",
                    (unsigned long long)f->size, len, (unsigned long long)offset);
        return -1;
    }
    while (len > 0) {
        ssize_t got = pread(f->fd, p, len, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            int err = got ? errno : 0;

            strbuf_addf(why, "cannot be read: %s", got ? strerror(err) : "it is cut off");
            return failure_passes(err) ? FAILURE_MACHINE : FAILURE_DATA;
        }
        p += got;
        offset += (uint64_t)got;
        len -= (size_t)got;
    }
    return 0;
}

bool raw_file_gzipped(const struct raw_file *f, struct strbuf *why)
{
    static const uint8_t gzip[] = {0x1f, 0x8b, 8};
    struct strbuf unused = STRBUF_INIT;
    uint8_t head[sizeof(gzip)];
    bool is = raw_file_get(f, 0, head, sizeof(head), &unused) == 0 &&
              memcmp(head, gzip, sizeof(gzip)) == 0;

    strbuf_release(&unused);
    if (!is)
        return false;
    strbuf_reset(why);
    strbuf_addstr(
        why,
        "it is gzip-compressed, which does not allow random access: decompress it first");
    return true;
}

/* Sets *found if there is a head in the `n` bytes at `offset`, which are read to p. Returns a
 * failure and a reason. */
static int look_for_head(const struct raw_file *f, const struct raw_head *h,
                         uint64_t offset, uint8_t *p, size_t n, bool *found,
                         struct strbuf *why)
{
    int rc = raw_file_get(f, offset, p, n, why);

    for (size_t i = 0; rc == 0 && !*found && i + h->len <= n; i += h->step)
        *found = h->is(p + i);
    return rc;
}

int raw_file_check(const struct raw_file *f, const struct raw_head *h, struct strbuf *why)
{
    uint64_t end = f->size < CHECK_MAX ? f->size : CHECK_MAX, offset = 0;
    uint8_t *p = xmalloc(CHECK_BLOCK);
    bool found = f->size == 0;
    int rc = 0;

    if (h->len <= end)
        rc = look_for_head(f, h, 0, p, h->len, &found, why);
    for (; rc == 0 && !found && offset < end; offset += CHECK_BLOCK - CHECK_OVERLAP) {
        size_t n = end - offset < CHECK_BLOCK ? (size_t)(end - offset) : CHECK_BLOCK;

        rc = look_for_head(f, h, offset, p, n, &found, why);
    }
    free(p);
    if (rc < 0 || found)
        return rc;
    if (!raw_file_gzipped(f, why))
        strbuf_addf(why, "it is not a %s file: it has no valid record", h->kind);
    return FAILURE_DATA;
}

int raw_file_read(const struct raw_file *f, uint64_t offset, uint64_t len, int64_t limit,
                  struct dataset_bytes *out, struct strbuf *why)
{
    if (len > (uint64_t)limit) {
        strbuf_addf(why, "%llu bytes, more than the limit of %lld",
                    (unsigned long long)len, (long long)limit);
        return -1;
    }
    if (!checked_within(offset, len, f->size)) /* before memory is allocated */
        return raw_file_get(f, offset, NULL, (size_t)len, why);
    dataset_bytes_reserve(out, (size_t)len);
    out->len = (size_t)len;
    return raw_file_get(f, offset, out->data, (size_t)len, why);
}
