#include "dataset/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { ALIGN = 16, GROW_BY = 16 << 20 };
#define MAX_BYTES ((uint64_t)1 << 46) /* bytes that can be mapped */

/* Start of the file. An offset per sample follows, then the items. */
struct cache_file_head {
    char magic[8];
    int64_t n;
    uint64_t max_bytes; /* maximum size of the file in bytes */
    _Atomic uint64_t used, size,
        count;                 /* bytes from the start of the file: used by items,
                                        * allocated on disk; count: items */
    _Atomic uint64_t offset[]; /* offset of each sample's item; 0: none */
};

struct cache_file {
    int fd;
    struct cache_file_head *head;
    size_t mapped;
    uint64_t first; /* offset of the first item */
    pthread_mutex_t grow;
};

static const char magic[8] = "trncach1";

static uint64_t first_of(int64_t n)
{
    uint64_t end = sizeof(struct cache_file_head) + (uint64_t)n * sizeof(uint64_t);

    return (end + ALIGN - 1) / ALIGN * ALIGN;
}

/* True if the file is for n samples and its header is consistent. Checked because data
 * sets may be distributed together with such a file. Requires the lock. */
static bool is_sound(int fd, int64_t n, uint64_t *max_bytes)
{
    struct cache_file_head h;
    uint64_t first = first_of(n), used, size;
    struct stat st;

    if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || fstat(fd, &st) < 0 ||
        memcmp(h.magic, magic, sizeof(magic)) != 0 || h.n != n)
        return false;
    *max_bytes = h.max_bytes;
    used = atomic_load(&h.used);
    size = atomic_load(&h.size);
    return h.max_bytes >= first && h.max_bytes <= MAX_BYTES && size >= first &&
           size <= (uint64_t)st.st_size && size <= h.max_bytes && used >= first &&
           used <= h.max_bytes && used % ALIGN == 0 &&
           atomic_load(&h.count) <= (uint64_t)n;
}

static int make(int fd, int64_t n, uint64_t max_bytes)
{
    struct cache_file_head h = {.n = n, .max_bytes = max_bytes};
    uint64_t first = first_of(n);
    int error;

    memcpy(h.magic, magic, sizeof(magic));
    atomic_store(&h.used, first);
    atomic_store(&h.size, first);
    if (ftruncate(fd, 0) < 0)
        return -1;
    error = posix_fallocate(fd, 0, (off_t)first);
    if (error) {
        errno = error;
        return -1;
    }
    return pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) ? 0 : -1;
}

/* Seconds to wait for a lock, which processes hold only briefly. On timeout nothing is
 * cached. */
enum { PATIENCE = 10 };

/* Opens a valid file and releases its lock. Returns -1 on failure. An invalid file is
 * replaced, not overwritten, because other processes may have it mapped. Symbolic links
 * are not followed: they may come with the data. */
static int open_sound(const char *path, int64_t n, bool makes, uint64_t *max_bytes)
{
    int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (makes ? O_CREAT : 0);
    uint64_t asked = *max_bytes;

    for (int tries = 0; tries < 3; tries++) {
        int fd = open(path, flags, 0666);
        struct stat st;
        bool good;

        if (fd < 0 || file_flock(fd, PATIENCE) < 0 || fstat(fd, &st) < 0) {
            if (fd >= 0)
                close(fd);
            return -1;
        }
        *max_bytes = asked;
        good = st.st_nlink > 0 && (st.st_size ? is_sound(fd, n, max_bytes)
                                              : makes && make(fd, n, asked) == 0);
        (void)flock(fd, LOCK_UN);
        if (good)
            return fd;
        close(fd);
        if (!makes)
            errno = EINVAL;
        if (!makes || (st.st_nlink > 0 && unlink(path) < 0))
            return -1;
        if (st.st_nlink > 0 && st.st_size == 0)
            return -1; /* creating it failed */
    }
    errno = EBUSY;
    return -1;
}

