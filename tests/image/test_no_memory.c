/*
 * Decoding when an allocation of trainc or a library fails: the program ends, or it is a
 * failure of the machine, but never a damaged file. This file's malloc() replaces the C
 * library's to refuse memory.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/file.h"
#include "image/label.h"
#include "image/transformer.h"
#include "tests/child.h"
#include "tests/test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { REFUSES = 0 }; /* the sanitizer defines malloc */
static int asked, refused, leaves;
#else
enum { REFUSES = 1 };
enum { LARGE = 512 };      /* smaller requests succeed: messages need them */
static int asked, refused; /* requests so far; the first that fails, 0: none */
static int leaves;         /* successful requests change errno, as glibc's arenas do */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static int refuse(size_t size)
{
    if (leaves)
        errno = ENOMEM;
    if (!refused || size < LARGE || ++asked < refused)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return refuse(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return refuse(n * size) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return refuse(size) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return refuse(size) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **dst, size_t align, size_t size)
{
    *dst = refuse(size) ? NULL : __libc_memalign(align, size);
    return *dst ? 0 : ENOMEM;
}
#endif

#define FOLDER "tests/golden/image_decode/"

enum { SIDE = 16, REQUESTS = 1000 }; /* REQUESTS: more than any file needs */

struct decoded {
    const char *path;
    bool label_map;
    int fails; /* first request that fails, with all later ones */
};

/* Reports how it ended. */
static void decode(void *arg)
{
    const struct decoded *o = arg;
    struct label_reader label = {0};
    struct strbuf why = STRBUF_INIT;
    struct transform t = transform_for_segmentation(SIDE, SIDE);
    struct augment_key key = {0, 0, 0};
    struct transformer m;
    uint8_t pixel[SIDE * SIDE * 3];
    size_t len;
    char *data = file_read(o->path, &len);
    int rc;

    transformer_init(&m, NULL);
    t.kind = TRANSFORM_STRETCH;
    asked = 0;
    refused = o->fails;
    if (o->label_map)
        rc = label_read(&label, data, len, NULL, &why);
    else
        rc = transform_file(&m, &t, &key, data, len, pixel, &why);
    refused = 0;
    (void)fprintf(stderr, "%s%s\n",
                  rc == FAILURE_MACHINE ? "machine: "
                  : rc                  ? "damaged: "
                                        : "good",
                  why.buf);
}

/* Returns the number of requests after which the file is decoded; in others a library may
 * crash, as libtiff, libwebp, and dav1d do. */
static int runs_out(const char *path, bool label_map, int *machine)
{
    struct decoded o = {path, label_map, .fails = 1};

    for (; o.fails < REQUESTS; o.fails++) {
        int code;
        char *said = child_run(decode, &o, &code);
        bool good = code == 0 && strncmp(said, "good", 4) == 0;

        if (code == 0 && strncmp(said, "damaged", 7) == 0)
            fail_msg("%s without memory: %s", path, said);
        *machine += code == 0 && !good;
        free(said);
        if (good)
            break;
    }
    return o.fails;
}

static void no_file_is_damaged(void **state)
{
    int n, machine = 0;
    char **name;

    (void)state;
    if (!REFUSES)
        skip();
    name = dir_list(FOLDER, &n);
    for (int i = 0; i < n; i++) {
        char *path = path_join(FOLDER, name[i]);

        if (strcmp(path_extension(path), ".rgb") != 0)
            assert_in_range(runs_out(path, false, &machine), 1, REQUESTS - 1);
        free(path);
    }
    dir_list_free(name, n);
    assert_true(machine > 100);
}

/* A file that is cut off stays damaged, even if a successful malloc sets errno. */
static void errno_decides_nothing(void **state)
{
    int n, damaged = 0;
    char **name = dir_list(FOLDER, &n);
    struct image_decoder *d = image_decoder_new(NULL);

    (void)state;
    for (int i = 0; i < n; i++) {
        char *path = path_join(FOLDER, name[i]);
        size_t len;
        char *data = file_read(path, &len);
        struct strbuf why = STRBUF_INIT;
        struct image img = {0};
        int w, h, rc;

        leaves = 1;
        errno = ENOMEM;
        rc = image_decoder_open(d, data, len / 2, &w, &h, &why);
        if (rc == 0)
            rc = image_decoder_read(d, NULL, &img, &why);
        leaves = 0;
        if (rc == FAILURE_MACHINE)
            fail_msg("%s: %s", name[i], why.buf);
        damaged += rc == FAILURE_DATA;
        image_release(&img);
        strbuf_release(&why);
        free(data);
        free(path);
    }
    assert_true(damaged > 50);
    image_decoder_free(d);
    dir_list_free(name, n);
}

static void no_label_map_is_damaged(void **state)
{
    static const char folder[] = "tests/golden/image_label/";
    int n, machine = 0;
    char **name;

    (void)state;
    if (!REFUSES)
        skip();
    name = dir_list(folder, &n);
    for (int i = 0; i < n; i++) {
        char *path = path_join(folder, name[i]);

        if (strcmp(path_extension(path), ".png") == 0)
            assert_in_range(runs_out(path, true, &machine), 1, REQUESTS - 1);
        free(path);
    }
    dir_list_free(name, n);
    assert_true(machine > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_is_damaged),
        cmocka_unit_test(errno_decides_nothing),
        cmocka_unit_test(no_label_map_is_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
