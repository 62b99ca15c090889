/*
 * D = epilogue(alpha op(A) op(B) + beta C), summed in double. GELU uses tanh, as in the
 * library.
 */
#include <math.h>

#include "base/half.h"
#include "tests/emulator/cublaslt/matmul.h"

static double get(const void *p, int64_t i, int type)
{
    if (type == CUDA_R_32F)
        return (double)((const float *)p)[i];
    if (type == CUDA_R_16F)
        return (double)fp16_to_float(((const uint16_t *)p)[i]);
    return (double)bf16_to_float(((const uint16_t *)p)[i]);
}

static void put(void *p, int64_t i, int type, double v)
{
    if (type == CUDA_R_32F)
        ((float *)p)[i] = (float)v;
    else if (type == CUDA_R_16F)
        ((uint16_t *)p)[i] = fp16_from_float((float)v);
    else
        ((uint16_t *)p)[i] = bf16_from_float((float)v);
}

static int64_t place(const struct layout *l, int64_t batch, int64_t row, int64_t col)
{
    bool by_column = l->order == CUBLASLT_ORDER_COL;

    return batch * l->offset + (by_column ? col * l->ld + row : row * l->ld + col);
}

/* Rounds an operand to the precision of the multiply unit. */
static double narrowed(double v, int compute)
{
    uint32_t u = float_bits((float)v);

    if (compute == CUBLAS_COMPUTE_32F_FAST_16F)
        return (double)fp16_to_float(fp16_from_float((float)v));
    if (compute == CUBLAS_COMPUTE_32F_FAST_16BF)
        return (double)bf16_to_float(bf16_from_float((float)v));
    if (compute == CUBLAS_COMPUTE_32F_FAST_TF32 && (u & 0x7f800000u) != 0x7f800000u)
        return (double)float_from_bits((u + 0x1000u) & ~0x1fffu);
    return v;
}

static double a_at(const struct matmul *p, int64_t batch, int64_t m, int64_t k)
{
    bool t = p->op.trans_a != CUBLAS_OP_N;

    return get(p->pa, place(&p->a, batch, t ? k : m, t ? m : k), p->a.type);
}

static double b_at(const struct matmul *p, int64_t batch, int64_t k, int64_t n)
{
    bool t = p->op.trans_b != CUBLAS_OP_N;

    return get(p->pb, place(&p->b, batch, t ? n : k, t ? k : n), p->b.type);
}

static double scalar(const void *on_device, float value)
{
    return on_device ? (double)*(const float *)on_device : (double)value;
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));

    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

/* Returns the mask's byte and bit that record a positive value. */
static unsigned char *mask(const struct matmul *p, int64_t batch, int64_t m, int64_t n,
                           unsigned *bit)
{
    int64_t i = batch * p->op.aux_stride + n * p->op.aux_ld + m;

    *bit = 1u << (i % 8);
    return (unsigned char *)p->op.aux + i / 8;
}

static double activation(const struct matmul *p, int64_t batch, int64_t m, int64_t n,
                         double v)
{
    int e = p->op.epilogue;
    int64_t pos = batch * p->op.aux_stride + n * p->op.aux_ld + m;
    unsigned char *byte;
    unsigned bit;

    if (epilogue_has_bias(e))
        v += get(p->op.bias, batch * p->op.bias_stride + m, p->d.type);
    if (e & CUBLASLT_EPILOGUE_RELU && e & 128) {
        byte = mask(p, batch, m, n, &bit);
        *byte = (unsigned char)(v > 0 ? *byte | bit : *byte & ~bit);
    }
    if (e & CUBLASLT_EPILOGUE_RELU)
        return v > 0 || isnan(v) ? v : 0;
    if (e & CUBLASLT_EPILOGUE_GELU && e & 128) {
        put(p->op.aux, pos, p->d.type, v);
        v = get(p->op.aux, pos, p->d.type);
    }
    if (e & CUBLASLT_EPILOGUE_GELU)
        return gelu(v);
    if (e & 64)
        return v * gelu_slope(get(p->op.aux, pos, p->d.type));
    if (e & 8) {
        byte = mask(p, batch, m, n, &bit);
        return *byte & bit ? v : 0;
    }
    return v;
}

/* Computes row m of the result; returns the sum along it. */
static double compute_row(const struct matmul *p, int64_t batch, int64_t m, double alpha,
                          double beta)
{
    int64_t depth = (int64_t)(p->op.trans_a ? p->a.rows : p->a.cols);
    double row = 0;

    for (int64_t n = 0; n < (int64_t)p->d.cols; n++) {
        int64_t dst = place(&p->d, batch, m, n);
        double sum = 0;

        for (int64_t k = 0; k < depth; k++)
            sum += narrowed(a_at(p, batch, m, k), p->op.compute) *
                   narrowed(b_at(p, batch, k, n), p->op.compute);
        sum *= alpha;
        if (beta != 0)
            sum += beta * get(p->pc, place(&p->c, batch, m, n), p->c.type);
        sum = activation(p, batch, m, n, sum);
        row += sum;
        put(p->pd, dst, p->d.type, sum);
    }
    return row;
}

static void operand_sums(const struct matmul *p, int64_t batch)
{
    bool of_a = p->op.epilogue == CUBLASLT_EPILOGUE_BGRADA;
    int64_t depth = (int64_t)(p->op.trans_a ? p->a.rows : p->a.cols);
    int64_t count = (int64_t)(of_a ? p->d.rows : p->d.cols);

    for (int64_t i = 0; i < count; i++) {
        double sum = 0;

        for (int64_t k = 0; k < depth; k++)
            sum += of_a ? a_at(p, batch, i, k) : b_at(p, batch, k, i);
        put(p->op.bias, batch * p->op.bias_stride + i, p->d.type, sum);
    }
}

void product_compute(const struct matmul *p)
{
    double alpha = scalar(p->alpha, p->alpha_value),
           beta = scalar(p->beta, p->beta_value);
    int e = p->op.epilogue;
    bool sums = e == CUBLASLT_EPILOGUE_BGRADA || e == CUBLASLT_EPILOGUE_BGRADB;

    for (int64_t batch = 0; batch < p->d.batch; batch++) {
        if (sums)
            operand_sums(p, batch);
        for (int64_t m = 0; m < (int64_t)p->d.rows; m++) {
            double row = compute_row(p, batch, m, alpha, beta);

            if (epilogue_has_bgrad(e) && !sums)
                put(p->op.bias, batch * p->op.bias_stride + m, p->d.type, row);
        }
    }
}
