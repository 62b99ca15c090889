#include "ops/state.h"

#include "ops/control.h"

static struct tensor *state(struct builder *b, const char *name, enum memory m,
                            size_t offset, size_t size)
{
    struct tensor *t = graph_find(b->g, name);

    return t ? t : graph_state(b, name, m, DTYPE_U8, offset, (int64_t)size);
}

struct tensor *control_tensor(struct builder *b)
{
    return state(b, "control", MEMORY_CONTROL, 0, sizeof(struct control));
}

struct tensor *metrics_tensor(struct builder *b)
{
    return state(b, "metrics", MEMORY_METRICS, 0, sizeof(struct metrics));
}

struct tensor *confusion_tensor(struct builder *b, int64_t classes)
{
    return state(b, "confusion", MEMORY_METRICS, sizeof(struct metrics),
                 (size_t)(classes * classes) * sizeof(int64_t));
}
