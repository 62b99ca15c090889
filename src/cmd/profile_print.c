/* Prints the tables of trainc profile and writes its JSON. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/say.h"
#include "cmd/profile.h"
#include "io/json.h"
#include "io/written.h"
#include "train/data_config.h"

enum { PHASES = 3 };

/* Sums over all steps of a layer, per update. */
struct layer {
    const char *name;
    double seconds[PHASES];     /* forward, backward, update */
    double floor, flops, bytes; /* floor: seconds at the limits of the device */
};

struct layers {
    struct layer *layer;
    int n, cap;
};

static double layer_seconds(const struct layer *l)
{
    return l->seconds[0] + l->seconds[1] + l->seconds[2];
}

static struct layer *layer_of(struct layers *l, const char *name)
{
    for (int i = l->n - 1; i >= 0; i--)
        if (!strcmp(l->layer[i].name, name))
            return &l->layer[i];
    GROW(l->layer, l->n, l->cap);
    l->layer[l->n] = (struct layer){.name = name};
    return &l->layer[l->n++];
}

/* Returns the layers in the order of their first step. */
static struct layers layers_of(const struct profile *p)
{
    const struct profile_step *s;
    struct layers all = {0};

    for (int k = 0; (s = profile_step_at(p, k)); k++) {
        struct layer *l = layer_of(&all, s->region->anchor->layer);

        l->seconds[s->region->anchor->phase] += profile_step_total(s);
        l->floor += s->floor * s->per_update;
        l->flops += (double)s->flops * s->per_update;
        l->bytes += (double)s->bytes * s->per_update;
    }
    return all;
}

static const char *floor_text(double seconds, double floor, char text[16])
{
    if (!(floor > 0))
        return "-";
    (void)snprintf(text, 16, "%.1f x", seconds / floor);
    return text;
}

static void print_layers(const struct profile *p)
{
    struct layers all = layers_of(p);
    double sum = profile_steps_sum(p);
    char text[16];

    say("\nlayers, per step\n%-28s %9s %9s %9s %6s %9s %8s %8s\n", "layer", "forward",
        "backward", "optimizer", "share", "GFLOP/s", "GB/s", "floor");
    for (int i = 0; i < all.n; i++) {
        const struct layer *l = &all.layer[i];
        double t = layer_seconds(l);

        say("%-28s %6.3f ms %6.3f ms %6.3f ms %5.1f%% %9.1f %8.1f %8s\n", l->name,
            1e3 * l->seconds[0], 1e3 * l->seconds[1], 1e3 * l->seconds[2], 100 * t / sum,
            l->flops / t * 1e-9, l->bytes / t * 1e-9, floor_text(t, l->floor, text));
    }
    free(all.layer);
}

static void print_step(const struct profile_step *s, double sum)
{
    char text[16];

    say("%-28s %-26s %6.3f ms %5.1f%% %9.1f %8.1f %8s ", s->region->anchor->layer,
        s->region->kernel->name, 1e3 * profile_step_total(s),
        100 * profile_step_total(s) / sum, (double)s->flops / s->seconds * 1e-9,
        (double)s->bytes / s->seconds * 1e-9, floor_text(s->seconds, s->floor, text));
    for (int k = 0; k < s->region->nnode; k++)
        say("%s%s", k ? " + " : " ", node_title(s->region->node[k]));
    if (fabs(s->per_update - 1) > 0.01)
        say(" (%.3g calls per step)", s->per_update);
    say("\n");
}

static void print_head(const char *what)
{
    say("\n%s\n%-28s %-26s %9s %6s %9s %8s %8s  %s\n", what, "layer", "kernel", "time",
        "share", "GFLOP/s", "GB/s", "floor", "ops");
}

static void print_steps(const struct profile *p)
{
    const struct profile_step *s;
    double sum = profile_steps_sum(p);

    print_head("kernel calls, in order");
    for (int k = 0; (s = profile_step_at(p, k)); k++)
        print_step(s, sum);
}

static void print_worst(const struct profile *p, int max)
{
    const struct profile_step **worst = xcalloc((size_t)max + 1, sizeof(*worst));
    int n = profile_worst(p, worst, max);
    double sum = profile_steps_sum(p), lost = 0;

    print_head(p->has_limits ? "kernel calls with the most time above their floor"
                             : "slowest kernel calls");
    for (int i = 0; i < n; i++) {
        print_step(worst[i], sum);
        lost += profile_lost(worst[i]);
    }
    if (p->has_limits)
        say("%d calls, %.3f ms above their floors: %.1f%% of the kernel time\n", n,
            1e3 * lost, 100 * lost / sum);
    free(worst);
}

