/*
 * trainc summary: prints the layers, the memory plan, and the kernels of a configuration
 * without running it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "cases/op_bench.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "cmd/step_floor.h"
#include "cmd/summary_groups.h"
#include "cmd/world.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "io/json.h"
#include "io/written.h"
#include "models/count.h"
#include "session/devices.h"
#include "session/fit.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "session/session.h"
#include "train/data_config.h"

/* The training program of a configuration, compiled for a device. */
struct summary {
    struct session session;
    const struct config *cfg;
    const struct program *program;
    const struct graph *graph;
    int64_t batch;
    struct model_count count; /* MACs and activations of one image */
    size_t stored, kept;      /* bytes, see count_activations() */
};

/* Counts the bytes that forward nodes write to the arena (stored), and the part of them
 * that backward nodes read (kept). */
static void count_activations(struct summary *s)
{
    const struct graph *g = s->graph;
    char *read = xcalloc((size_t)g->ntensor + 1, 1);

    for (int r = 0; r < s->program->nregion; r++) {
        const struct region *region = s->program->region[r];

        for (int i = 0; i < region->nread; i++)
            read[tensor_base(region->read[i])->id] |=
                region->anchor->phase != PHASE_FORWARD;
    }
    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = g->tensor[i];

        if (t->memory != MEMORY_ARENA || t->alias_of || !t->producer ||
            t->producer->phase != PHASE_FORWARD)
            continue;
        s->stored += tensor_room(t);
        s->kept += read[i] ? tensor_room(t) : 0;
    }
    free(read);
}

static void summary_init(struct summary *s, const struct config *cfg)
{
    bool stages = cfg->model.features_only;
    enum session_program index = stages ? SESSION_EVAL : SESSION_TRAIN;

    *s = (struct summary){.cfg = cfg};
    session_init(&s->session, cfg,
                 &(struct session_options){
                     .train = !stages, .eval = stages, .keep_declines = true});
    s->program = s->session.program[index];
    s->graph = s->session.build[index].graph;
    s->batch = stages ? s->session.plan.val_batch : s->session.plan.batch;
    s->count =
        model_count(s->graph, s->session.plan.model, &s->session.plan.options, NULL);
    s->count.macs /= s->batch;
    s->count.acts /= s->batch;
    count_activations(s);
}

static const char *grouped(struct strbuf *s, int64_t n)
{
    strbuf_reset(s);
    strbuf_add_grouped(s, n);
    return s->buf;
}

static const char *bytes(struct strbuf *s, size_t n)
{
    strbuf_reset(s);
    strbuf_add_bytes(s, (double)n);
    return s->buf;
}

/* Prints the outputs of MODEL.FEATURES_ONLY with timm's names. */
static void print_stages(const struct session *s)
{
    for (int i = 0; i < s->plan.nout; i++) {
        const struct model_stage *g = session_stage(s, i);

        say("stage %d: %s, %d channels of %d x %d, reduction %d\n", s->plan.out[i],
            g->name, g->channels, g->width, g->height, g->reduction);
    }
    if (s->plan.nout)
        say("\n");
}

static void print_layers(const struct summary *s)
{
    const struct graph *g = s->graph;
    struct strbuf params = STRBUF_INIT;
    char shape[TENSOR_TEXT];

    print_stages(&s->session);
    say("%-28s %-16s %-26s %12s %12s\n", "layer", "op", "output", "parameters",
        "MMACs/image");
    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];
        int64_t macs = n->op->macs ? n->op->macs(n) / s->batch : 0;

        if (n->phase != PHASE_FORWARD || n->op == g->ops->cast || !n->op->nout)
            continue;
        say("%-28s %-16s %-26s %12s %12.2f\n", n->layer, node_title(n),
            tensor_text(n->out[0], shape), grouped(&params, model_node_params(g, n)),
            (double)macs / 1e6);
    }
    strbuf_release(&params);
}

