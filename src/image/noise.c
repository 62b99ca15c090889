#include "image/noise.h"

#include <math.h>
#include <pthread.h>

#include "base/erase_formula.h"

static float level[ERASE_LEVELS]; /* quantiles of N(0, 1) */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_levels(void)
{
    for (int i = 0; i < ERASE_LEVELS; i++)
        level[i] = (float)erase_quantile((i + 0.5) / (double)ERASE_LEVELS);
}

static uint8_t noise_byte(uint8_t x, float noise)
{
    float v = (float)x + noise;

    v = v > 0 ? v : 0;
    return (uint8_t)lrintf(v < 255 ? v : 255);
}

void noise_gaussian(struct policy_canvas *c, double std, uint64_t seed)
{
    size_t n = 3 * (size_t)c->w * (size_t)c->h, step = c->gray ? 3 : 1;
    struct philox r = {{0}};
    uint64_t drawn = 0;

    (void)pthread_once(&once, fill_levels);
    for (size_t i = 0; i < n; i += step, drawn++) {
        float noise;

        if (drawn % 8 == 0)
            r = philox(seed, PHILOX_AUGMENT, 0, drawn / 8);
        noise = (float)std * level[erase_level(&r, (int)(drawn % 8))];
        for (size_t k = 0; k < step; k++)
            c->pixel[i + k] = noise_byte(c->pixel[i + k], noise);
    }
}
