/*
 * Checks which GEMMs exist: combinations of types, shapes, leading dimensions, and
 * requirements of the epilogues.
 */
#include "tests/emulator/cublaslt/matmul.h"

int64_t element_size(int type)
{
    return type == CUDA_R_32F ? 4 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 0;
}

bool epilogue_has_bias(int e)
{
    return e & CUBLASLT_EPILOGUE_BIAS;
}

bool epilogue_has_bgrad(int e)
{
    return e == CUBLASLT_EPILOGUE_DRELU_BGRAD || e == CUBLASLT_EPILOGUE_DGELU_BGRAD ||
           e == CUBLASLT_EPILOGUE_BGRADA || e == CUBLASLT_EPILOGUE_BGRADB;
}

bool epilogue_has_aux(int e)
{
    return e & 128;
}

static bool known_epilogue(int e)
{
    switch (e) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
        return true;
    default:
        return false;
    }
}

/* The rows of NVIDIA's table with float sums. */
static cublasStatus_t check_types(const struct matmul *p)
{
    int data = p->a.type, out = p->d.type;
    bool fast = p->op.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                p->op.compute == CUBLAS_COMPUTE_32F_FAST_16F ||
                p->op.compute == CUBLAS_COMPUTE_32F_FAST_16BF;

    if (!fast && p->op.compute != CUBLAS_COMPUTE_32F &&
        p->op.compute != CUBLAS_COMPUTE_32F_PEDANTIC)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!element_size(data) || p->b.type != data || p->c.type != out ||
        p->op.scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (out != data && out != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return fast && data != CUDA_R_32F ? CUBLAS_STATUS_NOT_SUPPORTED
                                      : CUBLAS_STATUS_SUCCESS;
}

static bool good_layout(const struct layout *l)
{
    int64_t along = (int64_t)(l->order == CUBLASLT_ORDER_COL ? l->rows : l->cols);

    return l->rows > 0 && l->cols > 0 && l->ld >= along && l->batch > 0 &&
           (l->order == CUBLASLT_ORDER_COL || l->order == CUBLASLT_ORDER_ROW) &&
           !l->plane && !l->batch_mode;
}

static cublasStatus_t check_shapes(const struct matmul *p)
{
    bool ta = p->op.trans_a != CUBLAS_OP_N, tb = p->op.trans_b != CUBLAS_OP_N;
    uint64_t m = ta ? p->a.cols : p->a.rows, k = ta ? p->a.rows : p->a.cols;
    uint64_t kb = tb ? p->b.cols : p->b.rows, n = tb ? p->b.rows : p->b.cols;

    if (!good_layout(&p->a) || !good_layout(&p->b) || !good_layout(&p->c) ||
        !good_layout(&p->d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (k != kb || p->d.rows != m || p->d.cols != n || p->c.rows != m || p->c.cols != n ||
        p->c.order != p->d.order)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->b.batch != p->a.batch || p->c.batch != p->a.batch || p->d.batch != p->a.batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->d.batch > 1 && p->d.offset < p->d.ld)
        return CUBLAS_STATUS_INVALID_VALUE; /* results that overlap */
    return CUBLAS_STATUS_SUCCESS;
}

/* Vectors follow the rows of a column-major result, in the result's type. */
static cublasStatus_t check_epilogue(const struct matmul *p)
{
    int e = p->op.epilogue;
    bool relu_aux = epilogue_has_aux(e) && (e & (CUBLASLT_EPILOGUE_RELU | 8));
    int64_t step = relu_aux ? 128 : 8;

    if (!known_epilogue(e))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (e == CUBLASLT_EPILOGUE_DEFAULT)
        return CUBLAS_STATUS_SUCCESS;
    if (p->d.order != CUBLASLT_ORDER_COL)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((epilogue_has_bias(e) || epilogue_has_bgrad(e)) && p->op.bias_type >= 0 &&
        p->op.bias_type != p->d.type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!epilogue_has_aux(e))
        return CUBLAS_STATUS_SUCCESS;
    if (!relu_aux && p->op.aux_type >= 0 && p->op.aux_type != p->d.type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p->op.aux_ld % step || p->op.aux_ld < (int64_t)p->d.rows ||
        p->op.aux_stride % step)
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t product_check(const struct matmul *p)
{
    cublasStatus_t bad = check_shapes(p);

    if ((unsigned)p->op.trans_a > CUBLAS_OP_T || (unsigned)p->op.trans_b > CUBLAS_OP_T ||
        p->op.trans_c != CUBLAS_OP_N || p->op.fill != CUBLAS_FILL_MODE_FULL ||
        (p->op.pointer_mode != CUBLASLT_POINTER_MODE_HOST &&
         p->op.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!bad)
        bad = check_types(p);
    return bad ? bad : check_epilogue(p);
}

int64_t layout_span(const struct layout *l)
{
    bool col = l->order == CUBLASLT_ORDER_COL;
    int64_t lines = (int64_t)(col ? l->cols : l->rows);
    int64_t along = (int64_t)(col ? l->rows : l->cols);

    return ((lines - 1) * l->ld + along + (l->batch - 1) * l->offset) *
           element_size(l->type);
}