static void print_memory(const struct summary *s)
{
    struct strbuf text = STRBUF_INIT;
    size_t total = 0;

    say("\nmemory\n");
    say("  %-24s %12s", "activations", bytes(&text, s->stored));
    say("  of which %s are read by the backward pass\n", bytes(&text, s->kept));
    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++) {
        size_t need = session_bytes(&s->session, (enum memory)m);

        if (!need)
            continue;
        total += need;
        say("  %-24s %12s", memory_name((enum memory)m), bytes(&text, need));
        if (m == MEMORY_ARENA) {
            say("  lower bound %s", bytes(&text, s->program->lower_bound));
            say(", %.1f %% above it",
                s->program->lower_bound
                    ? 100.0 * (double)need / (double)s->program->lower_bound - 100
                    : 0);
        }
        say("\n");
    }
    if (session_slot_bytes(&s->session)) {
        say("  %-24s %12s\n", "batches in transfer",
            bytes(&text, session_slot_bytes(&s->session)));
        total += session_slot_bytes(&s->session);
    }
    say("  %-24s %12s\n", "total", bytes(&text, total));
    strbuf_release(&text);
}

/* For a GPU, prints its free and total memory, and a warning if the free memory does not
 * suffice. */
static void print_fit(const struct summary *s)
{
    const struct session *n = &s->session;
    struct strbuf text = STRBUF_INIT;
    struct device_memory m;

    if (!n->backend->memory || !n->backend->memory(n->device, &m))
        return;
    say("  %-24s %12s\n", "libraries (estimate)", bytes(&text, m.reserve));
    say("  %-24s %12s", "free on the device", bytes(&text, m.free));
    say(" of %s\n", bytes(&text, m.total));
    strbuf_reset(&text);
    if (!fit_check(n, &text))
        say("  %s\n", text.buf);
    strbuf_release(&text);
}

static const char *phase_name(enum phase p)
{
    static const char *const name[] = {"forward", "backward", "update"};

    return name[p];
}

/* Sets s to the kernel's description of step i, such as the cuDNN engine. */
static void add_detail(struct strbuf *s, const struct program *p, int i)
{
    strbuf_reset(s);
    if (p->region[i]->kernel->describe)
        p->region[i]->kernel->describe(&p->step[i], s);
}

static void print_claims(const struct program *p)
{
    struct strbuf detail = STRBUF_INIT;

    say("\nkernel calls, in order\n%-9s %-28s %-26s %s\n", "phase", "layer", "kernel",
        "nodes");
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];

        say("%-9s %-28s %-26s", phase_name(r->anchor->phase), r->anchor->layer,
            r->kernel->name);
        for (int k = 0; k < r->nnode; k++)
            say("%s%s", k ? " + " : " ", node_title(r->node[k]));
        for (int k = 0; k < r->ncopy; k++)
            say(" + (%s)", node_title(r->copy[k]));
        add_detail(&detail, p, i);
        say("%s%s\n", detail.len ? ": " : "", detail.buf);
    }
    strbuf_release(&detail);
}

/* True if both have the same kernel, op, and reason. */
static bool same_decline(const struct decline *a, const struct decline *b)
{
    return a->kernel == b->kernel && a->node->op == b->node->op &&
           !strcmp(a->reason, b->reason);
}

/* True if the kernel has claimed another node of this op. A kernel for other ops declines
 * every node of this one, which is not worth reporting. */
static bool is_news(const struct program *p, const struct decline *d)
{
    for (int i = 0; i < p->nregion; i++)
        if (p->region[i]->kernel == d->kernel)
            for (int k = 0; k < p->region[i]->nnode; k++)
                if (p->region[i]->node[k]->op == d->node->op)
                    return true;
    return false;
}

static void print_declines(const struct program *p, bool all)
{
    char *done = xcalloc((size_t)p->ndecline + 1, 1);
    bool title = false;

    for (int i = 0; i < p->ndecline; i++) {
        const struct decline *d = &p->decline[i];
        int times = 0;

        if (done[i])
            continue;
        for (int k = i; k < p->ndecline; k++)
            if (same_decline(d, &p->decline[k])) {
                done[k] = 1;
                times++;
            }
        if (!all && !is_news(p, d))
            continue;
        if (!title)
            say("\nrejected kernels: op, kernel, reason, count, first layer\n");
        title = true;
        say("%-20s %-26s %s, %d x, %s\n", node_title(d->node), d->kernel->name, d->reason,
            times, d->node->layer);
    }
    free(done);
}

