#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/failure.h"

static _Thread_local long machine_failures;

long input_machine_failures(void)
{
    return machine_failures;
}

int input_refuse(const struct input *in, struct strbuf *why, const char *fmt, ...)
{
    char reason[1024];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    strbuf_addf(why, "'%s': %s", in->path, reason);
    return -1;
}

int input_open(struct input *in, const char *path, struct strbuf *why)
{
    struct stat st;

    *in = (struct input){.path = xstrdup(path)};
    in->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* opening a pipe would
                                                             * block */
    if (in->fd < 0 || fstat(in->fd, &st)) {
        machine_failures += failure_passes(errno);
        return input_refuse(in, why, "cannot open: %s", strerror(errno));
    }
    if (!S_ISREG(st.st_mode))
        return input_refuse(in, why, "not a file");
    in->size = (uint64_t)st.st_size;
    return 0;
}

void input_close(struct input *in)
{
    if (in->path && in->fd >= 0)
        (void)close(in->fd);
    free(in->path);
    *in = (struct input){.fd = -1};
}

int input_read(const struct input *in, void *data, uint64_t len, uint64_t offset,
               struct strbuf *why)
{
    char *p = data;

    while (len) {
        size_t ask = len < (64u << 20) ? (size_t)len : 64u << 20;
        ssize_t got = pread(in->fd, p, ask, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            machine_failures += failure_passes(errno);
            return input_refuse(in, why, "cannot read: %s", strerror(errno));
        }
        if (!got)
            return input_refuse(
                in, why, "the file ends at byte %" PRIu64 ", in the middle", offset);
        p += got;
        offset += (uint64_t)got;
        len -= (uint64_t)got;
    }
    return 0;
}
