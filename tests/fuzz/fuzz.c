#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

const char *fuzz_file(const void *data, size_t size)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    fuzz_expect(fd >= 0 && ftruncate(fd, 0) == 0 &&
                    pwrite(fd, data, size, 0) == (ssize_t)size,
                "a file in memory");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

static char folder[] = "/dev/shm/trainc-fuzz.XXXXXX";

static void remove_folder(void)
{
    int n;
    char **name = dir_list(folder, &n);

    for (int i = 0; i < n; i++) {
        char *path = path_join(folder, name[i]);

        (void)unlink(path);
        free(path);
    }
    dir_list_free(name, n);
    (void)rmdir(folder);
}

/* Overwrites the previous file, so that a failing program leaves only one. */
char *fuzz_train(const char *ending, const void *data, size_t size)
{
    static int made;
    char *path;
    int fd;

    if (!made)
        fuzz_expect(mkdtemp(folder) != NULL && atexit(remove_folder) == 0, "a folder");
    made = 1;
    path = xasprintf("%s/train%s", folder, ending);
    (void)unlink(path); /* a mapping of the previous file keeps its bytes */
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_expect(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0,
                "a file");
    return path;
}

enum { SAMPLES = 32, LIMIT = 1 << 20 };

/* Fails if a part is rejected without a reason. */
static void read_part(const struct container *c, void *file, const struct sample *sample,
                      bool label_map)
{
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    unsigned sum = 0;

    if (c->read(file, sample, label_map, LIMIT, &bytes, &why) == 0) {
        fuzz_expect(bytes.len <= LIMIT, "a limit is kept");
        for (size_t i = 0; i < bytes.len; i++)
            sum += bytes.data[i];
    } else {
        fuzz_expect(why.len > 0, "a refusal has a reason");
    }
    fuzz_expect(sum <= 255u << 20, "sums are small");
    strbuf_release(&why);
    dataset_bytes_release(&bytes);
}

static void read_samples(const struct container *c, const char *path, bool label_maps)
{
    struct strbuf why = STRBUF_INIT;
    struct samples s = {.type = c, .label_maps = label_maps};
    void *file = c->open(path, &why);

    fuzz_expect(file || why.len > 0, "what does not open has a reason");
    if (file && c->list(file, &s, &why) < 0)
        fuzz_expect(why.len > 0, "what is not listed has a reason");
    for (int64_t i = 0; file && i < s.base.n && i < SAMPLES; i++) {
        read_part(c, file, &s.sample[i], false);
        if (label_maps && s.sample[i].label_map.len > 0)
            read_part(c, file, &s.sample[i], true);
    }
    if (file)
        c->close(file);
    free(s.hint);
    free(s.sample);
    arena_release(&s.mem);
    strbuf_release(&why);
}

void fuzz_container(const struct container *c, const char *companion, const uint8_t *data,
                    size_t size)
{
    size_t n = companion && size ? strnlen((const char *)data, size - 1) + 1 : 0;
    char *other = n > 1 ? fuzz_train(companion, data, n - 1) : NULL, *path;

    path = fuzz_train(c->ending, data + n, size - n);
    read_samples(c, path, false);
    read_samples(c, path, true);
    if (other)
        (void)unlink(other);
    free(other);
    free(path);
}

void fuzz_expect(int good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "fuzz: not so: %s\n", what);
    abort();
}
