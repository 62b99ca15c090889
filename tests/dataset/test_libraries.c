/* Optional libraries that are missing or have another version: the message names the
 * library, the format, and the package. This file replaces dlopen(). */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/child.h"
#include "tests/image/decode_image.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static const char *other; /* opened in place of any library; NULL if none exists */

void *dlopen(const char *name, int flags)
{
    (void)name;
    return other ? dlmopen(LM_ID_BASE, other, flags) : NULL;
}

static void decode(void *file)
{
    char *path = path_join("tests/golden/image_decode", file);
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len;
    char *data = file_read(path, &len);

    (void)decode_image(d, data, len, NULL, &img, &why);
}

static void open_container(void *name)
{
    char *dir = path_join("tests/golden/containers", name);
    struct dataset_source s = pack_source(dir, false);

    dataset_close(dataset_open(name, &s));
}

static const struct {
    void (*fn)(void *arg);
    const char *arg, *what, *library, *symbol, *package;
} rows[] = {
    {decode, "rgb.avif", "AVIF cannot be read", "libavif.so.", "avifDecoderCreate",
     "libavif1"},
    {decode, "rgb.jp2", "JPEG 2000 cannot be read", "libopenjp2.so.7",
     "opj_create_decompress", "libopenjp2-7"},
    {open_container, "lmdb", "train.lmdb'", "liblmdb.so.0", "mdb_env_create", "liblmdb0"},
    {open_container, "hdf5", "train.h5'", "libhdf5", "H5", "libhdf5"},
};

static void expect(const char *library, const char *(*say)(size_t row))
{
    other = library;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        int code;
        char *said = child_run(rows[r].fn, (void *)(uintptr_t)rows[r].arg, &code);

        if (code != 1 || !strstr(said, rows[r].what) || !strstr(said, rows[r].library) ||
            !strstr(said, say(r)) || strchr(said, '\n') != said + strlen(said) - 1)
            fail_msg("%s: exit %d: %s", rows[r].arg, code, said);
        free(said);
    }
}

static const char *say_package(size_t r)
{
    static char text[80];

    snprintf(text, sizeof(text), " cannot be opened, which Debian's %s", rows[r].package);
    return text;
}

static const char *say_symbol(size_t r)
{
    static char text[80];

    snprintf(text, sizeof(text), " has no %s", rows[r].symbol);
    return text;
}

static void a_missing_library_is_named(void **state)
{
    (void)state;
    expect(NULL, say_package);
}

static void another_version_is_named(void **state)
{
    (void)state;
    expect("libm.so.6", say_symbol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(another_version_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
