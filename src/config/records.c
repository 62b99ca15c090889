#include "config/records.h"

#include <stddef.h>

#include "config/choice_tables.h"

/* .type and .offset are both derived from the member, so the row cannot contradict the
 * struct. */
#define FIELD(KEY, s, f, ...)                                                              \
    {                                                                                      \
        .key = KEY, .offset = offsetof(s, f),                                            \
        .type = _Generic(((s *)0)->f,                                                    \
                         bool: SCHEMA_BOOL,                                              \
                         int: SCHEMA_CHOICE,                                             \
                         int64_t: SCHEMA_INT,                                            \
                         double: SCHEMA_FLOAT,                                           \
                         struct bool_opt: SCHEMA_BOOL_OPT,                               \
                         const char *: SCHEMA_STR,                                       \
                         struct float_opt: SCHEMA_FLOAT_OPT,                             \
                         struct float_list: SCHEMA_FLOAT_LIST,                           \
                         struct str_list: SCHEMA_STR_LIST),                              \
        __VA_ARGS__ \
    }
#define HOOK(KEY, f, ...) FIELD(KEY, struct config_hook, f, __VA_ARGS__)
#define RANGE(a, b)       .min = (a), .max = (b)
#define ABOVE(a, b)       .min = (a), .max = (b), .above = true
#define NO_LIMIT          1e18

const struct schema record_hook[] = {
    HOOK("at", event, .required = true, .choices = choices_hook_moments, .help = "when"),
    HOOK("run", run, .required = true,
         .help = "the command, split into words like in a shell: quotes work, but "
                 "nothing is expanded"),
    HOOK("shell", shell, .def = "False", .help = "run the command with /bin/sh -c"),
    HOOK("timeout", timeout, .def = "60", ABOVE(0, 1e9),
         .help = "seconds until the command is killed"),
    HOOK("every", every, .def = "1", RANGE(1, NO_LIMIT),
         .help = "step, epoch: run only every N of them"),
    HOOK("wait", wait, .def = "True",
         .help =
             "the run waits for the command; False: the command runs in the background"),
    {0},
};

#define LOSS(KEY, f, ...) FIELD(KEY, struct config_loss, f, __VA_ARGS__)

const struct schema record_loss[] = {
    LOSS("type", type, .required = true,
         .help = "type of the loss: `trainc help TRAIN.LOSS.NAME` lists them, "
                 "docs/losses.md their fields"),
    LOSS("weight", weight, .def = "1", RANGE(0, 1e6), .help = "weight in the sum"),
    LOSS("stage", stage, .def = "-1", RANGE(-1, 63),
         .help = "apply the loss to an auxiliary classifier at this stage of the model, "
                 "counted from 0 like MODEL.OUT_INDICES; -1: to the logits"),
    LOSS("smoothing", smoothing, .def = "None", .nullable = true, RANGE(0, 1),
         .help = "label smoothing; None: MODEL.LABEL_SMOOTHING"),
    LOSS("target_thresh", target_thresh, .def = "None", .nullable = true, RANGE(0, 1),
         .help = "bce: targets above this become 1, others 0"),
    LOSS("sum_classes", sum_classes, .def = "False",
         .help = "bce: sum over the classes instead of averaging"),
    LOSS("gamma", gamma, .def = "2", RANGE(0, 100), .help = "focal: exponent of 1 - p"),
    LOSS("smooth", smooth, .def = "1", ABOVE(0, 1e12),
         .help = "dice: added to numerator and denominator"),
    LOSS("squared", squared, .def = "False",
         .help = "dice: square the probabilities in the denominator"),
    LOSS("thresh", thresh, .def = "0.7", ABOVE(0, 1),
         .help = "ohem: pixels whose class has a smaller probability are hard"),
    LOSS("min_share", min_share, .def = "0.0625", RANGE(0, 1),
         .help = "ohem: smallest share of the valid pixels to use"),
    LOSS("temperature", temperature, .def = "1", RANGE(0.001, 1000),
         .help = "distill: divide the logits by this"),
    LOSS("hard", hard, .def = "False",
         .help = "distill: use only the teacher's predicted class"),
    LOSS("delta", delta, .def = "None", .nullable = true, ABOVE(0, 1e6),
         .help = "huber, smooth_l1: error from which the loss is linear; None: "
                 "TRAIN.LOSS.DELTA"),
    {0},
};