struct cache_file *cache_file_open(const char *path, int64_t n, int64_t bytes,
                                   struct strbuf *why)
{
    uint64_t max_bytes = first_of(n) + (uint64_t)bytes;
    int fd = open_sound(path, n, bytes > 0, &max_bytes);
    struct cache_file *f;
    void *p = MAP_FAILED;

    if (fd >= 0)
        p = mmap(NULL, (size_t)max_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        strbuf_addf(why, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    f = xcalloc(1, sizeof(*f));
    f->fd = fd;
    f->head = p;
    f->mapped = (size_t)max_bytes;
    f->first = first_of(n);
    pthread_mutex_init(&f->grow, NULL);
    return f;
}

void cache_file_close(struct cache_file *f)
{
    (void)munmap(f->head, f->mapped);
    close(f->fd);
    pthread_mutex_destroy(&f->grow);
    free(f);
}

/* Extends the file to at least `end` bytes, in steps of GROW_BY. Returns false if the
 * disk is full or the lock is not available. */
static bool grow(struct cache_file *f, uint64_t end)
{
    struct cache_file_head *h = f->head;
    uint64_t size;
    bool good = true;

    pthread_mutex_lock(&f->grow);
    if (file_flock(f->fd, PATIENCE) < 0)
        good = false;
    size = atomic_load(&h->size);
    if (good && size < end) {
        uint64_t stop = end + GROW_BY < f->mapped ? end + GROW_BY : f->mapped;

        good = posix_fallocate(f->fd, (off_t)size, (off_t)(stop - size)) == 0;
        if (good)
            atomic_store(&h->size, stop);
    }
    (void)flock(f->fd, LOCK_UN);
    pthread_mutex_unlock(&f->grow);
    return good;
}

void *cache_file_alloc(struct cache_file *f, size_t size)
{
    struct cache_file_head *h = f->head;
    uint64_t room = (size + ALIGN - 1) / ALIGN * ALIGN, pos;

    if (room < size || room > f->mapped || atomic_load(&h->used) > f->mapped - room)
        return NULL;
    pos = atomic_fetch_add(&h->used, room);
    if (pos < f->first || pos > f->mapped - room || pos % ALIGN) {
        atomic_fetch_sub(&h->used, room);
        return NULL;
    }
    if (pos + room > atomic_load(&h->size) && !grow(f, pos + room))
        return NULL;
    return (char *)h + pos;
}

size_t cache_file_bytes_from(const struct cache_file *f, const void *p)
{
    uint64_t size = atomic_load(&f->head->size);
    uint64_t pos = (uint64_t)((const char *)p - (const char *)f->head);

    size = size < f->mapped ? size : f->mapped;
    return pos < size ? (size_t)(size - pos) : 0;
}

void *cache_file_get(const struct cache_file *f, int64_t sample, size_t size)
{
    uint64_t pos = atomic_load_explicit(&f->head->offset[sample], memory_order_acquire);
    char *p;

    if (pos < f->first || pos >= f->mapped || pos % ALIGN)
        return NULL;
    p = (char *)f->head + pos;
    return cache_file_bytes_from(f, p) >= size ? p : NULL;
}

bool cache_file_publish(struct cache_file *f, int64_t sample, const void *old,
                        const void *p)
{
    uint64_t was = old ? (uint64_t)((const char *)old - (const char *)f->head) : 0;
    uint64_t pos = (uint64_t)((const char *)p - (const char *)f->head);
    uint64_t now = atomic_load(&f->head->offset[sample]);

    /* An offset outside the file counts as empty. */
    if (!old && now && !cache_file_get(f, sample, 1))
        was = now;
    if (!atomic_compare_exchange_strong(&f->head->offset[sample], &was, pos))
        return false;
    if (was == 0)
        atomic_fetch_add(&f->head->count, 1);
    return true;
}

int64_t cache_file_used(const struct cache_file *f)
{
    return (int64_t)(atomic_load(&f->head->used) - f->first);
}

int64_t cache_file_limit(const struct cache_file *f)
{
    return (int64_t)(f->mapped - f->first);
}

int64_t cache_file_count(const struct cache_file *f)
{
    return (int64_t)atomic_load(&f->head->count);
}
