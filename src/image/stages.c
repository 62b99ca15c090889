#include "image/stages.h"

const char *stage_name(enum stage stage)
{
    static const char *const names[STAGES] = {
        [STAGE_READ] = "read",
        [STAGE_DECODE] = "decode",
        [STAGE_RESIZE] = "resize",
        [STAGE_AUGMENT] = "augment",
        [STAGE_COPY] = "copy",
    };

    return names[stage];
}

void stage_times_add(struct stage_times *dst, const struct stage_times *more, double sign)
{
    for (int i = 0; i < STAGES; i++)
        dst->seconds[i] += sign * more->seconds[i];
}

double stage_times_sum(const struct stage_times *t)
{
    double sum = 0;

    for (int i = 0; i < STAGES; i++)
        sum += t->seconds[i];
    return sum;
}

enum stage stage_slowest(const struct stage_times *t)
{
    int slowest = 0;

    for (int i = 1; i < STAGES; i++)
        if (t->seconds[i] > t->seconds[slowest])
            slowest = i;
    return (enum stage)slowest;
}

void stage_times_show(const struct stage_times *t, struct strbuf *out)
{
    struct stage_times left = *t;
    double sum = stage_times_sum(t);

    for (int i = 0; i < STAGES; i++) {
        enum stage s = stage_slowest(&left);

        strbuf_addf(out, "%s%s %.0f %%", i ? ", " : "", stage_name(s),
                    sum > 0 ? 100 * t->seconds[s] / sum : 0);
        left.seconds[s] = -1;
    }
}