static void print_data(const struct profile *p)
{
    const struct loader_stats *l = &p->loader;
    double wall = p->ended - p->began, work = stage_times_sum(&l->stages);
    double n = l->samples > 0 ? (double)l->samples : 1;

    say("\ndata: waited %.1f ms of %.1f s (%.1f%%); %d loader workers loaded %lld "
        "images\n",
        1e3 * p->waited, wall, 100 * p->waited / wall, data_workers(p->cfg),
        (long long)l->samples);
    say("%-28s %12s %6s\n", "stage", "us per image", "share");
    for (int i = 0; i < STAGES; i++)
        say("%-28s %12.1f %5.1f%%\n", stage_name((enum stage)i),
            1e6 * l->stages.seconds[i] / n,
            work > 0 ? 100 * l->stages.seconds[i] / work : 0);
    say("%-28s %12.1f        one worker loads %.0f images/s; training uses %.0f\n", "all",
        1e6 * work / n, work > 0 ? n / work : 0,
        (double)p->updates * profile_images(p) / wall);
}

static void print_waits(const struct profile *p)
{
    double wall = p->ended - p->began, n = (double)p->updates;

    say("\ntime per step: %.3f ms (mean of %lld)\n", 1e3 * wall / n,
        (long long)p->updates);
    say("  %-34s %9.3f ms %5.1f%%\n", "waiting for data", 1e3 * p->waited / n,
        100 * p->waited / wall);
    if (p->session.backend->async) {
        say("  %-34s %9.3f ms %5.1f%%  (kernels timed separately: %.3f ms)\n",
            "launching and waiting for the GPU", 1e3 * p->ran / n, 100 * p->ran / wall,
            1e3 * profile_steps_sum(p));
    } else {
        say("  %-34s %9.3f ms %5.1f%%\n", "kernels", 1e3 * (p->ran - p->refreshed) / n,
            100 * (p->ran - p->refreshed) / wall);
        say("  %-34s %9.3f ms %5.1f%%\n", "packing weights and input",
            1e3 * p->refreshed / n, 100 * p->refreshed / wall);
    }
    say("  %-34s %9.3f ms %5.1f%%\n", "other work of the host",
        1e3 * (wall - p->waited - p->ran) / n, 100 * (wall - p->waited - p->ran) / wall);
    if (p->session.backend->waits)
        say("  the host synchronized with the device %lld times and waited for %lld "
            "events\n",
            (long long)p->waits.sync, (long long)p->waits.await);
}

static void print_limits(const struct profile *p)
{
    const struct device_limits *l = &p->limits;
    const struct profile_step *s;
    double floor = 0;

    if (!p->has_limits) {
        say("device limits: unknown\n");
        return;
    }
    for (int k = 0; (s = profile_step_at(p, k)); k++)
        floor += s->floor * s->per_update;
    say("device limits: %.1f GB/s, %.0f GFLOP/s%s; at these limits all kernels would "
        "take "
        "%.3f ms instead of %.3f ms\n",
        l->bandwidth * 1e-9, profile_peak(p) * 1e-9,
        p->measured_limits ? " (measured with a large copy and a large GEMM)" : "",
        1e3 * floor, 1e3 * profile_steps_sum(p));
}

void profile_print(const struct profile *p, int worst, bool brief)
{
    const struct session *s = &p->session;
    struct strbuf advice = STRBUF_INIT;
    double update = profile_update_median(p);

    say("%s on %s (%s), %s, batch %lld%s: %lld steps\n", p->cfg->model.name,
        s->backend->name, s->backend->describe(s->device), s->plan.compute,
        (long long)s->plan.batch, s->plan.accumulation.group > 1 ? ", accumulated" : "",
        (long long)p->updates);
    say("step time: %.3f ms (median), %.1f img/s\n", 1e3 * update,
        profile_images(p) / update);
    print_limits(p);
    print_layers(p);
    if (!brief)
        print_steps(p);
    if (worst)
        print_worst(p, worst);
    print_data(p);
    print_waits(p);
    (void)profile_advice(p, &advice);
    say("\nwhat to change\n");
    say_text(advice.buf);
    (void)fflush(stdout);
    strbuf_release(&advice);
}

