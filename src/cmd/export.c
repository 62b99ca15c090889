/*
 * trainc export: the weights of a checkpoint alone, as a state dict that timm and PyTorch
 * load strictly: no optimizer, and the EMA weights in their place, if there is
 * one and it is not refused. Checkpoints are ours or of PyTorch's trainers. Or the whole
 * model for ONNX (cmd/export_onnx.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/export_onnx.h"
#include "cmd/run.h"
#include "io/weights_file.h"
#include "session/losses.h"
#include "train/weights_guess.h"

static const char ema[] = "ema.", moments[] = "optimizer.";

static bool starts(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

struct exporter {
    struct weights_file file;
    struct safetensors_writer out;
    struct export_item {
        const struct exporter *e;
        const struct safetensors_tensor *from;
    } * item;                   /* of each tensor of `out` */
    void *data;                 /* of the largest tensor */
    struct weights_guess guess; /* of files of others */
    bool raw, aux;
    int ema;
    int left; /* tensors of auxiliary classifiers that are left out */
};

/* True if the file has the tensors of a model here by other names. */
static bool renames(const struct exporter *e)
{
    return e->guess.n && (e->guess.names.scheme || *e->guess.names.prefix);
}

/* What stands under a tensor's name: its EMA, or itself. */
static const struct safetensors_tensor *tensor_for(const struct exporter *e,
                                                   const struct safetensors_tensor *t)
{
    char *full = xasprintf("%s%s", ema, t->name);
    const struct safetensors_tensor *a =
        e->raw ? NULL : weights_file_find(&e->file, full);

    free(full);
    return a ? a : t;
}

static const void *give(const struct safetensors_tensor *t, void *arg)
{
    const struct export_item *item = arg;
    struct strbuf why = STRBUF_INIT;

    (void)t;
    if (renames(item->e)
            ? file_names_read(&item->e->guess.names, item->from, item->e->data, &why)
            : weights_file_read(&item->e->file, item->from, item->e->data, &why))
        die("--weights: %s", why.buf);
    return item->e->data;
}

/* An auxiliary classifier of LOSSES, which only training has a use for. */
static bool left_out(struct exporter *e, const char *name)
{
    if (e->aux || !e->file.ours || !losses_is_aux(name))
        return false;
    e->left++;
    return true;
}

/* Without what PyTorch's wrappers of modules put in front; NULL: it is no weight. */
static const char *plain_name(const struct exporter *e, const char *name)
{
    static const char *const wrapper[] = {"module.", "_orig_mod."};

    if (!e->file.torch)
        return starts(name, ema) || starts(name, moments) ? NULL : name;
    for (int i = 0; i < 4; i++) /* either may be around the other */
        if (starts(name, wrapper[i % 2]))
            name += strlen(wrapper[i % 2]);
    return strcmp(name, "n_averaged") != 0 ? name : NULL;
}

static void add_all(struct exporter *e)
{
    size_t most = 1;

    e->item = xcalloc(e->file.n + 1, sizeof(*e->item));
    for (size_t i = 0; i < e->file.n; i++) {
        const struct safetensors_tensor *t = &e->file.tensor[i], *from = tensor_for(e, t);
        const char *name = plain_name(e, t->name);

        most = t->size > most ? t->size : most;
        if (!name || left_out(e, name))
            continue;
        if (strmap_has(&e->out.names, name))
            die("--weights: '%s' has two tensors '%s'", e->file.path, name);
        e->ema += from != t;
        e->item[i] = (struct export_item){e, from};
        safetensors_writer_add_source(&e->out, name, from->dtype, from->ndim, from->dims,
                                      give, &e->item[i]);
    }
    e->data = xmalloc(most);
}

/* The tensors of the model that the file seems to be of, by its names. */
static void add_renamed(struct exporter *e)
{
    const struct file_names *names = &e->guess.names;
    size_t most = 1;

    e->item = xcalloc((size_t)e->guess.nname + 1, sizeof(*e->item));
    for (size_t i = 0; i < e->file.n; i++)
        most = e->file.tensor[i].size > most ? e->file.tensor[i].size : most;
    for (int i = 0; i < e->guess.nname; i++) {
        const char *name = e->guess.name[i];
        const struct safetensors_tensor *t = file_names_get(names, name);

        e->item[i] = (struct export_item){e, t};
        safetensors_writer_add_source(&e->out, name, t->dtype, t->ndim, t->dims, give,
                                      &e->item[i]);
    }
    e->data = xmalloc(most);
    log_info("'%s': the names are those of %s, and become those of %s", e->file.path,
             names->scheme ? names->scheme->name : "a wrapper", e->guess.model[0]->name);
}

static void open_checkpoint(struct exporter *e, const char *path)
{
    struct strbuf why = STRBUF_INIT;

    if (weights_file_open(&e->file, path, !e->raw, &why) ||
        weights_file_verify(&e->file, &why))
        die("--weights: %s", why.buf);
    if (!e->file.ours)
        weights_guess_make(&e->guess, &e->file);
    if (e->file.torch && !e->guess.n)
        log_info("'%s': it is of no model here: the names stay", path);
    if (!e->file.ours && !e->file.torch && !renames(e))
        die("--weights: '%s' has weights alone already", path);
}

