#include "tests/make_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "image/encode.h"
#include "tests/image/make_jpeg.h"

char *make_temp_dir(void)
{
    char *dir = xstrdup("/tmp/trainc-test-XXXXXX");

    if (!mkdtemp(dir))
        BUG("cannot make a temporary directory");
    return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void remove_temp_dir(char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

void make_file(const char *dir, const char *path, const void *data, size_t len)
{
    char *full = path_join(dir, path), *parent = path_dirname(full);
    FILE *f;

    if (dir_make_all(parent) < 0 || !(f = fopen(full, "wb")) ||
        fwrite(data, 1, len, f) != len || fclose(f) != 0)
        BUG("cannot write '%s'", full);
    free(parent);
    free(full);
}

void remove_file(const char *dir, const char *path)
{
    char *full = path_join(dir, path);

    if (unlink(full) < 0)
        BUG("cannot remove '%s'", full);
    free(full);
}

void make_old(const char *dir, const char *path, int seconds)
{
    char *full = path_join(dir, path);
    struct timespec t[2];

    clock_gettime(CLOCK_REALTIME, &t[0]);
    t[0].tv_sec -= seconds;
    t[0].tv_nsec = 123456789;
    t[1] = t[0];
    if (utimensat(AT_FDCWD, full, t, 0) < 0)
        BUG("cannot set the time of '%s'", full);
    free(full);
}

void make_image(const char *dir, const char *path, int w, int h, int seed)
{
    struct make_jpeg m = {.w = w, .h = h, .seed = seed};
    size_t len;
    unsigned char *data = make_jpeg(&m, &len);

    make_file(dir, path, data, len);
    free(data);
}

void make_label(const char *dir, const char *path, int w, int h, const uint8_t *value)
{
    size_t len;
    unsigned char *data = png_encode(
        &(struct png_bitmap){.pixel = value, .w = w, .h = h, .channels = 1}, &len);

    make_file(dir, path, data, len);
    free(data);
}
