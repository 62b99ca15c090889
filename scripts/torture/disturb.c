/*
 * Interposes on the C library (LD_PRELOAD) for scripts/torture.sh. Affects only files
 * below $TORTURE_DIR and processes named trainc.
 *
 *   TORTURE_LOG=FILE    appends all file operations: struct record, two paths, data
 *   TORTURE_RATE=X      share of calls that fail, from 0 to 1
 *   TORTURE_SEED=N      seed of the choice
 *   TORTURE_FULL=N      after an ENOSPC the next N writing calls fail, too
 *   TORTURE_SKIP=WORD   plants a bug: one in four calls of "fsync" or "rename" does nothing
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct record {
    char op; /* Create Truncate Write Size Fsync Dirsync Rename Link Unlink Mkdir */
    char unused[3];
    uint16_t first, second; /* lengths of the paths that follow */
    uint64_t inode, offset, length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char dir[PATH_MAX];
static int log_fd = -1;
static double rate;
static uint64_t seed, calls;
static long full, full_left;
static const char *skip;

__attribute__((constructor)) static void begin(void)
{
    const char *d = getenv("TORTURE_DIR"), *l = getenv("TORTURE_LOG");
    char self[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *name = n > 0 && strrchr(self, '/') ? strrchr(self, '/') + 1 : "";

    if (!d || strncmp(name, "trainc", 6) != 0)
        return;
    (void)snprintf(dir, sizeof(dir), "%s", d);
    if (l)
        log_fd = REAL(open)(l, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    rate = getenv("TORTURE_RATE") ? strtod(getenv("TORTURE_RATE"), NULL) : 0;
    seed = getenv("TORTURE_SEED") ? strtoull(getenv("TORTURE_SEED"), NULL, 10) : 0;
    full = getenv("TORTURE_FULL") ? strtol(getenv("TORTURE_FULL"), NULL, 10) : 0;
    skip = getenv("TORTURE_SKIP");
}

/* splitmix64 */
static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Stores the absolute path in `dst`. Returns false if it is not below `dir`. */
static bool is_ours(const char *path, char dst[PATH_MAX])
{
    char here[PATH_MAX] = "";

    if (!*dir || !path)
        return false;
    if (*path != '/' && !getcwd(here, sizeof(here)))
        return false;
    if (snprintf(dst, PATH_MAX, "%s%s%s", here, *here ? "/" : "", path) >= PATH_MAX)
        return false;
    return !strncmp(dst, dir, strlen(dir));
}

static bool is_our_file(int fd, char dst[PATH_MAX], struct stat *st)
{
    char link[64];
    ssize_t n;

    if (!*dir)
        return false;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, dst, PATH_MAX - 1);
    if (n <= 0)
        return false;
    dst[n] = '\0';
    return !strncmp(dst, dir, strlen(dir)) && !fstat(fd, st) &&
           (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode));
}

/* Returns the error of this call, or 0. */
static int fault(const int *errors, int n, bool writes)
{
    uint64_t r;

    if (!(rate > 0))
        return 0;
    r = mixed(seed + __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED));
    if (writes && full_left > 0) {
        full_left--;
        return ENOSPC;
    }
    if ((double)(r >> 11) * 0x1p-53 >= rate)
        return 0;
    r = mixed(r) % (uint64_t)n;
    if (errors[r] == ENOSPC)
        full_left = full;
    return errors[r];
}

#define FAULT(writes, ...)                                                               \
    fault((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int),  \
          writes)
enum { SHORT = -1 };

static bool is_skipped(const char *call)
{
    return skip && !strcmp(skip, call) &&
           mixed(__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED)) % 4 == 0;
}

