/* The table of DATA.DATASET csv: which file it is, and what its columns mean (csv.c). Private
 * to src/dataset. */
#ifndef DATASET_CSV_TABLE_H
#define DATASET_CSV_TABLE_H

#include "dataset/csv_labels.h"
#include "dataset/csv_values.h"
#include "dataset/table.h"
#include "dataset/text_table.h"

/* An open table, and what its columns mean; -1: there is no such column. */
struct csv {
    struct text_table t;
    char *path, *root; /* of the table; of the folder that images are sought in */
    int image, label, split, weight;
    struct csv_labels labels; /* of MODEL.TASK multilabel */
    struct csv_values values; /* of MODEL.TASK regression */
};

/* Opens the table of the split. Returns false if something is missing, and `why` says what.
 * Release it in either case. */
bool csv_find(struct csv *c, const struct dataset_source *s, struct strbuf *why);
void csv_release(struct csv *c);

/* True if the row is of the split; "!2" is every split but 2. */
bool csv_has_row(const struct csv *c, const struct dataset_source *s, int64_t row);

/* Sets c->root to the folder of the images; false if none has any. *ending gets what the
 * names in the table lack. */
bool csv_find_root(struct csv *c, const struct dataset_source *s, const char **ending);

#endif
