/*
 * Statuses with their reason, like cuDNN's: cudnnGetLastErrorString() returns the last
 * one of a thread.
 */
#ifndef EMULATOR_CUDNN_ERROR_H
#define EMULATOR_CUDNN_ERROR_H

#include <cudnn.h>

/* Remembers the reason and returns the status: return refuse(CUDNN_STATUS_..., "..."). */
__attribute__((format(printf, 2, 3))) cudnnStatus_t refuse(cudnnStatus_t status,
                                                           const char *fmt, ...);

/* The same for mistakes of the caller: CUDNN_STATUS_BAD_PARAM. */
#define BAD(...) refuse(CUDNN_STATUS_BAD_PARAM, __VA_ARGS__)

#endif