void config_loss_default(struct config_loss *c)
{
    struct arena mem = {0};

    schema_bind_default(record_loss, c, &mem);
    c->type = "";
    arena_release(&mem);
}

/* Ranges are those of each operation (session/augment_items.h). */
#define AUGMENT(KEY, f, ...)                                                             \
    FIELD(KEY, struct config_augment, f, .def = "None", .nullable = true, __VA_ARGS__)

const struct schema record_augment[] = {
    FIELD("name", struct config_augment, name, .required = true, .help = "the operation"),
    AUGMENT("p", p, RANGE(0, 1),
            .help = "probability; None: 0.5, but for the operations that say so"),
    AUGMENT("degrees", degrees, .single = true, .help = "angle, counterclockwise"),
    AUGMENT("translate", translate, .single = true,
            .help = "shift in both directions, as a share of the side"),
    AUGMENT("scale", scale, .single = true, .help = "factor of the size"),
    AUGMENT("shear", shear, .single = true, .help = "angle of a shear along x"),
    AUGMENT("distortion", distortion, .single = true,
            .help = "how far corners move, as a share of half the side"),
    AUGMENT("sigma", sigma, .single = true, .help = "deviation of the blur in pixels"),
    AUGMENT("std", std, .single = true, .help = "deviation of the noise; 1: 255 levels"),
    AUGMENT("amount", amount, .single = true,
            .help = "added to the factor 1 of the enhancement; hue: its shift, of 1"),
    AUGMENT("bits", bits, .single = true, .help = "number of bits that are kept"),
    AUGMENT("threshold", threshold, .single = true, .help = "values from it on change"),
    AUGMENT("holes", holes, .single = true, .help = "number of boxes"),
    AUGMENT("size", size, .single = true,
            .help = "sides of a box, as a share of those of the image"),
    AUGMENT("clip_limit", clip_limit, .single = true,
            .help = "count of a level over the mean; 0: no limit"),
    AUGMENT("tiles", tiles, .single = true, .help = "tiles on each axis"),
    AUGMENT("severity", severity, .single = true,
            .help = "levels 0 to severity - 1 of 10"),
    AUGMENT("width", width, .single = true, .help = "number of chains"),
    AUGMENT("depth", depth, .single = true, .help = "operations of a chain"),
    {0},
};

#define GROUP(KEY, f, ...) FIELD(KEY, struct config_group, f, __VA_ARGS__)
#define OURS(KEY, f, ...)  GROUP(KEY, f, .def = "None", .nullable = true, __VA_ARGS__)

const struct schema record_group[] = {
    GROUP("match", match, .required = true,
          .help = "shell pattern of parameter names, like in TRAIN.FREEZE: 'head.*'"),
    GROUP("name", name, .help = "optimizer of the group; empty: TRAIN.OPTIMIZER.NAME"),
    GROUP("lr_scale", lr_scale, .def = "1", RANGE(0, 1e6),
          .help = "factor of the learning rate"),
    OURS("weight_decay", weight_decay, RANGE(0, 1e6),
         .help = "weight decay of all matching parameters, including 1-D ones; None: "
                 "unchanged"),
    OURS("eps", eps, RANGE(0, 1), .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("betas", betas, RANGE(0, 1), .len = 2, .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("momentum", momentum, RANGE(0, 1), .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("nesterov", nesterov, .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("alpha", alpha, RANGE(0, 1), .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("trust_coeff", trust_coeff, ABOVE(0, 1000),
         .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("trust_clip", trust_clip, .help = "as the key of TRAIN.OPTIMIZER"),
    OURS("always_adapt", always_adapt, .help = "as the key of TRAIN.OPTIMIZER"),
    {0},
};
