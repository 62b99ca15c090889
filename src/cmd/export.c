/*
 * trainc export: writes the weights of a checkpoint as a state dict that timm and PyTorch
 * load with strict=True, without optimizer state. Writes the EMA weights if the checkpoint
 * has them, unless the raw ones scored higher (train/raw_or_ema.h) or --raw is given. Reads
 * checkpoints of trainc and PyTorch. With --onnx, writes an ONNX model
 * (cmd/export_onnx.h).
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
#include "train/checkpoint.h"
#include "train/kept_meta.h"
#include "train/raw_or_ema.h"
#include "train/weights_guess.h"

static const char ema[] = "ema.", moments[] = "optimizer.";

static bool has_prefix(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

struct exporter {
    struct weights_file file;
    struct safetensors_writer out;
    struct export_item {
        const struct exporter *e;
        const struct safetensors_tensor *source;
    } * item;                   /* of each tensor of `out` */
    void *data;                 /* of the largest tensor */
    struct weights_guess guess; /* for files of other programs */
    bool raw, aux;
    int ema;  /* number of EMA tensors */
    int left; /* number of tensors of auxiliary classifiers that were left out */
};

/* True if the file holds a model of trainc under other names. */
static bool renames(const struct exporter *e)
{
    return e->guess.n && (e->guess.names.scheme || *e->guess.names.prefix);
}

/* Returns the EMA of the tensor, or the tensor itself without an EMA or with --raw. */
static const struct safetensors_tensor *tensor_for(const struct exporter *e,
                                                   const struct safetensors_tensor *t)
{
    char *full = xasprintf("%s%s", ema, t->name);
    const struct safetensors_tensor *a =
        e->raw ? NULL : weights_file_find(&e->file, full);

    free(full);
    return a ? a : t;
}

static const void *read_tensor(const struct safetensors_tensor *t, void *arg)
{
    const struct export_item *item = arg;
    struct strbuf why = STRBUF_INIT;

    (void)t;
    if (renames(item->e)
            ? file_names_read(&item->e->guess.names, item->source, item->e->data, &why)
            : weights_file_read(&item->e->file, item->source, item->e->data, &why))
        die("--weights: %s", why.buf);
    return item->e->data;
}

/* True if the graph of an imported network has a parameter of this name. */
static bool in_graph(const struct exporter *e, const char *name)
{
    const char *graph = weights_file_meta(&e->file, KEPT_META_GRAPH);
    char *quoted = xasprintf("\"%s\"", name);
    bool found = graph && strstr(graph, quoted);

    free(quoted);
    return found;
}

/* True (and counted) if the tensor belongs to an auxiliary classifier of LOSSES. */
static bool skip_auxiliary(struct exporter *e, const char *name)
{
    if (e->aux || !e->file.by_trainc || !losses_is_aux(name) || in_graph(e, name))
        return false;
    e->left++;
    return true;
}

/* Returns the name without the prefixes of PyTorch's module wrappers, or NULL if the
 * tensor is not a weight. */
static const char *plain_name(const struct exporter *e, const char *name)
{
    static const char *const wrapper[] = {"module.", "_orig_mod."};

    if (!e->file.torch)
        return has_prefix(name, ema) || has_prefix(name, moments) ? NULL : name;
    for (int i = 0; i < 4; i++) /* the wrappers may be nested in either order */
        if (has_prefix(name, wrapper[i % 2]))
            name += strlen(wrapper[i % 2]);
    return strcmp(name, "n_averaged") != 0 ? name : NULL;
}

static void add_all(struct exporter *e)
{
    size_t largest = 1;

    e->item = xcalloc(e->file.n + 1, sizeof(*e->item));
    for (size_t i = 0; i < e->file.n; i++) {
        const struct safetensors_tensor *t = &e->file.tensor[i], *src = tensor_for(e, t);
        const char *name = plain_name(e, t->name);

        largest = t->size > largest ? t->size : largest;
        if (!name || skip_auxiliary(e, name))
            continue;
        if (strmap_has(&e->out.names, name))
            die("--weights: '%s' holds two tensors named '%s'", e->file.path, name);
        e->ema += src != t;
        e->item[i] = (struct export_item){e, src};
        safetensors_writer_add_source(&e->out, name, src->dtype, src->ndim, src->dims,
                                      read_tensor, &e->item[i]);
    }
    e->data = xmalloc(largest);
}

/* Adds the tensors of the guessed model under its names. */
static void add_renamed(struct exporter *e)
{
    const struct file_names *names = &e->guess.names;
    size_t largest = 1;

    e->item = xcalloc((size_t)e->guess.nname + 1, sizeof(*e->item));
    for (size_t i = 0; i < e->file.n; i++)
        largest = e->file.tensor[i].size > largest ? e->file.tensor[i].size : largest;
    for (int i = 0; i < e->guess.nname; i++) {
        const char *name = e->guess.name[i];
        const struct safetensors_tensor *t = file_names_get(names, name);

        e->item[i] = (struct export_item){e, t};
        safetensors_writer_add_source(&e->out, name, t->dtype, t->ndim, t->dims,
                                      read_tensor, &e->item[i]);
    }
    e->data = xmalloc(largest);
    log_info("'%s': renaming the tensors from %s to %s", e->file.path,
             names->scheme ? names->scheme->name : "a wrapper", e->guess.model[0]->name);
}

