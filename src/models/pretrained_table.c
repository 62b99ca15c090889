/* The rows are made by scripts/pretrained_table.py. */
#include "models/pretrained.h"

/* clang-format off */
#define IMAGENET {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}
#define OPENAI {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}
#define HALF {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}
#define UNIT {0, 0, 0}, {1, 1, 1}

const struct pretrained pretrained_table[] = {
#include "models/pretrained_table.inc"
    {.name = NULL},
};
/* clang-format on */
