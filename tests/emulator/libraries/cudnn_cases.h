/*
 * Sequences of calls that cuDNN answers without a GPU, with the answers. The emulation
 * must answer likewise, or refuse what the library accepts although it cannot be
 * intended.
 */
#ifndef EMULATOR_LIBRARIES_CUDNN_CASES_H
#define EMULATOR_LIBRARIES_CUDNN_CASES_H

#include "tests/emulator/libraries/graph_api.h"

enum answer {
    ANSWER_YES,     /* both accept it */
    ANSWER_NO,      /* both refuse it, with the same status */
    ANSWER_STRICTER /* the library accepts it, the emulation does not */
};

struct cudnn_case {
    const char *name;
    enum answer answer;
    void (*run)(struct api *a); /* leaves its status in a->status */
};

/* A NULL run ends a table. */
extern const struct cudnn_case cudnn_cases_descriptors[], cudnn_cases_graphs[];

#define NEW(kind) api_new(a, CUDNN_BACKEND_##kind##_DESCRIPTOR)
#define YES(f)                                                                           \
    {                                                                                    \
        .name = #f, .answer = ANSWER_YES, .run = (f)                                     \
    }
#define NO(f)                                                                            \
    {                                                                                    \
        .name = #f, .answer = ANSWER_NO, .run = (f)                                      \
    }
#define STRICTER(f)                                                                      \
    {                                                                                    \
        .name = #f, .answer = ANSWER_STRICTER, .run = (f)                                \
    }

/* Graphs that must have an engine if the emulation has one. run returns the
 * operations. */
struct cudnn_graph_case {
    const char *name;
    bool offered; /* by the emulation */
    int (*make)(struct api *a, cudnnDataType_t type, void **ops);
};

extern const struct cudnn_graph_case cudnn_graph_cases[], cudnn_attention_cases[];
extern const int cudnn_ngraph_case, cudnn_nattention_case; /* attention: 16-bit */

#endif
