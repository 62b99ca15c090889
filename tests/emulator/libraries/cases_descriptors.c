/* Tensors, attributes, convolutions. */
#include "tests/emulator/libraries/cudnn_cases.h"

#define F32 CUDNN_DATA_FLOAT
#define F16 CUDNN_DATA_HALF

static const struct api_conv same = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
static const int64_t dims[4] = {2, 8, 4, 4}, strides[4] = {128, 1, 32, 8};

static void *image(struct api *a, int64_t uid)
{
    return api_nhwc(a, uid, F16, 2, 8, 4, 4);
}

static void *filter(struct api *a, int64_t uid)
{
    return api_nhwc(a, uid, F16, 8, 8, 3, 3);
}

/* ---- tensors ---- */

/* All attributes except `missing`. */
static void tensor(struct api *a, int64_t align, const int64_t *d, const int64_t *s,
                   int nstride, int missing)
{
    void *t = NEW(TENSOR);

    if (missing != CUDNN_ATTR_TENSOR_DATA_TYPE)
        api_set_enum(a, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, F32);
    if (missing != CUDNN_ATTR_TENSOR_DIMENSIONS)
        api_set(a, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, d);
    if (missing != CUDNN_ATTR_TENSOR_STRIDES)
        api_set(a, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, nstride, s);
    if (missing != CUDNN_ATTR_TENSOR_UNIQUE_ID)
        api_set_int(a, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
    if (missing != CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)
        api_set_int(a, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, align);
    (void)api_done(a, t);
}

static void tensor_good(struct api *a)
{
    tensor(a, 16, dims, strides, 4, -1);
}
static void tensor_untyped(struct api *a)
{
    tensor(a, 16, dims, strides, 4, CUDNN_ATTR_TENSOR_DATA_TYPE);
}
static void tensor_no_id(struct api *a)
{
    tensor(a, 16, dims, strides, 4, CUDNN_ATTR_TENSOR_UNIQUE_ID);
}
static void tensor_unaligned(struct api *a)
{
    tensor(a, 16, dims, strides, 4, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
}
static void tensor_no_dims(struct api *a)
{
    tensor(a, 16, dims, strides, 4, CUDNN_ATTR_TENSOR_DIMENSIONS);
}
static void tensor_no_strides(struct api *a)
{
    tensor(a, 16, dims, strides, 4, CUDNN_ATTR_TENSOR_STRIDES);
}
static void tensor_ranks(struct api *a)
{
    tensor(a, 16, dims, strides, 3, -1);
}
static void tensor_align_3(struct api *a)
{
    tensor(a, 3, dims, strides, 4, -1);
}
static void tensor_align_0(struct api *a)
{
    tensor(a, 0, dims, strides, 4, -1);
}
static void tensor_align_2(struct api *a)
{
    tensor(a, 2, dims, strides, 4, -1);
}
static void tensor_dim_0(struct api *a)
{
    tensor(a, 16, (const int64_t[]){2, 0, 4, 4}, strides, 4, -1);
}
static void tensor_dim_less(struct api *a)
{
    tensor(a, 16, (const int64_t[]){2, -1, 4, 4}, strides, 4, -1);
}
static void tensor_stride_less(struct api *a)
{
    tensor(a, 16, dims, (const int64_t[]){128, -1, 32, 8}, 4, -1);
}
static void tensor_overlaps(struct api *a)
{
    tensor(a, 16, dims, (const int64_t[]){128, 1, 1, 8}, 4, -1);
}
static void tensor_pitch(struct api *a)
{
    tensor(a, 16, dims, (const int64_t[]){256, 1, 64, 16}, 4, -1);
}
static void tensor_big_value(struct api *a)
{
    api_tensor(a, 1, F32, API_BY_VALUE, 4, dims, strides);
}
static void tensor_value(struct api *a)
{
    api_scalar(a, 1, F32);
}
static void tensor_type_77(struct api *a)
{
    void *t = NEW(TENSOR);

    api_set_enum(a, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 77);
    api_set(a, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    api_set(a, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    api_set_int(a, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
    api_set_int(a, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);
    (void)api_done(a, t);
}

/* ---- attributes ---- */

static void set_late(struct api *a)
{
    api_set_int(a, image(a, 1), CUDNN_ATTR_TENSOR_UNIQUE_ID, 2);
}
static void finalize_twice(struct api *a)
{
    (void)api_done(a, image(a, 1));
}
static void set_nothing(struct api *a)
{
    api_set(a, NEW(TENSOR), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, NULL);
}
static void set_on_null(struct api *a)
{
    api_set_int(a, NULL, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
}
static void set_twice(struct api *a)
{
    void *t = NEW(TENSOR);

    api_set_int(a, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
    api_set_int(a, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 2);
}
static void set_two_ids(struct api *a)
{
    api_set(a, NEW(TENSOR), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 2, dims);
}
static void set_negative_count(struct api *a)
{
    api_set(a, NEW(TENSOR), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, dims);
}
static void set_foreign(struct api *a)
{
    api_set_enum(a, NEW(TENSOR), CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 0);
}
static void set_wrong_type(struct api *a)
{
    api_set_float(a, NEW(TENSOR), CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
}
static void set_null_tensor(struct api *a)
{
    api_set_desc(a, NEW(OPERATION_CONVOLUTION_FORWARD),
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, NULL);
}
static void set_unfinalized(struct api *a)
{
    api_set_desc(a, NEW(OPERATION_CONVOLUTION_FORWARD),
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, NEW(TENSOR));
}
static void set_nine_tensors(struct api *a)
{
    void *t = image(a, 1), *nine[9] = {t, t, t, t, t, t, t, t, t};

    api_set(a, NEW(OPERATION_MATMUL), CUDNN_ATTR_OPERATION_MATMUL_ADESC,
            CUDNN_TYPE_BACKEND_DESCRIPTOR, 9, nine);
}
static void get_early(struct api *a)
{
    void *t = NEW(TENSOR);

    api_set_int(a, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1);
    (void)api_get_int(a, t, CUDNN_ATTR_TENSOR_UNIQUE_ID);
}
static void get_id(struct api *a)
{
    if (api_get_int(a, image(a, 7), CUDNN_ATTR_TENSOR_UNIQUE_ID) != 7)
        a->status = CUDNN_STATUS_INTERNAL_ERROR;
}
static void get_part(struct api *a)
{
    int64_t v[4] = {0}, n = 0;

    a->status =
        a->get(image(a, 7), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, &n, v);
    if (n > 4 || v[0] != 2 || v[1] != 8 || v[2] || v[3])
        a->status = CUDNN_STATUS_INTERNAL_ERROR;
}
static void get_wrong_type(struct api *a)
{
    float v[4];
    int64_t n;

    a->status =
        a->get(image(a, 7), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 2, &n, v);
}
static void destroy_null(struct api *a)
{
    a->status = a->destroy(NULL);
}

/* ---- convolutions ---- */

static void conv_good(struct api *a)
{
    api_forward(a, &same, image(a, 1), filter(a, 2), image(a, 3));
}
static void conv_groups(struct api *a)
{
    api_forward(a, &same, image(a, 1), api_nhwc(a, 2, F16, 8, 4, 3, 3), image(a, 3));
}
static void conv_bad_groups(struct api *a)
{
    api_forward(a, &same, image(a, 1), api_nhwc(a, 2, F16, 8, 3, 3, 3), image(a, 3));
}
static void conv_bad_filters(struct api *a)
{
    api_forward(a, &same, image(a, 1), api_nhwc(a, 2, F16, 9, 4, 3, 3),
                api_nhwc(a, 3, F16, 2, 9, 4, 4));
}
static void conv_channels(struct api *a)
{
    api_forward(a, &same, image(a, 1), filter(a, 2), api_nhwc(a, 3, F16, 2, 16, 4, 4));
}
static void conv_size(struct api *a)
{
    api_forward(a, &same, image(a, 1), filter(a, 2), api_nhwc(a, 3, F16, 2, 8, 5, 4));
}
static void conv_batch(struct api *a)
{
    api_forward(a, &same, image(a, 1), filter(a, 2), api_nhwc(a, 3, F16, 3, 8, 4, 4));
}
static void conv_one_sided(struct api *a)
{
    static const struct api_conv c = {{1, 1}, {0, 0}, {1, 1}, {1, 1}};

    api_forward(a, &c, image(a, 1), filter(a, 2), api_nhwc(a, 3, F16, 2, 8, 3, 3));
}
static void conv_stride_0(struct api *a)
{
    static const struct api_conv c = {{1, 1}, {1, 1}, {0, 1}, {1, 1}};

    api_convolution(a, &c);
}
static void conv_pad_less(struct api *a)
{
    static const struct api_conv c = {{-1, 1}, {1, 1}, {1, 1}, {1, 1}};

    api_convolution(a, &c);
}
static void conv_dilation_0(struct api *a)
{
    static const struct api_conv c = {{1, 1}, {1, 1}, {1, 1}, {0, 1}};

    api_convolution(a, &c);
}

/* A convolution descriptor without the attribute. */
static void conv_without(struct api *a, int name, int64_t spatial)
{
    static const cudnnBackendAttributeName_t arrays[] = {
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
        CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS};
    static const int64_t ones[2] = {1, 1};
    void *d = NEW(CONVOLUTION);

    if (name != CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)
        api_set_int(a, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, spatial);
    if (name != CUDNN_ATTR_CONVOLUTION_COMP_TYPE)
        api_set_enum(a, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, F32);
    if (name != CUDNN_ATTR_CONVOLUTION_CONV_MODE)
        api_set_enum(a, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                     CUDNN_CROSS_CORRELATION);
    for (int i = 0; i < 4; i++)
        if (name != (int)arrays[i])
            api_set(a, d, arrays[i], CUDNN_TYPE_INT64, 2, ones);
    (void)api_done(a, d);
}
static void conv_no_dims(struct api *a)
{
    conv_without(a, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
}
static void conv_no_strides(struct api *a)
{
    conv_without(a, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2);
}
static void conv_no_dilations(struct api *a)
{
    conv_without(a, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2);
}
static void conv_no_padding(struct api *a)
{
    conv_without(a, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2);
}
static void conv_no_type(struct api *a)
{
    conv_without(a, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 2);
}
static void conv_3_dims(struct api *a)
{
    conv_without(a, -1, 3);
}
static void conv_no_filter(struct api *a)
{
    void *d = NEW(OPERATION_CONVOLUTION_FORWARD);

    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                 api_convolution(a, &same));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, image(a, 1));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, image(a, 3));
    (void)api_done(a, d);
}
static void dgrad_good(struct api *a)
{
    api_backward_data(a, &same, image(a, 1), filter(a, 2), image(a, 3));
}
static void dgrad_size(struct api *a)
{
    api_backward_data(a, &same, image(a, 1), filter(a, 2),
                      api_nhwc(a, 3, F16, 2, 8, 5, 5));
}
static void wgrad_good(struct api *a)
{
    api_backward_filter(a, &same, image(a, 1), image(a, 2), filter(a, 3), 0);
}
static void wgrad_size(struct api *a)
{
    api_backward_filter(a, &same, image(a, 1), api_nhwc(a, 2, F16, 2, 8, 5, 5),
                        filter(a, 3), 0);
}

const struct cudnn_case cudnn_cases_descriptors[] = {
    YES(tensor_good),
    YES(tensor_pitch),
    YES(tensor_value),
    STRICTER(tensor_untyped),
    STRICTER(tensor_no_id),
    NO(tensor_unaligned),
    NO(tensor_no_dims),
    NO(tensor_no_strides),
    NO(tensor_ranks),
    NO(tensor_align_3),
    NO(tensor_align_0),
    NO(tensor_align_2),
    STRICTER(tensor_dim_0),
    NO(tensor_dim_less),
    NO(tensor_stride_less),
    STRICTER(tensor_overlaps),
    NO(tensor_big_value),
    STRICTER(tensor_type_77),
    NO(set_late),
    NO(finalize_twice),
    NO(set_nothing),
    NO(set_on_null),
    YES(set_twice),
    NO(set_two_ids),
    NO(set_negative_count),
    NO(set_foreign),
    NO(set_wrong_type),
    NO(set_null_tensor),
    STRICTER(set_unfinalized),
    STRICTER(set_nine_tensors),
    NO(get_early),
    YES(get_id),
    YES(get_part),
    NO(get_wrong_type),
    NO(destroy_null),
    YES(conv_good),
    YES(conv_groups),
    NO(conv_bad_groups),
    NO(conv_bad_filters),
    NO(conv_channels),
    NO(conv_size),
    NO(conv_batch),
    YES(conv_one_sided),
    NO(conv_stride_0),
    NO(conv_pad_less),
    NO(conv_dilation_0),
    NO(conv_no_dims),
    NO(conv_no_strides),
    NO(conv_no_dilations),
    STRICTER(conv_no_padding),
    STRICTER(conv_no_type),
    NO(conv_3_dims),
    NO(conv_no_filter),
    YES(dgrad_good),
    NO(dgrad_size),
    YES(wgrad_good),
    NO(wgrad_size),
    {0},
};
