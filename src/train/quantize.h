/*
 * Post-training quantization: converts the weights of a float net to those of the same
 * net in 8 bits (session/quantized.h), with the ranges from calibration.
 */
#ifndef TRAIN_QUANTIZE_H
#define TRAIN_QUANTIZE_H

#include "base/strbuf.h"
#include "io/weights_file.h"
#include "session/session.h"

/* Sets the weights of `dst`, a session with QUANT.ENABLE, from those of `src`, the same
 * session without it. input[i] is the scale of the input of layer list[i]. */
void quantize_weights(struct session *dst, const struct session *src,
                      const struct quantized_layer *list, int n, const double *input);

/* Writes all weights of `s`, 8-bit parameters as I8. `classes` may be NULL. Returns -1
 * and the reason on failure. */
int quantize_write(const struct session *s, const char *path, const char *config,
                   const char *classes, struct strbuf *why);

/* Dies if only one of the file and the net (`enable`) is in 8 bits. */
void quantize_check_file(const struct weights_file *f, bool enable);

#endif
