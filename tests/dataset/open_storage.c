#include "tests/dataset/open_storage.h"

struct dataset *open_folder(const char *dir)
{
    return dataset_open("folder", &(struct dataset_source){.path = dir});
}

struct dataset *open_labels(const char *storage, const char *dir,
                            const struct label_options *o)
{
    return dataset_open(
        storage, &(struct dataset_source){.path = dir, .split = "train", .labels = *o});
}
