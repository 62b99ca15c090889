/*
 * trainc export --onnx: builds the model and writes it as ONNX. (Without --onnx, export
 * only copies tensors.)
 */
#ifndef CMD_EXPORT_ONNX_H
#define CMD_EXPORT_ONNX_H

#include "cmd/cmd.h"

/* For verb.reads: the keys and sections ("MODEL.") that define the model. */
#define EXPORT_ONNX_READS                                                                \
    "MODEL.", "DATA.IMG_SIZE", "DATA.IMG_HEIGHT", "DATA.IMG_WIDTH", "DATA.MEAN",         \
        "DATA.STD", "DATA.CROP_PCT", "DATA.INTERPOLATION", "DATA.CLASS_NAMES"

void export_onnx_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p);
int export_onnx_run(struct config *cfg, const struct cmdline *line);

#endif