static void put(char op, uint64_t inode, uint64_t offset, uint64_t length, const char *a,
                const char *b, const void *data)
{
    struct record r = {.op = op, .inode = inode, .offset = offset, .length = length};
    struct iovec part[] = {{&r, sizeof(r)},
                           {(void *)(uintptr_t)a, 0},
                           {(void *)(uintptr_t)b, 0},
                           {(void *)(uintptr_t)data, 0}};

    if (log_fd < 0)
        return;
    part[1].iov_len = r.first = (uint16_t)(a ? strlen(a) : 0);
    part[2].iov_len = r.second = (uint16_t)(b ? strlen(b) : 0);
    part[3].iov_len = data ? length : 0;
    if (writev(log_fd, part, 4) < (ssize_t)sizeof(r))
        abort();
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* ---- the calls ---- */

static int opened(int (*real)(const char *, int, ...), const char *path, int flags,
                  mode_t mode)
{
    char cursor[PATH_MAX];
    bool ours = is_ours(path, cursor), creates = flags & (O_CREAT | O_TRUNC);
    struct stat st;
    int error = ours ? creates ? FAULT(true, EMFILE, EIO, ENOSPC, EINTR)
                               : FAULT(false, EMFILE, EIO, EINTR)
                     : 0;
    bool was;
    int fd;

    if (error)
        return fail(error);
    if (!ours || log_fd < 0 || !creates)
        return real(path, flags, mode);
    (void)pthread_mutex_lock(&lock);
    was = !lstat(cursor, &st);
    fd = real(path, flags, mode);
    error = errno;
    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
        if (!was)
            put('C', st.st_ino, 0, 0, cursor, NULL, NULL);
        else if (flags & O_TRUNC)
            put('T', st.st_ino, 0, 0, cursor, NULL, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return opened(REAL(open), path, flags, mode);
}

static ssize_t written(int fd, const void *data, size_t len, off_t offset, bool at_offset)
{
    char cursor[PATH_MAX];
    struct stat st;
    bool ours = is_our_file(fd, cursor, &st);
    int error = ours ? FAULT(true, EIO, ENOSPC, EINTR, SHORT, SHORT) : 0;
    ssize_t n;

    if (error > 0)
        return fail(error);
    if (error == SHORT && len > 1)
        len = 1 + mixed(seed ^ calls) % (len - 1);
    if (!ours || log_fd < 0)
        return at_offset ? REAL(pwrite)(fd, data, len, offset)
                         : REAL(write)(fd, data, len);
    (void)pthread_mutex_lock(&lock);
    if (!at_offset && fcntl(fd, F_GETFL) & O_APPEND)
        offset = fstat(fd, &st) ? 0 : st.st_size;
    else if (!at_offset)
        offset = lseek(fd, 0, SEEK_CUR);
    n = at_offset ? REAL(pwrite)(fd, data, len, offset) : REAL(write)(fd, data, len);
    error = errno;
    if (n > 0)
        put('W', st.st_ino, (uint64_t)offset, (uint64_t)n, NULL, NULL, data);
    (void)pthread_mutex_unlock(&lock);
    errno = error;
    return n;
}

ssize_t write(int fd, const void *data, size_t len)
{
    return written(fd, data, len, 0, false);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    return written(fd, data, len, offset, true);
}

static size_t readable(int fd, size_t len, int *error)
{
    char cursor[PATH_MAX];
    struct stat st;

    *error = len > 1 && is_our_file(fd, cursor, &st)
                 ? FAULT(false, EIO, EINTR, SHORT, SHORT)
                 : 0;
    return *error == SHORT ? 1 + mixed(seed ^ calls) % (len - 1) : len;
}

ssize_t read(int fd, void *data, size_t len)
{
    int error;
    size_t max = readable(fd, len, &error);

    return error > 0 ? fail(error) : REAL(read)(fd, data, max);
}

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
    int error;
    size_t max = readable(fd, len, &error);

    return error > 0 ? fail(error) : REAL(pread)(fd, data, max, offset);
}

int ftruncate(int fd, off_t size)
{
    char cursor[PATH_MAX];
    struct stat st;
    bool ours = is_our_file(fd, cursor, &st);
    int error = ours ? FAULT(true, EIO) : 0, rc;

    if (error)
        return fail(error);
    (void)pthread_mutex_lock(&lock);
    rc = REAL(ftruncate)(fd, size);
    if (!rc && ours)
        put('S', st.st_ino, (uint64_t)size, 0, NULL, NULL, NULL);
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

int fsync(int fd)
{
    char cursor[PATH_MAX];
    struct stat st;
    bool ours = is_our_file(fd, cursor, &st);
    int error = ours ? FAULT(true, EIO, ENOSPC) : 0;

    if (error)
        return fail(error);
    if (ours && is_skipped("fsync"))
        return 0;
    (void)pthread_mutex_lock(&lock);
    if (ours)
        put(S_ISDIR(st.st_mode) ? 'D' : 'F', st.st_ino, 0, 0, cursor, NULL, NULL);
    (void)pthread_mutex_unlock(&lock);
    return ours ? 0 : REAL(fsync)(fd); /* skips waiting for the disk */
}

int close(int fd)
{
    char cursor[PATH_MAX];
    struct stat st;
    int error =
        is_our_file(fd, cursor, &st) && S_ISREG(st.st_mode) ? FAULT(false, EIO) : 0;
    int rc = REAL(close)(fd);

    return error ? fail(error) : rc;
}

static int moved(int (*real)(const char *, const char *), char op, const char *src,
                 const char *dst)
{
    char a[PATH_MAX], b[PATH_MAX];
    bool ours = is_ours(dst, b) && is_ours(src, a);
    int error = ours ? FAULT(true, EIO, ENOSPC) : 0, rc;
    struct stat st = {0};

    if (error)
        return fail(error);
    if (ours && op == 'R' && is_skipped("rename"))
        return 0;
    (void)pthread_mutex_lock(&lock);
    if (ours)
        (void)lstat(a, &st);
    rc = real(src, dst);
    error = errno;
    if (!rc && ours)
        put(op, st.st_ino, 0, 0, a, b, NULL);
    (void)pthread_mutex_unlock(&lock);
    errno = error;
    return rc;
}

int rename(const char *src, const char *dst)
{
    return moved(REAL(rename), 'R', src, dst);
}

int link(const char *src, const char *dst)
{
    return moved(REAL(link), 'L', src, dst);
}

int unlink(const char *path)
{
    char cursor[PATH_MAX];
    bool ours = is_ours(path, cursor);
    int error = ours ? FAULT(false, EIO) : 0, rc;

    if (error)
        return fail(error);
    (void)pthread_mutex_lock(&lock);
    rc = REAL(unlink)(path);
    error = errno;
    if (!rc && ours)
        put('U', 0, 0, 0, cursor, NULL, NULL);
    (void)pthread_mutex_unlock(&lock);
    errno = error;
    return rc;
}

int mkdir(const char *path, mode_t mode)
{
    char cursor[PATH_MAX];
    bool ours = is_ours(path, cursor);
    int error = ours ? FAULT(true, EIO, ENOSPC) : 0, rc;

    if (error)
        return fail(error);
    (void)pthread_mutex_lock(&lock);
    rc = REAL(mkdir)(path, mode);
    error = errno;
    if (!rc && ours)
        put('M', 0, 0, 0, cursor, NULL, NULL);
    (void)pthread_mutex_unlock(&lock);
    errno = error;
    return rc;
}

DIR *opendir(const char *path)
{
    char cursor[PATH_MAX];
    int error = is_ours(path, cursor) ? FAULT(false, EMFILE, EIO) : 0;

    errno = error;
    return error ? NULL : REAL(opendir)(path);
}
