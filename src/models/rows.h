/* Shared by the files that list the models of a family. */
#ifndef MODELS_ROWS_H
#define MODELS_ROWS_H

#define ROW(x) .name = #x
#define TAGS   .tags =
#define RECIPE .recipe =

/* Evaluated on squares of `side` pixels, cropped from side / crop. */
#define IMAGENET(side, crop)                                                             \
    .size = (side), .crop_pct = (crop), .mean = {0.485, 0.456, 0.406},                   \
    .std = {0.229, 0.224, 0.225}
#define OPENAI(side, crop)                                                               \
    .size = (side), .crop_pct = (crop), .mean = {0.48145466, 0.4578275, 0.40821073},     \
    .std = {0.26862954, 0.26130258, 0.27577711}
/* The same for images scaled to [-1, 1]. */
#define HALF(side, crop)                                                                 \
    .size = (side), .crop_pct = (crop), .mean = {0.5, 0.5, 0.5}, .std = {0.5, 0.5, 0.5}

#endif
