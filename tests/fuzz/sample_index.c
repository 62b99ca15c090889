/* The index of samples in containers, and that of a folder's files. Checksums are
 * corrected, otherwise no fuzzed input would get past them; inputs of odd size are left
 * unchanged. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/folder_index.h"
#include "dataset/sample_index.h"

extern const struct container container_tar;

static void load_samples(const char *path)
{
    struct samples s = {.type = &container_tar, .nfile = 3};

    if (sample_index_load(&s, path))
        for (int64_t i = 0; i < s.base.n; i++)
            fuzz_expect(s.sample[i].file >= 0 && s.sample[i].file < 3 &&
                            strlen(s.sample[i].name) < 1 << 20,
                        "a sample is of a file");
    free(s.sample);
    arena_release(&s.mem);
}

static void load_folder(const char *path)
{
    char *dir = path_dirname(path);
    struct folder f = {.files = class_files_new(dir, dir)};

    f.files->base.nclass = 2;
    if (folder_index_load(&f, path))
        for (int64_t i = 0; i < f.files->base.n; i++)
            fuzz_expect(f.files->file[i].label >= 0 && f.files->file[i].label < 2 &&
                            strlen(f.files->file[i].path) < 1 << 20,
                        "a file is of a class");
    f.files->base.nclass = 0;
    dataset_close(&f.files->base);
    free(f.dir);
    free(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = xmalloc(size + 1);
    char *path;

    log_mute(true);
    memcpy(copy, data, size);
    if (size % 2 == 0 && size >= 16) {
        uint64_t sum = XXH3_64bits(copy + 16, size - 16);

        memcpy(copy + 8, &sum, sizeof(sum));
    }
    path = fuzz_train(".index", copy, size);
    load_samples(path);
    load_folder(path);
    (void)remove(path);
    free(path);
    free(copy);
    return 0;
}