static void open_checkpoint(struct exporter *e, const char *path)
{
    struct strbuf why = STRBUF_INIT;

    if (weights_file_open(&e->file, path, !e->raw, &why) ||
        weights_file_verify(&e->file, &why))
        die("--weights: %s", why.buf);
    e->raw = e->raw || raw_is_better(&e->file);
    if (!e->file.by_trainc)
        weights_guess_make(&e->guess, &e->file);
    if (e->file.torch && !e->guess.n)
        log_info("'%s': no model of trainc has these tensors, so their names are kept",
                 path);
    if (!e->file.by_trainc && !e->file.torch && !renames(e))
        die("--weights: nothing to do: '%s' already holds only weights", path);
}

static int export_weights(const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct exporter e = {.raw = cmdline_has(line, "--raw"),
                         .aux = cmdline_has(line, "--aux")};
    struct strbuf why = STRBUF_INIT;

    open_checkpoint(&e, cmdline_value(line, "--weights"));
    if (renames(&e))
        add_renamed(&e);
    else
        add_all(&e);
    if (e.file.by_trainc && weights_file_meta(&e.file, "config"))
        safetensors_writer_meta(&e.out, RUN_CONFIG_META,
                                weights_file_meta(&e.file, "config"));
    safetensors_writer_meta(&e.out, "format", "pt"); /* other programs look for it */
    kept_meta_copy(&e.out, &e.file);
    if (safetensors_writer_commit(&e.out, out, &why))
        die("--out: %s", why.buf);
    log_info("wrote %zu tensors%s%s%s to '%s'", e.out.n,
             e.ema                    ? " (EMA weights)"
             : raw_is_better(&e.file) ? " (raw weights, which scored higher)"
                                      : "",
             *e.file.part ? " of " : "", e.file.part, out);
    if (e.left)
        log_info("left out %d tensors of auxiliary classifiers, which inference does not "
                 "need (--aux keeps them)",
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

/* Returns the file whose saved configuration --onnx uses. */
static const char *export_config(const struct cmdline *line)
{
    return cmdline_has(line, "--onnx") ? cmdline_value(line, "--weights") : NULL;
}

static void check_out(const struct cmdline *line, struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    const char *out = cmdline_value(line, "--out");

    if (!out)
        problems_error(p, NULL, "no output file: give --out FILE or --onnx FILE");
    else if (weights && file_same(weights, out))
        problems_error(p, "--out", "'%s' is the checkpoint itself; choose another file",
                       out);
    else if (run_is_pickle_name(out))
        problems_error(p, "--out",
                       "'%s': the output is a safetensors file; end its name in "
                       ".safetensors",
                       out);
    else if (!strcmp(path_extension(out), ".onnx"))
        problems_error(p, "--out", "'%s': use --onnx to write an ONNX model", out);
    else if (!strcmp(out, "-"))
        problems_error(p, "--out",
                       "'-': cannot write to standard output, because the header is "
                       "written last; name a file");
    else
        run_check_writable(line, "--out", WRITTEN_WEIGHTS, p);
    if (cmdline_has(line, "--fold-bn"))
        problems_error(p, "--fold-bn", "has no effect without --onnx");
    if (line->ncfg || line->nopt || line->nflag)
        problems_warn(p, NULL, "the configuration has no effect without --onnx");
}

/* Rejects flags that have no effect with --onnx. */
static void check_onnx(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    export_onnx_check(cfg, line, p);
    if (cmdline_has(line, "--out"))
        problems_error(p, "--out", "cannot be combined with --onnx; give one of them");
    if (cmdline_has(line, "--raw"))
        problems_error(p, "--raw",
                       "has no effect with --onnx: first export the weights with --raw "
                       "--out FILE, then pass FILE to --onnx");
    if (cmdline_has(line, "--aux"))
        problems_error(p, "--aux",
                       "has no effect with --onnx: ONNX models have no auxiliary "
                       "classifiers");
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
    {"--weights", "FILE", "checkpoint of trainc or PyTorch to read"},
    {"--out", "FILE", "safetensors file to write"},
    {"--raw", NULL, "export the raw weights even if the checkpoint has EMA weights"},
    {"--aux", NULL, "also export the auxiliary classifiers of LOSSES (aux2.fc.weight)"},
    {"--onnx", "FILE", "write an ONNX model to FILE instead"},
    {"--fold-bn", NULL, "with --onnx: fold batch norms into the preceding convolutions"},
    {0},
};

static const char *const export_reads[] = {EXPORT_ONNX_READS, NULL};

const struct verb cmd_export = {
    .name = "export",
    .examples =
        (const char *const[]){
            "trainc export --weights best.safetensors --out weights.safetensors",
            "trainc export --weights best.safetensors --onnx model.onnx", NULL},
    .help = "extract the weights of a checkpoint, or write an ONNX model",
    .about =
        "Writes a state dict with timm's names, which load_state_dict accepts with "
        "strict=True. Writes the EMA weights if the checkpoint has them, unless the raw "
        "weights scored higher in its last validation. The metadata "
        "holds the class names and, for segmentation, the class weights of the loss. "
        "Also reads torch.save files (.pth, .pth.tar, .bin) without executing code in "
        "them, and renames the tensors of other projects to timm's names "
        "(docs/weights.md lists the projects). Needs no --cfg. With --onnx, writes the "
        "model: opset 17, fp32, input \"input\" (N x C x H x W, normalized with the mean "
        "and std in its metadata), output \"logits\", any batch size. Checkpoints of "
        "trainc and public weights (--pretrained NAME) name their model; for other "
        "weights give --model NAME and --num-classes N, or --cfg FILE.",
    .flags = export_flags,
    .reads = export_reads,
    .weights = export_config,
    .check = export_check,
    .run = export_run,
};
