/*
 * The pass after an 8-bit convolution reads each sum once and writes the inputs of the
 * next layers; a thread computes four channels of one pixel, or one if channels are not a
 * multiple of four. Staging copies four bytes at a time. The rest is computed once from
 * the weights.
 */
#include "cuda/qlayer.h"

#include "cuda/divide.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "ops/qlayer.h"
#include "ops/quantize_formula.h"

enum { BLOCK = DIVIDE_BLOCK, OFFSET = 128 };

/* ---- bytes ---- */

__global__ void __launch_bounds__(BLOCK)
    qstage(const uint8_t *src, int channels, divider words, uint32_t *dst, uint32_t flip,
           int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    quotient pixel = divide_item(words, blockIdx.x, threadIdx.x);
    int first = pixel.rest * 4;
    uint32_t v = 0;

    if (i >= n)
        return;
    src += pixel.quotient * channels;
    for (int k = 0; k < 4; k++)
        if (first + k < channels)
            v |= (uint32_t)src[first + k] << 8 * k;
    dst[i] = v ^ flip;
}

/* Copies without padding; subtracts 128 by inverting the highest bit of each byte. */
__global__ void __launch_bounds__(BLOCK)
    qstage_flat(const uint32_t *src, uint32_t *dst, uint32_t flip, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        dst[i] = src[i] ^ flip;
}

void cuda_qlayer_stage(struct device *dev, int8_t *dst, int64_t stored, const void *src,
                       int64_t channels, int64_t pixels, bool offset)
{
    int64_t n = pixels * stored / 4;
    uint32_t flip = offset ? 0x80808080u : 0;

    if (stored == channels)
        LAUNCH(dev, qstage_flat, cuda_blocks(n, BLOCK, 1), BLOCK, 0,
               (const uint32_t *)src, (uint32_t *)(void *)dst, flip, n);
    else
        LAUNCH(dev, qstage, cuda_blocks(n, BLOCK, 1), BLOCK, 0, (const uint8_t *)src,
               (int)channels, divider_of((unsigned)(stored / 4)), (uint32_t *)(void *)dst,
               flip, n);
}

/* ---- weights ---- */

__global__ void __launch_bounds__(BLOCK)
    qweights(const float *w, int8_t *dst, qlayer_weights size)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    int64_t c = i % size.stored, row = i / size.stored, o = row / size.taps;

    if (o < size.wide)
        dst[i] = o < size.filters && c < size.channels
                     ? (int8_t)w[row * size.channels + c]
                     : 0;
}

void cuda_qlayer_weights(struct device *dev, int8_t *dst, const float *w,
                         const struct qlayer_weights *size)
{
    int64_t n = size->wide * size->taps * size->stored;

    LAUNCH(dev, qweights, cuda_blocks(n, BLOCK, 1), BLOCK, 0, w, dst, *size);
}

__global__ void __launch_bounds__(BLOCK)
    qoffsets(const float *w, int32_t *dst, int rows, int columns, int64_t filters,
             int64_t channels)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, o = i % filters;
    int s = (int)(i / filters % (columns + 1)), r = (int)(i / filters / (columns + 1));
    int32_t sum = 0;

    if (r > rows)
        return;
    for (int a = 0; a < r; a++)
        for (int b = 0; b < s; b++)
            for (int64_t c = 0; c < channels; c++)
                sum += (int32_t)w[((o * rows + a) * columns + b) * channels + c];
    dst[i] = OFFSET * sum;
}

void cuda_qlayer_offsets(struct device *dev, int32_t *dst, const float *w, int rows,
                         int columns, int64_t filters, int64_t channels)
{
    int64_t n = filters * (rows + 1) * (columns + 1);

    LAUNCH(dev, qoffsets, cuda_blocks(n, BLOCK, 1), BLOCK, 0, w, dst, rows, columns,
           filters, channels);
}

/* ---- sums ---- */

/* How threads find their place: items of a row, columns and rows of an image, dilations. */
struct qlayer_split {
    divider row, column, line, dilation_h, dilation_w;
};

/* Sets [*lo, *hi) to the taps of result `pos` that lie within the image. */
HOST_DEVICE static inline void taps_within(const qlayer_axis &a, divider dilation,
                                           int pos, int *lo, int *hi)
{
    int first = pos * a.stride - a.pad;
    int first_tap =
        first < 0 ? (int)divide(dilation, (unsigned)(-first + a.dilation - 1)) : 0;
    int end_tap =
        first < a.in ? (int)divide(dilation, (unsigned)(a.in - 1 - first)) + 1 : 0;

    *lo = first_tap < a.taps ? first_tap : a.taps;
    *hi = end_tap < a.taps ? end_tap : a.taps;
    *hi = *hi > *lo ? *hi : *lo;
}

/* Positions in f.offsets of the four corners of a row's window. */
struct corners {
    const int32_t *plus[2], *minus[2];
};

