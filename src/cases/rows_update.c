/* The rows of the update phase: the optimizers, clipping, accumulation. */
#include "cases/rows.h"

const struct op_case rows_update[] = {
    {.name = "sgd", UPDATE(.optimizer = "sgd")},
    {.name = "sgd nesterov",
     UPDATE(.optimizer = "sgd", .momentum = 0.9f, .nesterov = true, .clip_norm = 0.5f)},
    {.name = "sgd accumulated",
     UPDATE(.optimizer = "sgd", .momentum = 0.9f, .clip_value = 0.1f,
            .accumulation = {.group = 2})},
    {.name = "sgd accumulated, a new epoch",
     UPDATE(.optimizer = "sgd", .accumulation = {.group = 2, .batches = 7})},
    {.name = "adam", UPDATE(.optimizer = "adam")},
    {.name = "adamw", UPDATE(.optimizer = "adamw", .clip_norm = 1)},
    {.name = "rmsprop", UPDATE(.optimizer = "rmsprop", .momentum = 0.9f)},
    /* wide: near 0, rounding flips the sign of a step */
    {.name = "lion", .wide = true, UPDATE(.optimizer = "lion", .clip_norm = 0.5f)},
    {.name = "lamb", UPDATE(.optimizer = "lamb", .clip_value = 0.5f)},
    {.name = "lamb clipped",
     UPDATE(.optimizer = "lamb", .trust_clip = true, .always_adapt = true)},
    {.name = "lars", UPDATE(.optimizer = "lars", .momentum = 0.9f, .nesterov = true)},
    {.name = "lars clipped",
     UPDATE(.optimizer = "lars", .trust_clip = true, .always_adapt = true)},
    {.name = NULL},
};