static void put_step(struct json_writer *w, const struct profile_step *s)
{
    static const char *const phase[PHASES] = {"forward", "backward", "update"};

    json_begin_object(w, NULL);
    json_put_string(w, "layer", s->region->anchor->layer);
    json_put_string(w, "phase", phase[s->region->anchor->phase]);
    json_put_string(w, "kernel", s->region->kernel->name);
    json_begin_array(w, "ops");
    for (int k = 0; k < s->region->nnode; k++)
        json_put_string(w, NULL, node_title(s->region->node[k]));
    json_end(w);
    json_put_double(w, "ms", 1e3 * s->seconds);
    json_put_double(w, "times_an_update", s->per_update);
    json_put_int(w, "flops", s->flops);
    json_put_int(w, "bytes", (int64_t)s->bytes);
    json_put_double(w, "gflop_per_second", (double)s->flops / s->seconds * 1e-9);
    json_put_double(w, "gb_per_second", (double)s->bytes / s->seconds * 1e-9);
    json_put_double(w, "floor_ms", s->floor > 0 ? 1e3 * s->floor : (double)NAN);
    json_end(w);
}

static void put_layers(struct json_writer *w, const struct profile *p)
{
    struct layers all = layers_of(p);

    json_begin_array(w, "layers");
    for (int i = 0; i < all.n; i++) {
        json_begin_object(w, NULL);
        json_put_string(w, "layer", all.layer[i].name);
        json_put_double(w, "forward_ms", 1e3 * all.layer[i].seconds[0]);
        json_put_double(w, "backward_ms", 1e3 * all.layer[i].seconds[1]);
        json_put_double(w, "update_ms", 1e3 * all.layer[i].seconds[2]);
        json_end(w);
    }
    json_end(w);
    free(all.layer);
}

static void put_data(struct json_writer *w, const struct profile *p)
{
    double n = p->loader.samples > 0 ? (double)p->loader.samples : 1;

    json_begin_object(w, "data");
    json_put_double(w, "wait_seconds", p->waited);
    json_put_double(w, "wait_share", p->waited / (p->ended - p->began));
    json_put_int(w, "workers", data_workers(p->cfg));
    json_put_int(w, "images", p->loader.samples);
    json_begin_object(w, "us_an_image");
    for (int i = 0; i < STAGES; i++)
        json_put_double(w, stage_name((enum stage)i),
                        1e6 * p->loader.stages.seconds[i] / n);
    json_end(w);
    json_end(w);
}

static void put_steps(struct json_writer *w, const struct profile *p, int max)
{
    const struct profile_step **worst = xcalloc((size_t)max + 1, sizeof(*worst)), *s;
    int n = profile_worst(p, worst, max);

    json_begin_array(w, "steps");
    for (int k = 0; (s = profile_step_at(p, k)); k++)
        put_step(w, s);
    json_end(w);
    json_begin_array(w, "worst");
    for (int i = 0; i < n; i++)
        put_step(w, worst[i]);
    json_end(w);
    free(worst);
}

static void put_advice(struct json_writer *w, const struct profile *p)
{
    struct strbuf text = STRBUF_INIT;

    (void)profile_advice(p, &text);
    json_begin_array(w, "advice");
    for (char *line = text.buf, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        json_put_string(w, NULL, line);
    }
    json_end(w);
    strbuf_release(&text);
}

void profile_json(const struct profile *p, int worst, const char *path)
{
    const struct session *s = &p->session;
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);
    double update = profile_update_median(p);

    w.pretty = true;
    written_begin(&w);
    json_put_string(&w, "model", p->cfg->model.name);
    json_put_string(&w, "device", s->backend->name);
    json_put_string(&w, "dtype", s->plan.compute);
    json_put_int(&w, "batch", s->plan.batch);
    json_put_int(&w, "updates", p->updates);
    json_put_double(&w, "images_per_second", profile_images(p) / update);
    json_put_double(&w, "update_ms_median", 1e3 * update);
    json_put_double(&w, "update_ms_mean",
                    1e3 * (p->ended - p->began) / (double)p->updates);
    json_put_double(&w, "program_ms_mean", 1e3 * p->ran / (double)p->updates);
    json_put_double(&w, "bandwidth", p->has_limits ? p->limits.bandwidth : (double)NAN);
    json_put_double(&w, "flop_per_second", profile_peak(p));
    put_layers(&w, p);
    put_steps(&w, p, worst);
    put_data(&w, p);
    put_advice(&w, p);
    json_end(&w);
    strbuf_addch(&text, '\n');
    if (atomic_write_out(path, text.buf, text.len))
        die("cannot write '%s': %s", path, strerror(errno));
    strbuf_release(&text);
}