HOST_DEVICE static inline corners corners_of(const qlayer_finish &f,
                                             const qlayer_split &d, unsigned row)
{
    unsigned pos = divide(d.column, row), image = divide(d.line, pos);
    int64_t line = f.w.taps + 1;
    int top, bottom, left, right;

    taps_within(f.h, d.dilation_h, (int)(pos - image * d.line.divisor), &top, &bottom);
    taps_within(f.w, d.dilation_w, (int)(row - pos * d.column.divisor), &left, &right);
    return {{f.offsets + (bottom * line + right) * f.out,
             f.offsets + (top * line + left) * f.out},
            {f.offsets + (top * line + right) * f.out,
             f.offsets + (bottom * line + left) * f.out}};
}

/* Loads N values, four at once. */
template <int N, class T> HOST_DEVICE static inline void load(T *v, const T *src)
{
    if constexpr (N == 4) {
        vec<T> a = vec_load(src);

        for (int k = 0; k < N; k++)
            v[k] = a.v[k];
    } else {
        for (int k = 0; k < N; k++)
            v[k] = src[k];
    }
}

template <int N> HOST_DEVICE static inline void store(float *dst, const float *v)
{
    if constexpr (N == 4)
        vec_store(dst, vec<float>{{v[0], v[1], v[2], v[3]}});
    else
        for (int k = 0; k < N; k++)
            dst[k] = v[k];
}

template <int N>
HOST_DEVICE static inline void add_offsets(int32_t *sum, const qlayer_finish &f,
                                           const qlayer_split &d, int64_t row, int64_t c)
{
    corners o = corners_of(f, d, (unsigned)row);
    int32_t plus[N], minus[N];

    for (int k = 0; k < 2; k++) {
        load<N>(plus, o.plus[k] + c);
        load<N>(minus, o.minus[k] + c);
        for (int j = 0; j < N; j++)
            sum[j] += plus[j] - minus[j];
    }
}

/* Computes channels [c, c + N) of the result, with shortcut and ReLU. */
template <int N>
HOST_DEVICE static inline void results(float *v, const int32_t *sum,
                                       const qlayer_finish &f, int64_t pos, int64_t c)
{
    float scale[N], bias[N] = {}, other[N] = {};

    load<N>(scale, f.scale + c);
    if (f.bias)
        load<N>(bias, f.bias + c);
    if (f.other)
        load<N>(other, f.other + pos);
    for (int k = 0; k < N; k++) {
        v[k] = qlayer_result(sum[k], *f.x_scale, scale[k], f.bias ? bias : nullptr, k);
        v[k] = f.other ? v[k] + other[k] : v[k];
        v[k] = f.relu && v[k] < 0 ? 0 : v[k];
    }
}

template <int N>
HOST_DEVICE static inline void store_bytes(const qlayer_finish &f, int64_t pos,
                                           const float *v)
{
    float lo = f.is_unsigned ? 0 : (float)QUANTIZE_MIN_I8;
    float hi = f.is_unsigned ? (float)QUANTIZE_MAX_U8 : (float)QUANTIZE_MAX_I8;
    uint32_t word = 0;

    for (int k = 0; k < N; k++)
        word |= ((uint32_t)(int)quantize_element(v[k], *f.y_scale, lo, hi) & 255)
                << 8 * k;
    if constexpr (N == 4)
        *(uint32_t *)(void *)(f.bytes + pos) = word;
    else
        f.bytes[pos] = (uint8_t)word;
}

/* Channels [c, c + N) of one row. */
template <int N>
__global__ void __launch_bounds__(BLOCK)
    qfinish(const __grid_constant__ qlayer_finish f, qlayer_split d, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    quotient q = divide_item(d.row, blockIdx.x, threadIdx.x);
    int64_t row = q.quotient, c = (int64_t)q.rest * N;
    int32_t sum[N];
    float v[N];

    if (i >= n)
        return;
    load<N>(sum, f.sum + row * f.wide + c);
    if (f.offsets)
        add_offsets<N>(sum, f, d, row, c);
    results<N>(v, sum, f, i * N, c);
    if (f.floats)
        store<N>(f.floats + i * N, v);
    if (f.bytes)
        store_bytes<N>(f, i * N, v);
}

template <int N> static void finish(struct device *dev, const qlayer_finish &f)
{
    int64_t n = f.rows * f.out / N;
    qlayer_split d = {divider_of((unsigned)(f.out / N)), divider_of((unsigned)f.w.out),
                      divider_of((unsigned)f.h.out), divider_of((unsigned)f.h.dilation),
                      divider_of((unsigned)f.w.dilation)};

    LAUNCH(dev, qfinish<N>, cuda_blocks(n, BLOCK, 1), BLOCK, 0, f, d, n);
}

void cuda_qlayer_finish(struct device *dev, const struct qlayer_finish *f)
{
    if (f->out % 4 == 0)
        finish<4>(dev, *f);
    else
        finish<1>(dev, *f);
}
