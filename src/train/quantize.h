/*
 * Post-training quantisation: from the weights of a net in floats, and the ranges that
 * calibration found, to those of the same net in 8 bits (session/quantized.h).
 */
#ifndef TRAIN_QUANTIZE_H
#define TRAIN_QUANTIZE_H

#include "base/strbuf.h"
#include "io/weights_file.h"
#include "session/session.h"

/* The weights of `to`, a session with QUANT.ENABLE, from those of `from`, the same
 * without. input[i] is the scale of the input of layer list[i]. */
void quantize_weights(struct session *to, const struct session *from,
                      const struct quantized_layer *list, int n, const double *input);

/* All of `s`: parameters in 8 bits as I8. `classes` may be NULL. -1 with the reason. */
int quantize_write(const struct session *s, const char *path, const char *config,
                   const char *classes, struct strbuf *why);

/* Ends the program if either the file or the net (`enable`) is in 8 bits alone. */
void quantize_check_file(const struct weights_file *f, bool enable);

#endif
