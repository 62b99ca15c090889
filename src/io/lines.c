#include "io/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

/* Rewrites the file atomically if it has lines to drop. */
static void drop_lines(const char *path, bool (*keep)(const char *line, void *arg),
                       void *arg)
{
    struct strbuf kept = STRBUF_INIT;
    size_t len = 0;
    char *text = file_read(path, &len);

    if (!text && errno != ENOENT)
        die("cannot read '%s': %s", path, file_strerror(errno));
    for (char *line = text, *end; keep && text && (end = strchr(line, '\n'));
         line = end + 1) {
        *end = '\0';
        if (keep(line, arg))
            strbuf_addf(&kept, "%s\n", line);
    }
    if (kept.len != len && atomic_write_file(path, kept.buf, kept.len))
        die("cannot write '%s': %s", path, strerror(errno));
    free(text);
    strbuf_release(&kept);
}

void lines_open(struct lines *l, const char *path,
                bool (*keep)(const char *line, void *arg), void *arg)
{
    drop_lines(path, keep, arg);
    l->path = xstrdup(path);
    l->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (l->fd < 0)
        die("cannot open '%s': %s", path, strerror(errno));
}

void lines_add(struct lines *l, struct strbuf *line)
{
    struct stat st;

    strbuf_addch(line, '\n');
    if (fstat(l->fd, &st))
        st.st_size = -1;
    if (file_write(l->fd, line->buf, line->len)) {
        if (!l->lost++)
            log_warning("cannot write '%s': %s; the run continues, and lines are missing "
                        "there",
                        l->path, strerror(errno));
        if (st.st_size >= 0) /* remove the incomplete line */
            (void)!ftruncate(l->fd, st.st_size);
    }
    strbuf_reset(line);
}

void lines_close(struct lines *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    free(l->path);
    *l = (struct lines){.fd = -1};
}
