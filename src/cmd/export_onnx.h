/*
 * The part of `trainc export` that writes a model for ONNX: it needs the model, where the
 * other copies tensors alone.
 */
#ifndef CMD_EXPORT_ONNX_H
#define CMD_EXPORT_ONNX_H

#include "cmd/cmd.h"

/* Keys that say what the model is, for verb.reads: those of a section end with a dot. */
#define EXPORT_ONNX_READS                                                                \
    "MODEL.", "DATA.IMG_SIZE", "DATA.IMG_HEIGHT", "DATA.IMG_WIDTH", "DATA.MEAN",         \
        "DATA.STD", "DATA.CROP_PCT", "DATA.INTERPOLATION", "DATA.CLASS_NAMES"

void export_onnx_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p);
int export_onnx_run(struct config *cfg, const struct cmdline *line);

#endif
