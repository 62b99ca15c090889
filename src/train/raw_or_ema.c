#include "train/raw_or_ema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "train/scores.h"

bool raw_is_better(const struct weights_file *file)
{
    const char *text = file->by_trainc ? weights_file_meta(file, "trainc") : NULL;
    struct strbuf why = STRBUF_INIT;
    json_t *o = text ? json_parse(text, strlen(text), &why) : NULL;
    struct scores raw = scores_get(o, "val_"), ema = scores_get(o, "ema_");
    bool better = false;

    for (enum score k = 0; k < SCORES && o; k++) {
        char key[32];

        (void)snprintf(key, sizeof(key), "best_%s", score_name(k));
        if (json_object_get(o, key) && !isnan(ema.value[k]))
            better = score_is_better(k, raw.value[k], ema.value[k]);
    }
    json_decref(o);
    strbuf_release(&why);
    return better;
}

const char *raw_or_ema_source(const struct weights_file *file, bool ema)
{
    if (ema)
        return " from the EMA weights";
    return raw_is_better(file)
               ? " from the raw weights, which scored higher than the EMA weights"
               : "";
}
