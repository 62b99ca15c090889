/* One row per flag: its names, its values, and the equivalent in trainc. */
#include "config/foreign.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "config/schema.h"

/* clang-format off */
static const struct foreign table[] = {
    /* paths */
    {"--config, --config-file", "FILE", "-c, --cfg FILE"},
    {"-d, --data-root, --root", "DIR", "--data-path DIR"},
    {"--class-map", "FILE", "classes are the folders, in byte order of their names"},
    {"--dataset-download", "", "data sets are not downloaded"},
    {"--split", "NAME", "--val-split NAME"},
    {"--input-img-mode, --input-key, --target-key", "X", "not supported: trainc does not read Hugging Face data sets"},
    {"-o, --output-dir, --work-dir, --save-dir, --log-dir, --logdir", "DIR", "--output DIR"},
    {"--experiment, --exp-name, --run-name, --name", "NAME", "--tag NAME"},
    {"--results-file", "FILE", "--result FILE"},

    /* input */
    {"--input-size", "C H W", "--img-size N, or DATA.IMG_HEIGHT and DATA.IMG_WIDTH"},
    {"--image-size, --imgsz, --train-crop-size, --val-crop-size", "N", "--img-size N"},
    {"--val-resize-size", "N", "--crop-pct P, the crop's side divided by the resized image's"},
    {"--train-img-sizes, --train-batch-sizes, --train-size-probs, --train-size-schedule", "X", "all images of a run have the same size"},
    {"--num-workers", "N", "-j N"},
    {"--no-prefetcher", "", "-j 0 lets the main thread decode"},
    {"--use-multi-epochs-loader", "", "the loader's threads live as long as the run"},
    {"--worker-seeding", "X", "augmentation does not depend on the workers"},
    {"--cache-dataset", "", "--cache decoded"},
    {"--epoch-repeats", "X", "use more --epochs"},
    {"--train-batches-per-epoch, --train-steps-per-epoch", "N", "an epoch is the whole training set; --max-steps N ends a run"},
    {"--dummy", "", "--dataset synthetic"},

    /* model */
    {"-a, --arch", "NAME", "--model NAME --model-type TYPE; trainc models lists them"},
    {"--model-name", "NAME", "--model NAME"},
    {"--initial-checkpoint, --pretrained-path, --weights, --finetune", "FILE", "--pretrained FILE"},
    {"--checkpoint, --ckpt, --load", "FILE", "--resume FILE, or --pretrained FILE to load only the weights"},
    {"--no-resume-opt", "", "--pretrained FILE loads only a checkpoint's weights"},
    {"--model-kwargs", "K=V", "keys of MODEL.RESNET (trainc help MODEL.RESNET)"},
    {"--gp, --test-pool", "NAME", "models have their own pooling"},
    {"--head-init-scale, --head-init-bias", "X", "a new classifier starts as in the model's paper (MODEL.INIT)"},
    {"--bn-momentum, --bn-eps", "X", "models have their own batch norm"},
    {"--channels-last", "", "always on"},
    {"--fast-norm", "", "always on: the whole step is compiled"},
    {"--torchscript, --jit", "", "trainc export --weights FILE --onnx FILE; there is no TorchScript"},
    {"--tflite, --coreml, --openvino, --tensorrt, --engine, --saved-model", "", "trainc export --weights FILE --onnx FILE, which the converters of those formats read"},
    {"--format", "NAME", "trainc export --weights FILE --onnx FILE, or --out FILE"},
    {"--fuser, --torchcompile-mode", "NAME", "always on: the whole step is compiled"},
    {"--torchcompile, --compile", "NAME", "always on: the whole step is compiled"},
    {"--drop-connect", "X", "--drop-path RATE"},
    {"--drop-block", "X", "there is no DropBlock: --drop-path RATE"},

    /* optimizer and schedule */
    {"--learning-rate", "LR", "--lr LR (see TRAIN.SCALE_LR)"},
    {"--lr-base", "LR", "--lr LR; scaled by images per step / TRAIN.SCALE_LR_BASE only if TRAIN.SCALE_LR is on"},
    {"--lr-base-size", "N", "TRAIN.SCALE_LR_BASE=N"},
    {"--lr-base-scale", "NAME", "learning rates are scaled linearly, or not at all with --no-scale-lr"},
    {"--lr-scheduler, --scheduler", "NAME", "--sched NAME"},
    {"--cos-lr, --cosine", "", "--sched cosine, which is the default"},
    {"--lr0", "LR", "--lr LR"},
    {"--lrf", "X", "--min-lr LR, a learning rate instead of a fraction of the first one"},
    {"--patience", "N", "--early-stop N"},
    {"--sched-on-updates", "", "always on"},
    {"--lr-step-size, --step-size", "N", "--decay-epochs N"},
    {"--lr-gamma, --gamma", "X", "--decay-rate X (step), TRAIN.LR_SCHEDULER.GAMMA=X (multistep)"},
    {"--lr-steps, --lr-milestones", "N ...", "--milestones N ..."},
    {"--lr-warmup-epochs", "N", "--warmup-epochs N"},
    {"--lr-warmup-method", "NAME", "the warm-up is linear"},
    {"--lr-warmup-decay", "X", "--warmup-lr LR, the rate of the first step"},
    {"--lr-min", "LR", "--min-lr LR"},
    {"--lr-noise, --lr-cycle-mul, --lr-cycle-decay, --lr-cycle-limit, --lr-k-decay", "X", "schedules have one cycle and no noise"},
    {"--cooldown-epochs", "N", "schedules have no such phase (trainc help TRAIN.LR_SCHEDULER)"},
    {"--num-epochs, --max-epochs", "N", "--epochs N"},
    {"--opt-kwargs", "K=V", "keys of TRAIN.OPTIMIZER (trainc help TRAIN.OPTIMIZER)"},
    {"--norm-weight-decay, --bias-weight-decay", "X", "TRAIN.WEIGHT_DECAY_1D=True decays them, too"},
    {"--clip-grad-norm", "X", "--clip-grad X"},
    {"--layer-decay-min-scale, --layer-decay-no-opt-scale", "X", "there is no such limit; --freeze PATTERN freezes layers"},

    /* augmentation and loss */
    {"--no-aug", "", "--train-crop-mode none --hflip 0 --color-jitter 0 --aa none --reprob 0 --mixup 0 --cutmix 0"},
    {"--mixup-alpha", "X", "--mixup X"},
    {"--cutmix-alpha", "X", "--cutmix X"},
    {"--auto-augment", "POLICY", "--aa POLICY"},
    {"--random-erase", "X", "--reprob X"},
    {"--grayscale-prob, --gaussian-blur-prob, --color-jitter-prob", "X", "items of AUG.LIST: [{name: grayscale, p: X}]"},
    {"--ra-reps", "N", "--aug-repeats N"},
    {"--ra-sampler", "", "--aug-repeats 3"},
    {"--aug-splits", "N", "there is no loss between several views of an image"},
    {"--jsd-loss, --resplit, --split-bn", "", "there is no loss between several views of an image"},
    {"--bce-pos-weight", "X", "--task multilabel --pos-weight X"},
    {"--kd-model-name, --teacher-path", "X", "--teacher FILE --teacher-model NAME, and LOSSES with type distill"},
    {"--kd-distill-type, --kd-loss-type, --distillation-type", "X", "LOSSES with type distill"},

    /* EMA, precision, device */
    {"--model-ema-force-cpu", "", "TRAIN.EMA.DEVICE=cpu"},
    {"--model-ema-warmup", "", "TRAIN.EMA.RAMP_STEPS=N, 2000 unless set"},
    {"--model-ema-steps", "N", "the EMA is updated in every step"},
    {"--use-ema", "", "--model-ema: both the weights and their EMA are evaluated"},
    {"--native-amp, --apex-amp", "", "--amp, which is the default"},
    {"--fp16", "", "--amp-dtype fp16"},
    {"--bf16", "", "--amp-dtype bf16"},
    {"--precision", "X", "--amp-dtype fp16|bf16, or --no-amp"},
    {"--amp-impl", "NAME", "there is one mixed precision (trainc help AMP)"},
    {"--model-dtype", "NAME", "--amp-opt-level O3 --amp-dtype NAME"},
    {"--cpu, --no-cuda, --no-accel", "", "--device cpu"},
    {"--gpu", "N", "--device cuda:N"},
    {"--gpus, --num-gpu, --world-size, --rank, --dist-url, --dist-backend, --dist-bn", "X", "trainc launch -n N -- ...: docs/scale.md"},
    {"--no-ddp-bb", "", "running statistics of batch norms are averaged after each step"},
    {"--multiprocessing-distributed", "", "trainc launch -n N -- ...: docs/scale.md"},
    {"--use-deterministic-algorithms", "", "--deterministic"},

    /* logging and checkpoints */
    {"-p, --log-freq, --log-every", "N", "--print-freq N"},
    {"-e, --evaluate, --test-only, --validate", "", "--eval, with --resume FILE or --pretrained FILE"},
    {"--recovery-interval", "N", "--save-steps N"},
    {"--save-images", "", "--log-images N, for segmentation"},
    {"--log-wandb, --use-wandb", "", "scripts/import_run.py wandb DIR, in the sources or PREFIX/share/trainc, sends a run's metrics"},
    {"--wandb, --wandb-project, --wandb-tags, --wandb-resume-id", "X", "scripts/import_run.py wandb DIR, in the sources or PREFIX/share/trainc, sends a run's metrics"},
    {"--mlflow, --mlflow-experiment, --mlflow-tracking-uri", "X", "scripts/import_run.py mlflow DIR, in the sources or PREFIX/share/trainc, sends a run's metrics"},
    {"-v, --verbose", "", "--log-level debug"},
    {"-q, --quiet", "", "--log-level warning"},
    {"--dry-run", "", "trainc config --check, or trainc summary"},
    {NULL, NULL, NULL},
};

