#include "tests/dataset/golden_containers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/label.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { W = 6, H = 5 };

const int32_t golden_label[GOLDEN_N] = {1, 0, 2, 2, 1};

void golden_copy_file(const char *src, const char *dir, const char *name)
{
    size_t len;
    char *data = file_read(src, &len);

    if (!data)
        fail_msg("cannot read %s", src);
    make_file(dir, name, data, len);
    free(data);
}

static void copy_folder(const char *src, const char *dir, const char *below)
{
    int n;
    char **name = dir_list(src, &n);

    for (int i = 0; i < n; i++) {
        char *path = path_join(src, name[i]), *dst = xasprintf("%s%s", below, name[i]);
        char *inner = xasprintf("%s/", dst);

        if (file_is_dir(path))
            copy_folder(path, dir, inner);
        else
            golden_copy_file(path, dir, dst);
        free(path);
        free(dst);
        free(inner);
    }
    dir_list_free(name, n);
}

char *golden_copy(const char *folder)
{
    char *dir = make_temp_dir(), *src = path_join(GOLDEN, folder);

    copy_folder(src, dir, "");
    free(src);
    return dir;
}

static void read_pixels(const void *data, size_t len, uint8_t rgb[H * W * 3])
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int w, h;

    if (image_decoder_open(d, data, len, &w, &h, &why) < 0 ||
        image_decoder_read(d, NULL, &img, &why) < 0)
        fail_msg("%s", why.buf);
    assert_int_equal(w, W);
    assert_int_equal(h, H);
    for (int y = 0; y < H; y++)
        memcpy(rgb + (size_t)y * W * 3, img.pixel + (size_t)y * img.stride, W * 3);
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
}

static char *golden_file(int i, const char *ending, size_t *len)
{
    char *path = xasprintf("%s/files/%d%s.png", GOLDEN, i, ending);
    char *data = file_read(path, len);

    assert_non_null(data);
    free(path);
    return data;
}

void golden_expect_image(const struct dataset *d, int i)
{
    golden_expect_image_of(d, i, i);
}

/* Decodes sample i and a golden file. */
static void read_both(const struct dataset *d, int i, int file, uint8_t got[H * W * 3],
                      uint8_t want[H * W * 3])
{
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = golden_file(file, "", &len);

    if (dataset_read(d, i, GOLDEN_LIMIT, &bytes, &why) < 0)
        fail_msg("sample %d: %s", i, why.buf);
    read_pixels(bytes.data, bytes.len, got);
    read_pixels(data, len, want);
    dataset_bytes_release(&bytes);
    free(data);
}

void golden_expect_image_of(const struct dataset *d, int i, int file)
{
    uint8_t got[H * W * 3], want[H * W * 3];

    read_both(d, i, file, got, want);
    assert_memory_equal(got, want, sizeof(want));
}

void golden_expect_gray(const struct dataset *d, int i)
{
    uint8_t got[H * W * 3], want[H * W * 3];

    read_both(d, i, i, got, want);
    for (int k = 0; k < H * W * 3; k++)
        assert_int_equal(got[k], want[k / 3 * 3]);
}

void golden_expect_label_map(const struct dataset *d, int i)
{
    struct image_limits limits = image_limits_or_default(NULL);
    struct label_reader got = {0}, want = {0};
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = golden_file(i, "_map", &len);

    if (dataset_label_map(d, i, &limits, &bytes, &got, &why) < 0 ||
        label_read(&want, data, len, &limits, &why) < 0)
        fail_msg("sample %d: %s", i, why.buf);
    assert_int_equal(got.w, W);
    assert_int_equal(got.h, H);
    assert_memory_equal(got.pixel, want.pixel, (size_t)W * H);
    dataset_bytes_release(&bytes);
    label_reader_release(&got);
    label_reader_release(&want);
    free(data);
}

void golden_write_at(const char *dir, const char *name, int64_t pos, const char *text)
{
    char *path = path_join(dir, name);
    int fd = open(path, O_RDWR), n = (int)strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, (size_t)n, pos), n);
    close(fd);
    free(path);
}
