#include "train/earlier_kernels.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "config/config.h"
#include "io/safetensors.h"
#include "train/output.h"
#include "train/save_list.h"

/* Returns NULL if the file cannot be read; whoever resumes from it says why. */
static char *kernels_in(const char *path)
{
    struct safetensors file;
    struct strbuf why = STRBUF_INIT;
    char *text = NULL;

    if (!safetensors_open(&file, path, &why)) {
        const char *kernels = safetensors_meta(&file, "kernels");

        text = xstrdup(kernels ? kernels : "");
    }
    safetensors_close(&file);
    strbuf_release(&why);
    return text;
}

char *earlier_kernels(const struct config *cfg)
{
    char *dir = output_dir(cfg), *text = NULL;
    struct save_list l = save_list_read(dir, false);

    if (cfg->train.auto_resume && l.n && !l.item[0].damaged)
        text = kernels_in(l.item[0].path);
    else if (*cfg->model.resume)
        text = kernels_in(cfg->model.resume);
    save_list_free(&l);
    free(dir);
    return text;
}
