/* The mean of losses over rows (cuda/row_loss.h). */
#include "cuda/row_loss.h"

enum { LAST_BLOCK = 256 };

__global__ void __launch_bounds__(LAST_BLOCK)
    row_mean(const double *partial, unsigned blocks, float *loss, float *sums)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0, n = 0;

    for (unsigned i = threadIdx.x; i < blocks; i += LAST_BLOCK) {
        sum += partial[2 * i];
        n += partial[2 * i + 1];
    }
    sum = block_sum<LAST_BLOCK>(sum, shared);
    n = block_sum<LAST_BLOCK>(n, shared);
    if (threadIdx.x)
        return;
    *loss = n > 0 ? (float)(sum / n) : 0;
    *sums = (float)n;
}

size_t row_partial_size(const struct device *dev, const struct tensor *logits)
{
    return (size_t)row_blocks(dev, row_loss_rows(logits), ROWS_WARP) * 8 * 2 *
           sizeof(double);
}

void row_loss_mean(struct device *dev, const double *partial, unsigned blocks,
                   float *loss, float *sums)
{
    LAUNCH(dev, row_mean, 1, LAST_BLOCK, 0, partial, blocks, loss, sums);
}
