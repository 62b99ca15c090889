/* Lists of files: lines with classes, JSON, ImageNet-22K's map, and pairs with label
 * maps. A rejected list would end the program; here it ends the call, which leaks its
 * memory but closes its files. */
#include "fuzz.h"

#include <limits.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/table.h"

static jmp_buf refused;

/* Disables the leak sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void on_die(const char *message, int code, void *arg)
{
    (void)code, (void)arg;
    fuzz_expect(message && *message, "a refusal has a reason");
    longjmp(refused, 1);
}

static void open_list(const char *path, bool label_maps)
{
    char *dir = path_dirname(path);
    struct dataset_source s = {.path = dir,
                               .split = "train",
                               .labels = {.classes = 7},
                               .label_maps = label_maps};
    int first = dup(STDERR_FILENO); /* descriptors from here on belong to the call */
    struct dataset *d;

    (void)close(first);
    if (!setjmp(refused)) {
        d = dataset_open("list", &s);
        for (int64_t i = 0; i < d->n; i++) {
            struct strbuf name = STRBUF_INIT;

            dataset_describe(d, i, &name);
            fuzz_expect(name.len > 0, "a sample has a name");
            fuzz_expect(label_maps ||
                            (dataset_label(d, i) >= 0 && dataset_label(d, i) < d->nclass),
                        "a label is a class");
            strbuf_release(&name);
        }
        dataset_close(d);
    } else {
        (void)close_range((unsigned)first, UINT_MAX, 0);
    }
    free(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const endings[] = {".txt", ".json"};
    char *path;

    if (size < 1)
        return 0;
    log_mute(true);
    error_at_exit(on_die, NULL);
    path = fuzz_train(endings[data[0] % 2], data + 1, size - 1);
    open_list(path, data[0] % 4 >= 2);
    (void)remove(path);
    free(path);
    return 0;
}
