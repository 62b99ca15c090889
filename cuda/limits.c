/*
 * Peak rates of a GPU, computed from its clocks and widths. FLOP per clock of one
 * multiprocessor: NVIDIA's architecture white papers (Volta to Blackwell, tables of peak
 * rates without sparsity, divided by multiprocessors and boost clock) and, for plain
 * fp32, the CUDA programming guide's table of arithmetic throughput.
 */
#include "cuda/parts.h"

/* Applies to this compute capability and newer ones up to the next row. */
static const struct rates {
    int compute;
    int fp32, half, tf32; /* FLOP per clock */
} rates[] = {
    {700, 128, 1024, 0},     /* V100 */
    {800, 128, 2048, 1024},  /* A100 */
    {860, 256, 1024, 512},   /* A40; GeForce sums 16-bit GEMMs at half of this rate */
    {900, 256, 4096, 2048},  /* H100, H200 */
    {1000, 256, 8192, 4096}, /* B200 */
    {1200, 256, 1024, 512},  /* RTX PRO 6000 */
};

bool cuda_limits(const struct device *dev, struct device_limits *l)
{
    const struct description *d = &dev->what;
    const struct rates *r = NULL;
    double clocks = d->clock * d->multiprocessors;

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (d->compute >= rates[i].compute)
            r = &rates[i];
    if (!r || clocks <= 0 || d->memory_clock <= 0 || d->memory_width <= 0)
        return false;
    *l = (struct device_limits){
        .bandwidth = d->memory_clock * 2 * d->memory_width / 8, /* two bits per clock */
        .fp32 = clocks * r->fp32,
        .half = clocks * r->half,
        .tf32 = dev->options.tf32 ? clocks * r->tf32 : 0,
    };
    return true;
}
