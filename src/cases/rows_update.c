/* The rows of the update phase: the optimizers, clipping, accumulation. */
#include "cases/rows.h"

const struct op_case rows_update[] = {
    {.name = "sgd", UPDATE(.optimizer = CASE_SGD)},
    {.name = "sgd nesterov",
     UPDATE(.optimizer = CASE_SGD, .momentum = 0.9f, .nesterov = 1, .clip_norm = 0.5f)},
    {.name = "sgd accumulated",
     UPDATE(.optimizer = CASE_SGD, .momentum = 0.9f, .clip_value = 0.1f,
            .accumulation = {.group = 2})},
    {.name = "sgd accumulated, a new epoch",
     UPDATE(.optimizer = CASE_SGD, .accumulation = {.group = 2, .batches = 7})},
    {.name = "adam", UPDATE(.optimizer = CASE_ADAM)},
    {.name = "adamw", UPDATE(.optimizer = CASE_ADAM, .decoupled = 1, .clip_norm = 1)},
    {.name = "rmsprop", UPDATE(.optimizer = CASE_RMSPROP, .momentum = 0.9f)},
    {.name = NULL},
};