static void print_head(const struct summary *s)
{
    const struct plan *plan = &s->session.plan;
    struct strbuf text = STRBUF_INIT;

    say("%s: batch %" PRId64 ", %dx%d pixels, %s at O%d, %s\n\n", s->cfg->model.name,
        s->batch, config_width(s->cfg), config_height(s->cfg), plan->compute,
        (int)plan->level, s->session.backend->describe(s->session.device));
    print_layers(s);
    say("\nparameters  %s", grouped(&text, s->count.params));
    say(" in %d tensors\nGMACs       %.3f", s->count.tensors,
        (double)s->count.macs / 1e9);
    say(" per image, forward (%s)\n", grouped(&text, s->count.macs));
    say("outputs     %s elements per image (of layers with MACs)\n",
        grouped(&text, s->count.acts));
    strbuf_release(&text);
}

static void json_claims(struct json_writer *w, const struct program *p)
{
    struct strbuf detail = STRBUF_INIT;
    struct device_limits limits;
    bool timed = step_limits(p, &limits);

    json_begin_array(w, "claims");
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];

        json_begin_object(w, NULL);
        json_put_string(w, "layer", r->anchor->layer);
        json_put_string(w, "phase", phase_name(r->anchor->phase));
        json_put_string(w, "kernel", r->kernel->name);
        add_detail(&detail, p, i);
        if (detail.len)
            json_put_string(w, "detail", detail.buf);
        json_put_int(w, "workspace_bytes", (int64_t)r->workspace);
        json_put_int(w, "bytes", (int64_t)op_region_bytes(r));
        json_put_int(w, "flops", op_region_flops(r));
        if (timed)
            json_put_double(w, "predicted_seconds", step_floor(r, &limits).predicted);
        json_begin_array(w, "ops");
        for (int k = 0; k < r->nnode; k++)
            json_put_string(w, NULL, node_title(r->node[k]));
        json_end(w);
        json_begin_array(w, "recomputed");
        for (int k = 0; k < r->ncopy; k++)
            json_put_string(w, NULL, node_title(r->copy[k]));
        json_end(w);
        json_end(w);
    }
    json_end(w);
    strbuf_release(&detail);
}

static void json_memory(struct json_writer *w, const struct session *s)
{
    json_begin_object(w, "memory");
    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
        if (session_bytes(s, (enum memory)m))
            json_put_int(w, memory_name((enum memory)m),
                         (int64_t)session_bytes(s, (enum memory)m));
    json_end(w);
    json_put_int(w, "need_bytes", (int64_t)fit_need(s));
}

static void json_fit(struct json_writer *w, const struct session *s)
{
    struct strbuf why = STRBUF_INIT;
    struct device_memory m;

    if (s->backend->memory && s->backend->memory(s->device, &m)) {
        json_put_int(w, "free_bytes", (int64_t)m.free);
        json_put_int(w, "reserve_bytes", (int64_t)m.reserve);
        json_put_bool(w, "fits", fit_check(s, &why));
    }
    if (why.len)
        json_put_string(w, "why", why.buf);
    strbuf_release(&why);
}

static void json_time(struct json_writer *w, const struct summary *s)
{
    struct device_limits l;
    struct step_floor all;

    if (!step_limits(s->program, &l))
        return;
    all = step_floor_all(s->program, &l);
    json_put_double(w, "floor_seconds", all.floor);
    json_put_double(w, "predicted_seconds", all.predicted);
    json_put_double(w, "predicted_images_per_second", (double)s->batch / all.predicted);
}

/* Fills w from --world, --link and --step-ms. Returns false without --world. */
static bool world_of(const struct config *cfg, const struct cmdline *line,
                     struct world *w)
{
    const char *n = cmdline_value(line, "--world"), *link = cmdline_value(line, "--link");
    const char *ms = cmdline_value(line, "--step-ms");

    if (!n && (link || ms))
        usage("--link and --step-ms have no effect without --world N");
    if (!n)
        return false;
    if (cfg->model.features_only)
        usage(
            "--world cannot be combined with MODEL.FEATURES_ONLY, which does not train");
    *w = (struct world){
        .processes = (int)run_number("--world", n, 2, 1 << 20),
        .link = 1e9 * (link ? run_amount("--link", link) : 1.25),
        .seconds = ms ? run_amount("--step-ms", ms) / 1e3 : 0,
        .bucket_bytes = cfg->dist.bucket_mb << 20,
        .half = cfg->dist.half_gradients,
        .shard = cfg->dist.shard_optimizer,
    };
    return true;
}

