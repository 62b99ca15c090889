#include "tests/dataset/open_storage.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/test.h"

struct dataset *open_folder(const char *dir)
{
    return dataset_open("folder", &(struct dataset_source){.path = dir, .keep = dir});
}

struct dataset *open_labels(const char *storage, const char *dir,
                            const struct label_options *o)
{
    return dataset_open(storage, &(struct dataset_source){.path = dir,
                                                          .split = "train",
                                                          .labels = *o,
                                                          .label_maps = true,
                                                          .keep = dir});
}

char *index_in(const char *dir)
{
    int n;
    char **name = dir_list(dir, &n), *found = NULL;

    for (int i = 0; i < n; i++)
        if (strncmp(name[i], ".trainc-index-", 14) == 0) {
            assert_null(found);
            found = xstrdup(name[i]);
        }
    dir_list_free(name, n);
    return found;
}

void open_and_close(void *opening)
{
    const struct opening *o = opening;

    dataset_close(dataset_open(o->storage, &o->source));
}
