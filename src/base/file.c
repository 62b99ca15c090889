#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

static char *read_all(int fd, size_t max, size_t *len)
{
    size_t cap = 1 << 16, n = 0;
    char *buf = xmalloc(cap);
    struct stat st;

    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (size_t)st.st_size <= max) {
        cap = (size_t)st.st_size + 2;
        buf = xrealloc(buf, cap);
    }
    for (;;) {
        ssize_t got = read(fd, buf + n, cap - n - 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(buf);
            return NULL;
        }
        if (!got)
            break;
        n += (size_t)got;
        if (n > max) {
            free(buf);
            errno = EFBIG;
            return NULL;
        }
        if (cap - n < 2) {
            cap *= 2;
            buf = xrealloc(buf, cap);
        }
    }
    buf[n] = '\0';
    *len = n;
    return buf;
}

int file_write(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t put = write(fd, p, len);

        if (put < 0) {
            if (errno != EINTR)
                return -1;
            continue;
        }
        p += put;
        len -= (size_t)put;
    }
    return 0;
}

/* A FIFO without a writer does not block the open. */
static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode))
        return fd;
    (void)close(fd);
    errno = S_ISDIR(st.st_mode) ? EISDIR : FILE_NOT_REGULAR;
    return -1;
}

const char *file_strerror(int error)
{
    return error == FILE_NOT_REGULAR ? "it is not a regular file"
           : error == EFBIG          ? "it is too large"
                                     : strerror(error);
}

FILE *file_open(const char *path)
{
    int fd = open_regular(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

    if (fd >= 0 && !f)
        (void)close(fd);
    return f;
}

static char *read_and_close(int fd, size_t max, size_t *len)
{
    size_t ignored;
    char *buf;

    if (fd < 0)
        return NULL;
    buf = read_all(fd, max, len ? len : &ignored);
    if (close(fd) && buf) {
        free(buf);
        return NULL;
    }
    return buf;
}

char *file_read(const char *path, size_t *len)
{
    return file_read_limit(path, FILE_MAX, len);
}

char *file_read_limit(const char *path, size_t max, size_t *len)
{
    return read_and_close(open_regular(path), max, len);
}

char *file_read_stream(const char *path, size_t max, size_t *len)
{
    return read_and_close(open(path, O_RDONLY | O_CLOEXEC), max, len);
}

const char *file_not_writable(const char *path)
{
    const char *why = NULL;
    struct stat st;
    char *dir;

    if (!strcmp(path, "-"))
        return NULL;
    if (!*path)
        return "the name is empty";
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return "that is a folder";
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) /* a device or a pipe */
        return access(path, W_OK) ? strerror(errno) : NULL;
    dir = path_dirname(path);
    if (access(dir, W_OK))
        why = strerror(errno);
    else if (!file_is_dir(dir))
        why = strerror(ENOTDIR);
    free(dir);
    return why;
}

bool file_exists(const char *path)
{
    struct stat st;

    return !stat(path, &st);
}

bool file_same(const char *a, const char *b)
{
    struct stat x, y;

    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool file_is_dir(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int file_fsync_dir_of(const char *path)
{
    char *dir = path_dirname(path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    free(dir);
    if (fd < 0)
        return -1;
    rc = fsync(fd);
    (void)close(fd);
    return rc;
}

int dir_make_all(const char *path)
{
    char *p = xstrdup(path);
    int rc = 0;

    for (char *s = p + 1; *p && !rc; s++) {
        char c = *s;

        if (c && c != '/')
            continue;
        *s = '\0';
        if (!mkdir(p, 0777))
            (void)file_fsync_dir_of(p); /* its future contents survive a power loss */
        else if (errno != EEXIST)
            rc = -1;
        *s = c;
        if (!c)
            break;
    }
    if (!rc && *p && !file_is_dir(p)) {
        errno = ENOTDIR;
        rc = -1;
    }
    free(p);
    return rc;
}

char *path_join(const char *dir, const char *name)
{
    size_t len = strlen(dir);

    if (!len || *name == '/')
        return xstrdup(name);
    return xasprintf(dir[len - 1] == '/' ? "%s%s" : "%s/%s", dir, name);
}

char *path_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

char *path_home(const char *path)
{
    const char *home = getenv("HOME");

    if (*path != '~' || (path[1] && path[1] != '/') || !home || !*home)
        return xstrdup(path);
    return xasprintf("%s%s", home, path + 1);
}

const char *path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *path_extension(const char *path)
{
    const char *base = path_basename(path), *dot = strrchr(base, '.');

    return dot && dot != base ? dot : "";
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **dir_list(const char *path, int *n)
{
    DIR *d = opendir(path);
    char **names = NULL;
    int cap = 0, error;

    *n = d ? 0 : -1;
    for (struct dirent *e; d && (errno = 0, e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        GROW(names, *n, cap);
        names[(*n)++] = xstrdup(e->d_name);
    }
    error = errno;
    if (d)
        (void)closedir(d);
    if (d && error) { /* half a list would be taken for the whole */
        dir_list_free(names, *n);
        names = NULL;
        *n = -1;
    }
    errno = error;
    if (*n > 0)
        qsort(names, (size_t)*n, sizeof(*names), by_bytes);
    return names;
}

void dir_list_free(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

int file_flock(int fd, double seconds)
{
    double until = clock_now() + seconds;

    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_now() >= until)
            return -1;
        (void)usleep(10000);
    }
    return 0;
}

int file_copy(const char *src, const char *dst)
{
    enum { PIECE = 1 << 20 };
    int in = open(src, O_RDONLY | O_CLOEXEC), error = 0;
    int out = in < 0 ? -1 : open(dst, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    char *piece = xmalloc(PIECE);
    ssize_t n = out < 0 ? -1 : 1;

    while (n > 0 && (n = read(in, piece, PIECE)) > 0)
        if (file_write(out, piece, (size_t)n))
            n = -1;
    if (!n && fsync(out))
        n = -1;
    error = errno;
    free(piece);
    if (in >= 0)
        (void)close(in);
    if (out >= 0 && close(out) && !n)
        n = -1;
    if (n && out >= 0)
        (void)unlink(dst);
    errno = error;
    return n ? -1 : 0;
}