/* The same with flags of verbs that read a checkpoint's weights only. */
static const struct foreign of_verbs[] = {
    {"--checkpoint, --ckpt, --load", "FILE", "--weights FILE"},
    {NULL, NULL, NULL},
};
/* clang-format on */

bool foreign_get(int i, struct foreign *row)
{
    *row = table[i];
    return row->names;
}

/* True if the first `len` bytes of text, with _ as -, are one of the names "-a,
 * --arch". */
static bool is_one_of(const char *names, const char *text, size_t len)
{
    while (*names) {
        size_t n = strcspn(names, ","), i = 0;

        while (n == len && i < len && names[i] == (text[i] == '_' ? '-' : text[i]))
            i++;
        if (n == len && i == len)
            return true;
        names += n;
        names += strspn(names, ", ");
    }
    return false;
}

/* True if `key`, or its last part, equals the `len` bytes of name. */
static bool names_key(const char *key, const char *name, size_t len)
{
    const char *dot = memchr(name, '.', len) ? NULL : strrchr(key, '.');
    size_t i = 0;

    key = dot ? dot + 1 : key;
    while (i < len && key[i] == (name[i] == '-' ? '_' : toupper((unsigned char)name[i])))
        i++;
    return i == len && !key[len];
}

static const struct foreign *find(const struct foreign *row, const char *text)
{
    size_t len = strcspn(text, "=");

    while (row->names && !is_one_of(row->names, text, len))
        row++;
    return row->names ? row : NULL;
}

