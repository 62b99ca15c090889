/* trainc models [GLOB]: lists the models. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/models_pretrained.h"
#include "models/count.h"
#include "models/pretrained.h"
#include "models/table.h"

/* timm's modules without a model here. */
static const char *const elsewhere[] = {
    "byoanet byobnet cait coat convit convmixer cpubone crossvit csatv2",
    "cspnet cspnext davit deepseek_vit dla dpn edgenext efficientformer",
    "efficientformer_v2 efficientvim efficientvit_mit efficientvit_msra eva",
    "fasternet fastvit focalnet gcvit gemma4_vit hardcorenas hgnet hiera",
    "hieradet_sam2 hrnet iformer inception_next inception_resnet_v2",
    "inception_v4 lcnetv2 levit lowformer mambaout maxxvit metaformer",
    "mobilenetv5 mobilevit mvitv2 naflexvit nasnet nest nextvit nfnet pit",
    "pnasnet pvt_v2 qwen3_vit rdnet repghost repvit res2net resnest rexnet",
    "selecsls senet sequencer shvit starnet swiftformer swin_transformer_v2_cr",
    "tiny_vit tnt tresnet twins visformer vision_transformer_hybrid",
    "vision_transformer_relpos vision_transformer_sam vitamin volo vovnet",
    "xception xception_aligned xcit",
    NULL};

static int by_name(const void *a, const void *b)
{
    const struct model *const *x = a, *const *y = b;

    return model_natural_order((*x)->name, (*y)->name);
}

static void print_row(const struct model *m, int width)
{
    struct model_options o = {.classes = m->classes};
    struct model_count c =
        model_count_image(m, &o, 3, m->height ? m->height : m->size, m->size);
    struct strbuf params = STRBUF_INIT;

    strbuf_add_grouped(&params, c.params);
    say("%-*s %-8s %13s %8.2f %5d %8d  %s%s\n", width, m->name, m->family->type,
        params.buf, (double)c.macs / 1e9, m->size, m->classes,
        m->recipe ? "configs/" : "-", m->recipe ? m->recipe : "");
    strbuf_release(&params);
}

/* Prints the preprocessing of the default public weights. */
static void print_details(const struct model *m)
{
    say("\ninput    shorter side resized to %d pixels (%s), center crop %d x %d\n",
        (int)(m->size / m->crop_pct), m->bilinear ? "bilinear" : "bicubic", m->size,
        m->size);
    say("mean     %g, %g, %g\nstd      %g, %g, %g\n", m->mean[0], m->mean[1], m->mean[2],
        m->std[0], m->std[1], m->std[2]);
    say("weights  %s\n", *m->tags ? m->tags : "no public weights");
}

static void print_elsewhere(void)
{
    say("\nNot built in: these modules of timm, and some models of vision_transformer "
        "and\n"
        "others. --model net.pt2 trains them as PyTorch exports them "
        "(docs/any-network.md).\n");
    for (int i = 0; elsewhere[i]; i++)
        say("%s\n", elsewhere[i]);
}

static void list_pretrained(const struct config *cfg, const struct cmdline *line)
{
    const char *glob = cfg->model.pretrained;

    if (!*glob || !strcmp(glob, PRETRAINED_AUTO))
        glob = line->narg ? line->arg[0].text : "*";
    if (cmdline_has(line, "--download"))
        models_download(cfg, glob);
    else
        models_list_pretrained(glob, cmdline_value(line, "--exclude"),
                               cmdline_has(line, "--cached"));
}

/* True if a model's name begins with the text. */
static bool any_begins(const char *text)
{
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            if (!strncmp(m->name, text, strlen(text)))
                return true;
    return false;
}

static void die_without_match(const char *glob)
{
    if (pretrained_find(glob, strlen(glob)))
        usage("no model matches '%s'; it names public weights: trainc models "
              "--pretrained %s",
              glob, glob);
    if (any_begins(glob))
        usage("no model matches '%s'; did you mean '%s*'?", glob, glob);
    usage("no model matches '%s'; `trainc models` lists all models", glob);
}

static int models_run(struct config *cfg, const struct cmdline *line)
{
    const char *glob = line->narg ? line->arg[0].text : "*";
    const char *exclude = cmdline_value(line, "--exclude");
    const struct model **row = NULL;
    size_t n = 0, cap = 0;
    int width = 20; /* of the names */

    if (*cfg->model.pretrained || cmdline_has(line, "--cached") ||
        cmdline_has(line, "--download")) {
        list_pretrained(cfg, line);
        return EXIT_OK;
    }
    for (int i = 0; model_families[i]; i++) {
        for (const struct model *m = model_families[i]->models; m->name; m++) {
            if (fnmatch(glob, m->name, 0) || (exclude && !fnmatch(exclude, m->name, 0)))
                continue;
            GROW(row, n, cap);
            row[n++] = m;
            if ((int)strlen(m->name) > width)
                width = (int)strlen(m->name);
        }
    }
    if (!n)
        die_without_match(glob);
    qsort(row, n, sizeof(*row), by_name);
    say("%-*s %-8s %13s %8s %5s %8s  %s\n", width, "MODEL.NAME", "TYPE", "parameters",
        "GMACs", "size", "classes", "recipe");
    for (size_t i = 0; i < n; i++)
        print_row(row[i], width);
    if (n == 1)
        print_details(row[0]);
    if (!strcmp(glob, "*") && !exclude)
        print_elsewhere();
    free(row);
    return 0;
}

static const char *const models_reads[] = {"MODEL.PRETRAINED", "MODEL.OFFLINE",
                                           "LOG.PROGRESS", NULL};

static const struct cmd_flag models_flags[] = {
    {"--cached", NULL, "list the public weights in this machine's caches"},
    {"--download", NULL,
     "with --pretrained NAME: download these weights to the cache and print their path"},
    {"--exclude", "GLOB", "leave out the names that match GLOB"},
    {0},
};

const struct verb cmd_models = {
    .name = "models",
    .examples = (const char *const[]){"trainc models 'resnet*'",
                                      "trainc models --pretrained", NULL},
    .help = "list the models, with parameters, GMACs, and recipe",
    .about =
        "GLOB is a shell pattern of names: 'resnet*d', '*50*'. GMACs are for one image "
        "of "
        "the model's default size. For a single model, also prints its input and the "
        "tags "
        "of its public weights. With --pretrained, lists public weights: input, "
        "ImageNet-1k "
        "accuracy if known, license, and whether the cache of the Hugging Face Hub or "
        "torch.hub holds them.",
    .args = "[GLOB]",
    .max_args = 1,
    .flags = models_flags,
    .reads = models_reads,
    .run = models_run,
};
