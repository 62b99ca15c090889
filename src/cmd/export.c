/*
 * trainc export: the weights of a checkpoint alone, as a state dict that timm and PyTorch
 * load strictly: no optimizer, and the average of the weights in their place, if there is
 * one and it is not refused.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "io/safetensors.h"

static const char average[] = "ema.", moments[] = "optimizer.";

static bool starts(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

struct exporter {
    struct safetensors file;
    struct safetensors_writer out;
    void *data; /* of the largest tensor */
    bool raw;
    int averaged;
};

/* What stands under a tensor's name: its average, or itself. */
static const struct safetensors_tensor *tensor_for(const struct exporter *e,
                                                   const char *name)
{
    char *full = xasprintf("%s%s", average, name);
    const struct safetensors_tensor *t = e->raw ? NULL : safetensors_find(&e->file, full);

    free(full);
    return t ? t : safetensors_find(&e->file, name);
}

static const void *give(const struct safetensors_tensor *t, void *arg)
{
    const struct exporter *e = arg;
    struct strbuf why = STRBUF_INIT;

    if (safetensors_read(&e->file, tensor_for(e, t->name), e->data, &why))
        die("--weights: %s", why.buf);
    return e->data;
}

static void add_all(struct exporter *e)
{
    size_t most = 1;

    for (size_t i = 0; i < e->file.n; i++) {
        const struct safetensors_tensor *t = &e->file.tensor[i], *from;

        most = t->size > most ? t->size : most;
        if (starts(t->name, average) || starts(t->name, moments))
            continue;
        from = tensor_for(e, t->name);
        e->averaged += from != t;
        safetensors_writer_add_source(&e->out, t->name, from->dtype, from->ndim,
                                      from->dims, give, e);
    }
    e->data = xmalloc(most);
}

static void open_checkpoint(struct exporter *e, const char *path)
{
    struct strbuf why = STRBUF_INIT;

    if (safetensors_open(&e->file, path, &why))
        die("--weights: %s", why.buf);
    if (!safetensors_meta(&e->file, "trainc"))
        die("--weights: '%s' is no checkpoint of trainc", path);
    if (safetensors_verify(&e->file, &why))
        die("--weights: %s", why.buf);
}

static int export_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct exporter e = {.raw = cmdline_has(line, "--raw")};
    struct strbuf why = STRBUF_INIT;
    const char *classes;

    (void)cfg;
    open_checkpoint(&e, cmdline_value(line, "--weights"));
    add_all(&e);
    safetensors_writer_meta(&e.out, "format", "pt"); /* other programs look for it */
    classes = safetensors_meta(&e.file, "classes");
    if (classes)
        safetensors_writer_meta(&e.out, "classes", classes);
    if (safetensors_writer_commit(&e.out, out, &why))
        die("--out: %s", why.buf);
    log_info("'%s': %zu tensors%s", out, e.out.n,
             e.averaged ? ", the average of the weights" : "");
    safetensors_writer_release(&e.out);
    safetensors_close(&e.file);
    free(e.data);
    return EXIT_OK;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void export_check(const struct config *cfg, const struct cmdline *line,
                         struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    const char *out = cmdline_value(line, "--out"), *why;

    (void)cfg;
    if (!weights)
        problems_error(p, NULL, "no checkpoint: give --weights FILE");
    else if (!file_exists(weights))
        problems_error(p, "--weights", "there is no file '%s'", weights);
    if (!out)
        problems_error(p, NULL, "no place: give --out FILE");
    else if (weights && same_file(weights, out))
        problems_error(p, "--out", "'%s' is the checkpoint itself", out);
    else if ((why = file_not_writable(out)))
        problems_error(p, "--out", "'%s' cannot be written: %s", out, why);
}

static const struct cmd_flag export_flags[] = {
    {"--weights", "FILE", "checkpoint to take the weights from"},
    {"--out", "FILE", "safetensors file to write"},
    {"--raw", NULL, "the weights themselves, where there is an average of them, too"},
    {0},
};

const struct verb cmd_export = {
    .name = "export",
    .help = "write the weights of a checkpoint alone, for PyTorch and timm",
    .about = "The file has timm's names and nothing else, so that load_state_dict takes "
             "it strictly; its metadata have the names of the classes. Of a checkpoint "
             "with an average of the weights that is what is written. No --cfg is "
             "needed.",
    .flags = export_flags,
    .check = export_check,
    .run = export_run,
};
