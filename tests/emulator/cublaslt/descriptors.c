/* Layouts, operations and preferences, with the sizes of their attributes. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cublaslt/matmul.h"

#define OK  CUBLAS_STATUS_SUCCESS
#define BAD CUBLAS_STATUS_INVALID_VALUE

struct field {
    int name;
    size_t offset, size;
};

#define FIELD(s, n, f)                                                                   \
    {                                                                                    \
        .name = (int)(n), .offset = offsetof(struct s, f),                               \
        .size = sizeof(((struct s *)0)->f)                                               \
    }

static const struct field layout_fields[] = {
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, type),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, order),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_COLS, cols),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_LD, ld),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, offset),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, plane),
    FIELD(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, batch_mode),
    {0},
};

static const struct field operation_fields[] = {
    FIELD(operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute),
    FIELD(operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale),
    FIELD(operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode),
    FIELD(operation, CUBLASLT_MATMUL_DESC_TRANSA, trans_a),
    FIELD(operation, CUBLASLT_MATMUL_DESC_TRANSB, trans_b),
    FIELD(operation, CUBLASLT_MATMUL_DESC_TRANSC, trans_c),
    FIELD(operation, CUBLASLT_MATMUL_DESC_FILL_MODE, fill),
    FIELD(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue),
    FIELD(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias),
    FIELD(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, bias_stride),
    FIELD(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux),
    FIELD(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld),
    FIELD(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
    FIELD(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, sm_count),
    FIELD(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, aux_type),
    FIELD(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type),
    {0},
};

static const struct field preference_fields[] = {
    FIELD(preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, search),
    FIELD(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace),
    FIELD(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes),
    FIELD(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, align[0]),
    FIELD(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, align[1]),
    FIELD(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align[2]),
    FIELD(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align[3]),
    FIELD(preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, waves),
    FIELD(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, implementations),
    {0},
};

static const struct field *find(const struct field *f, int name)
{
    while (f->size && f->name != name)
        f++;
    return f->size ? f : NULL;
}

static cublasStatus_t set(const struct field *fields, void *dst, int name,
                          const void *buf, size_t size)
{
    const struct field *f = find(fields, name);

    if (!dst || !f || !buf || size != f->size)
        return BAD;
    memcpy((char *)dst + f->offset, buf, size);
    return OK;
}

static cublasStatus_t get(const struct field *fields, const void *src, int name,
                          void *buf, size_t size, size_t *written)
{
    const struct field *f = find(fields, name);

    if (!src || !f || (size && size != f->size) || (!size && !written) || (size && !buf))
        return BAD;
    if (written)
        *written = f->size;
    if (size)
        memcpy(buf, (const char *)src + f->offset, size);
    return OK;
}

static void *make(size_t size)
{
    void *p = calloc(1, size);

    if (!p)
        abort();
    return p;
}

static struct layout *layout(cublasLtMatrixLayout_t l)
{
    struct layout *p = (struct layout *)(void *)l;

    return p && p->magic == MAGIC_LAYOUT ? p : NULL;
}

static struct operation *operation(cublasLtMatmulDesc_t d)
{
    struct operation *p = (struct operation *)(void *)d;

    return p && p->magic == MAGIC_OPERATION ? p : NULL;
}

static struct preference *preference(cublasLtMatmulPreference_t d)
{
    struct preference *p = (struct preference *)(void *)d;

    return p && p->magic == MAGIC_PREFERENCE ? p : NULL;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    struct layout *l = make(sizeof(*l));

    *l = (struct layout){.magic = MAGIC_LAYOUT,
                         .type = (int32_t)type,
                         .batch = 1,
                         .rows = rows,
                         .cols = cols,
                         .ld = ld};
    *made = (cublasLtMatrixLayout_t)(void *)l;
    return OK;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    struct layout *p = layout(l);

    if (!p)
        return BAD;
    p->magic = 0;
    free(p);
    return OK;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void *buf, size_t size)
{
    return set(layout_fields, layout(l), (int)name, buf, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                void *buf, size_t size, size_t *written)
{
    return get(layout_fields, layout(l), (int)name, buf, size, written);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made,
                                        cublasComputeType_t compute, cudaDataType_t scale)
{
    struct operation *o = make(sizeof(*o));

    *o = (struct operation){.magic = MAGIC_OPERATION,
                            .compute = (int32_t)compute,
                            .scale = (int32_t)scale,
                            .fill = CUBLAS_FILL_MODE_FULL,
                            .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                            .bias_type = -1,
                            .aux_type = -1};
    *made = (cublasLtMatmulDesc_t)(void *)o;
    return OK;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    struct operation *p = operation(d);

    if (!p)
        return BAD;
    p->magic = 0;
    free(p);
    return OK;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *buf, size_t size)
{
    return set(operation_fields, operation(d), (int)name, buf, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t name,
                                              void *buf, size_t size, size_t *written)
{
    return get(operation_fields, operation(d), (int)name, buf, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    struct preference *p = make(sizeof(*p));

    *p = (struct preference){.magic = MAGIC_PREFERENCE, .align = {256, 256, 256, 256}};
    *made = (cublasLtMatmulPreference_t)(void *)p;
    return OK;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t d)
{
    struct preference *p = preference(d);

    if (!p)
        return BAD;
    p->magic = 0;
    free(p);
    return OK;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     const void *buf, size_t size)
{
    return set(preference_fields, preference(p), (int)name, buf, size);
}

cublasStatus_t
cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t p,
                                     cublasLtMatmulPreferenceAttributes_t name, void *buf,
                                     size_t size, size_t *written)
{
    return get(preference_fields, preference(p), (int)name, buf, size, written);
}