const char *foreign_flag(const char *text, bool *value)
{
    const struct foreign *row = find(table, text);

    if (!row)
        return NULL;
    *value = *row->value && !strchr(text, '=');
    return row->here;
}

const char *foreign_verb_flag(const char *text)
{
    const struct foreign *row = find(of_verbs, text);

    return row ? row->here : NULL;
}

const char *foreign_name(const char *key)
{
    const char *dot = strrchr(key, '.');
    char flag[64] = "--";
    bool value;

    key = dot ? dot + 1 : key;
    if (strlen(key) + 3 > sizeof(flag))
        return NULL;
    for (size_t i = 0; key[i]; i++)
        flag[2 + i] = (char)tolower((unsigned char)key[i]);
    return foreign_flag(flag, &value);
}

const char *foreign_key(const struct schema *schema, const char *text, struct arena *mem)
{
    const struct schema *found = NULL;
    size_t len = strcspn(text, "=");

    if (len < 5 || strncmp(text, "--", 2) != 0)
        return NULL;
    for (const struct schema *row = schema; row->key; row++) {
        if (!names_key(row->key, text + 2, len - 2))
            continue;
        if (found) /* ambiguous: several sections have such a key */
            return NULL;
        found = row;
    }
    return found ? arena_printf(mem, "%s=VALUE", found->key) : NULL;
}

static bool ends(const char *text, const char *end)
{
    size_t n = strlen(text), e = strlen(end);

    return n > e && !strcasecmp(text + n - e, end);
}

const char *foreign_path(const char *text)
{
    static const char *const weights[] = {".safetensors", ".pth", ".pt", ".pth.tar",
                                          ".bin"};

    if (ends(text, ".yaml") || ends(text, ".yml"))
        return "a configuration: --cfg FILE?";
    for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++)
        if (ends(text, weights[i]))
            return "weights: --resume FILE or --pretrained FILE?";
    if (file_is_dir(text))
        return "a folder: --data-path DIR?";
    return strchr(text, '/') ? "a path: --data-path DIR?" : NULL;
}
