/* Maps keys to the tables that list their values. */
#include <stddef.h>
#include <string.h>

#include "cmd/cmd.h"
#include "dataset/class_set.h"
#include "dataset/table.h"
#include "image/augment_ops.h"
#include "ops/optimizer.h"
#include "session/devices.h"
#include "session/losses.h"
#include "session/model_config.h"
#include "session/schedules.h"
#include "train/calibrate.h"

static const struct {
    const char *key;
    const struct names *names;
} tables[] = {
    {"AUG.LIST", &augment_op_names},
    {"DATA.CLASS_SET", &class_set_names},
    {"DATA.DATASET", &storage_names},
    {"DEVICE", &device_names},
    {"MODEL.TYPE", &model_family_names},
    {"QUANT.METHOD", &calibrator_names},
    {"TRAIN.LOSS.NAME", &loss_names},
    {"TRAIN.LR_SCHEDULER.NAME", &schedule_names},
    {"TRAIN.OPTIMIZER.NAME", &optimizer_names},
};

bool cmd_key_names(const char *key, struct names *names)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (!strcmp(tables[i].key, key)) {
            *names = *tables[i].names;
            return true;
        }
    return model_key_names(key, names);
}

void cmd_add_readers(struct strbuf *s, const char *key)
{
    struct named row;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (int k = 0; (row = tables[i].names->entry(tables[i].names->table, k)).name;
             k++)
            if (named_reads(&row, key))
                strbuf_addf(s, "%s%s", s->len ? ", " : "", row.name);
}