static void write_json(const struct summary *s, const char *path,
                       const struct world *world)
{
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);
    written_begin(&w);
    json_put_string(&w, "model", s->cfg->model.name);
    json_put_string(&w, "device", s->session.backend->name);
    json_put_string(&w, "device_text", s->session.backend->describe(s->session.device));
    json_put_string(&w, "dtype", s->session.plan.compute);
    json_put_int(&w, "batch", s->batch);
    json_put_int(&w, "params", s->count.params);
    json_put_int(&w, "macs", s->count.macs);
    json_put_int(&w, "activation_bytes", (int64_t)s->stored);
    json_put_int(&w, "saved_bytes", (int64_t)s->kept);
    json_put_int(&w, "arena_bytes", (int64_t)program_need(s->program, MEMORY_ARENA));
    json_put_int(&w, "lower_bound_bytes", (int64_t)s->program->lower_bound);
    json_memory(&w, &s->session);
    json_fit(&w, &s->session);
    json_time(&w, s);
    if (world)
        world_json(&w, s->program, world);
    json_claims(&w, s->program);
    json_end(&w);
    strbuf_addch(&text, '\n');
    if (atomic_write_out(path, text.buf, text.len))
        die("cannot write '%s': %s", path, strerror(errno));
    strbuf_release(&text);
}

static void summary_check(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    model_check(cfg, p);
    device_check(cfg, p);
    if (device_count(cfg) > 1)
        config_blame(cfg, p, KEYS("DEVICE"),
                     "DEVICE %s: trainc summary works on one device; name one",
                     cfg->device);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    data_check_names(cfg, p);
    run_check_unread_weights(cfg, line, p);
    if (cmdline_has(line, "--weights"))
        run_check_own_weights(cfg, line, p);
    run_check_writable(line, "--json", WRITTEN_JSON, p);
}

static int summary_run(struct config *cfg, const struct cmdline *line)
{
    const char *json = cmdline_value(line, "--json"),
               *weights = run_described_weights(line);
    struct summary s;
    struct world world;
    bool several = world_of(cfg, line, &world);

    run_reserve_stdout(line);
    if (weights)
        json_decref(run_classes(cfg, line, weights));
    summary_init(&s, cfg);
    print_head(&s);
    summary_groups_print(&s.session, s.graph);
    print_memory(&s);
    print_fit(&s);
    step_floor_print(s.program, s.batch);
    if (several)
        world_print(s.program, &world);
    print_claims(s.program);
    print_declines(s.program, cmdline_has(line, "--all"));
    if (json)
        write_json(&s, json, several ? &world : NULL);
    session_release(&s.session);
    return 0;
}

static const struct cmd_flag summary_flags[] = {
    {"--weights", "FILE",
     "describe the training of the model in FILE, with the configuration saved in it; "
     "the same as --resume FILE"},
    {"--json", "FILE",
     "also write all figures to FILE as JSON (-: standard output, without other text)"},
    {"--world", "N",
     "predict the communication of N processes, and how much of it overlaps with the "
     "backward pass"},
    {"--link", "GBPS", "for --world: network bandwidth of each process in GB/s (1.25)"},
    {"--step-ms", "T", "for --world on a CPU: measured step time in ms"},
    {"--all", NULL, "list all rejected kernels, including those for other ops"},
    {0},
};

const struct verb cmd_summary = {
    .name = "summary",
    .examples = (const char *const[]){"trainc summary --model resnet50 --batch-size 64",
                                      "trainc summary --resume last.safetensors",
                                      "trainc summary --cfg my.yaml --device h200", NULL},
    .help = "print layers, parameters, MACs, memory, and kernels of a training step",
    .about =
        "Compiles the training step without running it or allocating tensors. Needs "
        "no data set: trainc summary --opts MODEL.TYPE resnet MODEL.NAME resnet50. "
        "Needs no GPU: --device h100 or h200 queries cuDNN for that GPU, and --device "
        "FILE reads the output of trainc devices --json from another machine. --resume "
        "CHECKPOINT describes the model in it, with its number of classes.",
    .flags = summary_flags,
    .weights = run_described_weights,
    .check = summary_check,
    .run = summary_run,
};