static int export_weights(const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct exporter e = {.raw = cmdline_has(line, "--raw"),
                         .aux = cmdline_has(line, "--aux")};
    struct strbuf why = STRBUF_INIT;
    static const char *const kept[] = {"classes", "class_weights"};

    open_checkpoint(&e, cmdline_value(line, "--weights"));
    if (renames(&e))
        add_renamed(&e);
    else
        add_all(&e);
    if (e.file.ours && weights_file_meta(&e.file, "config"))
        safetensors_writer_meta(&e.out, RUN_CONFIG_META,
                                weights_file_meta(&e.file, "config"));
    safetensors_writer_meta(&e.out, "format", "pt"); /* other programs look for it */
    for (int i = 0; i < 2; i++) {
        const char *text = weights_file_meta(&e.file, kept[i]);

        if (text)
            safetensors_writer_meta(&e.out, kept[i], text);
    }
    if (safetensors_writer_commit(&e.out, out, &why))
        die("--out: %s", why.buf);
    log_info("'%s': %zu tensors%s%s%s", out, e.out.n, e.ema ? ", the EMA weights" : "",
             *e.file.part ? " of " : "", e.file.part);
    if (e.left)
        log_info("%d tensors of auxiliary classifiers are left out: inference has none "
                 "(--aux keeps them)",
                 e.left);
    safetensors_writer_release(&e.out);
    weights_guess_release(&e.guess);
    weights_file_close(&e.file);
    free(e.item);
    free(e.data);
    return EXIT_OK;
}

static int export_run(struct config *cfg, const struct cmdline *line)
{
    return cmdline_has(line, "--onnx") ? export_onnx_run(cfg, line)
                                       : export_weights(line);
}

/* A model for ONNX is built as the configuration in its weights says. */
static const char *export_config(const struct cmdline *line)
{
    return cmdline_has(line, "--onnx") ? cmdline_value(line, "--weights") : NULL;
}

static void check_out(const struct cmdline *line, struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    const char *out = cmdline_value(line, "--out");

    if (!out)
        problems_error(p, NULL, "no place: give --out FILE, or --onnx FILE");
    else if (weights && file_same(weights, out))
        problems_error(p, "--out", "'%s' is the checkpoint itself", out);
    else if (run_is_pickle_name(out))
        problems_error(p, "--out", "'%s': what is written is a .safetensors file", out);
    else if (!strcmp(path_extension(out), ".onnx"))
        problems_error(p, "--out", "'%s': a model for ONNX is written with --onnx", out);
    else if (!strcmp(out, "-"))
        problems_error(p, "--out", "'-': a file is needed: its header is written last");
    else
        run_check_writable(line, "--out", WRITTEN_WEIGHTS, p);
    if (cmdline_has(line, "--fold-bn"))
        problems_error(p, "--fold-bn",
                       "state dicts have batch norms: it goes with --onnx");
    if (line->ncfg || line->nopt || line->nflag)
        problems_warn(p, NULL, "the configuration has no effect: only --onnx needs one");
}

/* What one of the two kinds of files has no use for. */
static void check_onnx(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    export_onnx_check(cfg, line, p);
    if (cmdline_has(line, "--out"))
        problems_error(p, "--out", "--onnx writes a file of its own: give one of them");
    if (cmdline_has(line, "--raw"))
        problems_error(p, "--raw",
                       "with --onnx, weights that have no EMA beside them are wanted: "
                       "export them with --raw --out FILE before");
    if (cmdline_has(line, "--aux"))
        problems_error(p, "--aux", "a model for ONNX has no auxiliary classifiers");
}

static void export_check(const struct config *cfg, const struct cmdline *line,
                         struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    bool onnx = cmdline_has(line, "--onnx");

    if (onnx && (weights || *cfg->model.pretrained))
        run_check_own_weights(cfg, line, p);
    else if (!weights)
        problems_error(p, NULL, "no checkpoint: give --weights FILE%s",
                       onnx ? ", or --pretrained NAME" : "");
    else if (!file_exists(weights))
        problems_error(p, "--weights", "there is no file '%s'", weights);
    if (onnx)
        check_onnx(cfg, line, p);
    else
        check_out(line, p);
}

static const struct cmd_flag export_flags[] = {
    {"--weights", "FILE", "checkpoint to take the weights from, ours or PyTorch's"},
    {"--out", "FILE", "safetensors file to write"},
    {"--raw", NULL, "the weights themselves, where there is an EMA of them, too"},
    {"--aux", NULL, "auxiliary classifiers of LOSSES (aux2.fc.weight), too"},
    {"--onnx", "FILE", "write the whole model for ONNX there instead"},
    {"--fold-bn", NULL,
     "with --onnx: batch norms that follow a convolution go into its weights"},
    {0},
};

static const char *const export_reads[] = {EXPORT_ONNX_READS, NULL};

const struct verb cmd_export = {
    .name = "export",
    .examples =
        (const char *const[]){
            "trainc export --weights best.safetensors --out weights.safetensors",
            "trainc export --weights best.safetensors --onnx model.onnx", NULL},
    .help = "write the weights of a checkpoint alone, or the model for ONNX",
    .about =
        "The file has timm's names and nothing else, so that load_state_dict takes "
        "it strictly; its metadata have the names of the classes and, of a segmentation, "
        "their weights in the loss. Of a checkpoint "
        "with an EMA of the weights that is what is written. Files of torch.save "
        "(.pth, .pth.tar, .bin) are read, too, and nothing in them is run; names of "
        "other projects become timm's (docs/weights.md lists them). No --cfg is needed. "
        "With --onnx the file is the model: operator set 17, fp32, input "
        "\"input\" (N x C x H x W, normalised with the mean and std of its metadata), "
        "output \"logits\", any batch. A checkpoint of trainc knows its model, and so do "
        "public weights by name (--pretrained); for other weights give --model NAME and "
        "--num-classes N, or --cfg FILE.",
    .flags = export_flags,
    .reads = export_reads,
    .weights = export_config,
    .check = export_check,
    .run = export_run,
};
