/* Predefined transforms. */
#include "image/transform.h"

struct transform transform_for_training(int size)
{
    return (struct transform){
        .kind = TRANSFORM_RANDOM_CROP,
        .w = size,
        .h = size,
        .filter = RESIZE_BICUBIC,
        .scale = {0.08, 1},
        .ratio = {3.0 / 4, 4.0 / 3},
        .flip = {0.5, false},
        .shrink_gap = 2,
    };
}

struct transform transform_for_evaluation(int size, int resize)
{
    return (struct transform){
        .kind = TRANSFORM_CENTER,
        .w = size,
        .h = size,
        .filter = RESIZE_BICUBIC,
        .resize = resize,
        .shrink_gap = 2,
    };
}

struct transform transform_for_small_training(int size)
{
    return (struct transform){
        .kind = TRANSFORM_PAD_CROP, .w = size, .h = size, .pad = 4, .flip = {0.5, false}};
}

struct transform transform_for_segmentation(int w, int h)
{
    return (struct transform){
        .kind = TRANSFORM_SEGMENT,
        .w = w,
        .h = h,
        .label_divisor = 1,
        .filter = RESIZE_BILINEAR,
        .shrink_gap = 2,
    };
}
