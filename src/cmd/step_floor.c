#include "cmd/step_floor.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/say.h"
#include "cases/op_bench.h"

bool step_limits(const struct program *p, struct device_limits *l)
{
    return p->backend->limits && p->backend->limits(p->device, l);
}

double step_peak(const struct region *r, const struct device_limits *l)
{
    enum dtype type = r->anchor->nin ? r->anchor->in[0]->dtype : DTYPE_F32;
    double cores = type == DTYPE_F32 ? l->tf32 : l->half;

    return r->kernel->tensor_cores && cores > 0 ? cores : l->fp32;
}

struct step_floor step_floor(const struct region *r, const struct device_limits *l)
{
    double move = (double)op_region_bytes(r) / l->bandwidth;
    double compute = (double)op_region_flops(r) / step_peak(r, l);
    double move_likely = move / STEP_BANDWIDTH_SHARE;
    double compute_likely = compute / STEP_PRODUCT_SHARE;
    struct step_floor f = {
        .floor = move > compute ? move : compute,
        .predicted = move_likely > compute_likely ? move_likely : compute_likely,
        .moves = move_likely > compute_likely,
    };

    if (f.predicted < STEP_MIN)
        f.predicted = STEP_MIN;
    return f;
}

struct step_floor step_floor_all(const struct program *p, const struct device_limits *l)
{
    struct step_floor sum = {0};

    for (int i = 0; i < p->nregion; i++) {
        struct step_floor f = step_floor(p->region[i], l);

        sum.floor += f.floor;
        sum.predicted += f.predicted;
    }
    return sum;
}

static void print_kernels(const struct program *p, const struct device_limits *l,
                          double all)
{
    say("  %-28s %5s %10s %6s %10s  %s\n", "kernel", "calls", "predicted", "share",
        "floor", "bound by");
    for (int i = 0; i < p->nregion; i++) {
        const struct kernel *k = p->region[i]->kernel;
        struct step_floor sum = {0};
        int count = 0, moving = 0;
        bool seen = false;

        for (int j = 0; j < p->nregion; j++) {
            struct step_floor f = step_floor(p->region[j], l);

            if (p->region[j]->kernel != k)
                continue;
            seen |= j < i;
            count++;
            moving += f.moves;
            sum.floor += f.floor;
            sum.predicted += f.predicted;
        }
        if (!seen)
            say("  %-28s %5d %7.3f ms %5.1f%% %7.3f ms  memory in %d of %d\n", k->name,
                count, 1e3 * sum.predicted, 100 * sum.predicted / all, 1e3 * sum.floor,
                moving, count);
    }
}

void step_floor_print(const struct program *p, int64_t batch)
{
    struct step_floor all;
    struct device_limits l;

    if (!p->backend->limits)
        return;
    say("\npredicted time of a step\n");
    if (!step_limits(p, &l)) {
        say("  unknown: the clocks or the memory width of the device are unknown\n");
        return;
    }
    all = step_floor_all(p, &l);
    say("  floor %.2f ms, %.0f img/s: each kernel at %.2f TB/s, or at %.0f TFLOP/s (TF32 "
        "%.0f, fp32 %.0f)\n",
        1e3 * all.floor, (double)batch / all.floor, l.bandwidth * 1e-12, l.half * 1e-12,
        l.tf32 * 1e-12, l.fp32 * 1e-12);
    say("  predicted %.2f ms, %.0f img/s: each kernel at %.0f %% of that bandwidth or "
        "%.0f "
        "%% of that rate, but at least %.1f us\n",
        1e3 * all.predicted, (double)batch / all.predicted, 100 * STEP_BANDWIDTH_SHARE,
        100 * STEP_PRODUCT_SHARE, 1e6 * STEP_MIN);
    print_kernels(p, &l, all.predicted);
}
