/*
 * The command line, row by row as in argparse, and where trainc differs: it is more
 * lenient (folded _, numbers with exponents, --x=true) or stricter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "config/foreign.h"
#include "config/schema.h"
#include "tests/config/cmdline_rows.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

static void parse(struct cmdline *line, const char *words, int max_args,
                  struct problems *p)
{
    struct cmd_spec spec = {
        .schema = schema_table, .flags = cmdline_own, .max_args = max_args};

    cmdline_parse_words(line, &spec, words, p);
}

static const struct cmdline_row rows[] = {
    {"", "", ""},
    /* spellings of a flag and its value */
    {"--batch-size|3", "DATA.BATCH_SIZE=3", ""},
    {"--batch-size=3", "DATA.BATCH_SIZE=3", ""},
    {"--batch_size|3", "DATA.BATCH_SIZE=3", ""},
    {"--batch_size=3", "DATA.BATCH_SIZE=3", ""},
    {"-b|3", "DATA.BATCH_SIZE=3", ""},
    {"-b3", "DATA.BATCH_SIZE=3", ""},
    {"-b=3", "DATA.BATCH_SIZE=3", ""},
    {"--batch|3", "DATA.BATCH_SIZE=3", "note: --batch is short for --batch-size\n"},
    {"--batch=3", "DATA.BATCH_SIZE=3", "note: --batch is short for --batch-size\n"},
    {"--batch_s=3", "DATA.BATCH_SIZE=3", "note: --batch_s is short for --batch-size\n"},
    {"--mixup|0.5", "AUG.MIXUP=0.5", ""}, /* exact, despite --mixup-prob */
    {"--mixup-p|0.5", "AUG.MIXUP_PROB=0.5",
     "note: --mixup-p is short for --mixup-prob\n"},
    {"--mixup-|1", "",
     "error: ambiguous option: --mixup- could match --mixup-prob, --mixup-switch-prob, "
     "--mixup-mode, --mixup-off-epoch\n"},
    {"--vb|3", "rest:--vb rest:3", "error: unrecognized arguments: --vb 3\n"},
    {"-vb|3", "DATA.VAL_BATCH_SIZE=3", ""}, /* declared: wins over -v -b */
    {"-qb3", "DATA.BATCH_SIZE=3 own:-q, --quiet", ""},
    {"-qb|3", "DATA.BATCH_SIZE=3 own:-q, --quiet", ""},
    {"-qq", "own:-q, --quiet own:-q, --quiet", ""},
    {"-qx", "own:-q, --quiet", "error: unrecognized arguments: -x\n"},
    {"-x", "rest:-x", "error: unrecognized arguments: -x\n"},
    {"--json|f", "own:--json=f", ""},
    {"--json=a=b", "own:--json=a=b", ""},
    {"--json=--x", "own:--json=--x", ""},
    {"--json|", "own:--json=", ""},
    {"--json=", "own:--json=", ""},
    {"--json|-", "own:--json=-", ""},
    {"--json|-a b", "own:--json=-a b", ""},
    {"--json|--", "", "error: argument --json: expected one argument\n"},
    {"--json|-q", "own:-q, --quiet", "error: argument --json: expected one argument\n"},
    {"--quiet=1", "", "error: argument -q/--quiet: ignored explicit argument '1'\n"},
    {"--model|m|--model|n", "MODEL.NAME=m MODEL.NAME=n", ""},
    /* switches */
    {"--amp", "AMP_ENABLE=True", ""},
    {"--no-amp", "AMP_ENABLE=False", ""},
    {"--no_amp", "AMP_ENABLE=False", ""},
    {"--disable_amp", "AMP_ENABLE=False", ""},
    {"--amp=false", "AMP_ENABLE=false", ""},
    {"--amp=1", "", "error: argument --amp: invalid bool value: '1'\n"},
    {"--no-amp=1", "", "error: argument --amp: ignored explicit argument '1'\n"},
    {"--amp|false", "AMP_ENABLE=True",
     "error: argument --amp: write the value of a switch after =: --amp=false\n"},
    {"--amp|-q|True", "AMP_ENABLE=True own:-q, --quiet rest:True",
     "error: unrecognized arguments: True\n"},
    {"--no-au", "rest:--no-au",
     "error: unrecognized arguments: --no-au (did you mean --no-amp?)\n"},
    {"--eval", "EVAL_MODE=True", ""},
    {"--use_checkpoint|--zip", "TRAIN.USE_CHECKPOINT=True DATA.ZIP_MODE=True", ""},
    /* values */
    {"--batch-size|x", "", "error: argument -b/--batch-size: invalid int value: 'x'\n"},
    {"--batch-size|3.0", "",
     "error: argument -b/--batch-size: invalid int value: '3.0'\n"},
    {"--seed|01|-b|007|-j|00", "SEED=1 DATA.BATCH_SIZE=7 DATA.NUM_WORKERS=0", ""},
    {"--seed|-01|--seed|0_1", "SEED=-1",
     "error: argument --seed: invalid int value: '0_1'\n"},
    {"--batch-size|0x10", "DATA.BATCH_SIZE=0x10", ""}, /* as in YAML */
    {"--batch-size|1_000", "DATA.BATCH_SIZE=1_000", ""},
    {"--batch-size| 3 ", "DATA.BATCH_SIZE= 3 ", ""},
    {"--batch-size|0", "DATA.BATCH_SIZE=0",
     ""}, /* syntax only; the range is checked later */
    {"--lr|nan", "TRAIN.BASE_LR=nan", ""},
    {"--lr|1_0.5", "TRAIN.BASE_LR=1_0.5", ""},
    {"--lr|1e-3", "TRAIN.BASE_LR=1e-3", ""},
    {"--lr|-1", "TRAIN.BASE_LR=-1", ""},
    {"--lr|-.5", "TRAIN.BASE_LR=-.5", ""},
    {"--lr|-1e-3", "TRAIN.BASE_LR=-1e-3", ""}, /* argparse: only since 3.14 */
    {"--lr|-10.", "TRAIN.BASE_LR=-10.", ""},
    {"--lr|-inf", "TRAIN.BASE_LR=-inf", ""},
    {"--lr=-1e-3", "TRAIN.BASE_LR=-1e-3", ""},
    {"--lr=", "", "error: argument --lr: invalid float value: ''\n"},
    {"--lr", "", "error: argument --lr: expected one argument\n"},
    {"--batch-size", "", "error: argument -b/--batch-size: expected one argument\n"},
    {"--mixup-mode|e", "",
     "error: argument --mixup-mode: invalid choice: 'e' (choose from batch, pair, "
     "elem)\n"},
    {"--mixup-mode|bach", "",
     "error: argument --mixup-mode: invalid choice: 'bach' (choose from batch, pair, "
     "elem), maybe you meant 'batch'?\n"},
    {"--tag|5", "TAG=5", ""},
    {"--tag|@home", "TAG=@home", ""},
    /* quotes belong to the string; shown as repr() for the merge */
    {"--tag|'5'", "TAG=\"'5'\"", ""},
    {"--tag|\"", "TAG='\"'", ""},
    {"--mixup-mode|'pair'", "AUG.MIXUP_MODE='pair'", ""},
    {"--tag|${SEED}|--lr|${TRAIN.MIN_LR}", "TAG=${SEED} TRAIN.BASE_LR=${TRAIN.MIN_LR}",
     ""},
    /* lists: one value or several */
    {"--scale|0.1|1.0", "AUG.SCALE=[0.1, 1.0]", ""},
    {"--scale|0.1,1", "AUG.SCALE=0.1,1", ""},
    {"--scale=[0.1, 1]", "AUG.SCALE=[0.1, 1]", ""},
    {"--scale=0.1|--amp", "AUG.SCALE=[0.1] AMP_ENABLE=True", ""},
    {"--scale|0.1|x", "",
     "error: argument --scale: must be a list of float, not '[0.1, x]'\n"},
    {"--scale", "", "error: argument --scale: expected at least one argument\n"},
    {"--freeze|layer1.*", "TRAIN.FREEZE=[layer1.*]", ""},
    {"--freeze|layer1.*|conv1", "TRAIN.FREEZE=[layer1.*, conv1]", ""},
    {"--freeze|a|b|SEED=3", "opt:SEED=3 TRAIN.FREEZE=[a, b]", ""},
    {"--cutmix-minmax|None", "AUG.CUTMIX_MINMAX=None", ""},
    /* files */
    {"--cfg|a.yaml|-c|b.yaml", "cfg:a.yaml cfg:b.yaml", ""},
    {"-ca.yaml", "cfg:a.yaml", ""},
    {"-ca b.yaml|-b 3", "cfg:a b.yaml DATA.BATCH_SIZE= 3", ""},
    {"--cfg", "", "error: argument -c/--cfg: expected one argument\n"},
    /* --opts */
    {"--opts|A|1|B=2", "opt:A=1 opt:B=2", ""},
    {"--opts|A|1|--opts|B|2", "opt:A=1 opt:B=2", ""}, /* in argparse, the last one wins */
    {"--opts=A=1|B|2", "opt:A=1 opt:B=2", ""},
    {"--opts|AUG.COLOR_JITTER|-1e-3|A|-1.0", "opt:AUG.COLOR_JITTER=-1e-3 opt:A=-1.0", ""},
    {"--opts|A|[2,|2]|B|1", "opt:A=[2, 2] opt:B=1", ""},
    {"--opts|A=[2,|2]|B|(1,)", "opt:A=[2, 2] opt:B=(1,)", ""},
    {"--opts|A|[[1],|[2]]", "opt:A=[[1], [2]]", ""},
    {"--opts|A|x=y", "opt:A=x=y", ""},
    {"--opts|A=x=y", "opt:A=x=y", ""},
    {"--opts|A=", "opt:A=", ""},
    {"--opts", "", "error: argument --opts: expected at least one argument\n"},
    {"--opts|--amp", "AMP_ENABLE=True",
     "error: argument --opts: expected at least one argument\n"},
    {"--opts|A|1|B", "opt:A=1", "error: argument --opts: key B has no value\n"},
    {"--opts|A|--amp", "AMP_ENABLE=True", "error: argument --opts: key A has no value\n"},
    {"--opts|TAG|SEED=3", "",
     "error: argument --opts: key TAG has no value before SEED=3 (TAG=SEED=3, if that is "
     "it)\n"},
    {"--opts|TAG|SEED|3", "opt:TAG=SEED",
     "error: argument --opts: key 3 has no value (is 'TAG SEED' meant?)\n"},
    {"--opts|TAG|SEED", "opt:TAG=SEED", ""},
    {"--opts|A|1|--amp|B=2", "opt:A=1 opt:B=2 AMP_ENABLE=True", ""},
    {"TRAIN.EPOCHS=3", "opt:TRAIN.EPOCHS=3", ""},
    /* unknown arguments */
    {"foo|--xyz", "rest:foo rest:--xyz", "error: unrecognized arguments: foo --xyz\n"},
    {"--epochz|7", "rest:--epochz rest:7",
     "error: unrecognized arguments: --epochz 7 (did you mean --epochs?)\n"},
    /* flags of other trainers, with their values: the message names the equivalent */
    {"--experiment|a|--lr|1", "TRAIN.BASE_LR=1",
     "error: unrecognized arguments: --experiment a (here: --tag NAME)\n"},
    {"--initial_checkpoint=a.pth", "",
     "error: unrecognized arguments: --initial_checkpoint=a.pth (here: --pretrained "
     "FILE)\n"},
    {"-a|resnet50|-e|SEED=3", "opt:SEED=3",
     "error: unrecognized arguments: -a resnet50 (here: --model NAME --model-type TYPE; "
     "trainc models lists them)\n"
     "error: unrecognized arguments: -e (here: --eval, with --resume FILE or "
     "--pretrained FILE)\n"},
    {"--channels-last|5", "rest:5",
     "error: unrecognized arguments: --channels-last (here: always on)\n"
     "error: unrecognized arguments: 5\n"},
    {"--checkpoint|5", "", /* not short for --checkpoint-hist */
     "error: unrecognized arguments: --checkpoint 5 (here: --resume FILE, or "
     "--pretrained FILE to load only the weights)\n"},
    {"--train.epochs|5|--max-bad-share=1", "",
     "error: unrecognized arguments: --train.epochs 5 (here: TRAIN.EPOCHS=VALUE)\n"
     "error: unrecognized arguments: --max-bad-share=1 (here: "
     "DATA.MAX_BAD_SHARE=VALUE)\n"},
    {"a.yaml|b.pth|/no/such", "rest:a.yaml rest:b.pth rest:/no/such",
     "error: unrecognized arguments: a.yaml b.pth /no/such ('a.yaml' is a configuration: "
     "--cfg FILE?) ('b.pth' is weights: --resume FILE or --pretrained FILE?) ('/no/such' "
     "is a path: --data-path DIR?)\n"},
    {"--|--amp", "rest:--amp", "error: unrecognized arguments: --amp\n"},
    /* all errors, not only the first */
    {"--lr|x|--epochz|-b|y|--opts", "rest:--epochz",
     "error: argument --lr: invalid float value: 'x'\n"
     "error: argument -b/--batch-size: invalid int value: 'y'\n"
     "error: argument --opts: expected at least one argument\n"
     "error: unrecognized arguments: --epochz (did you mean --epochs?)\n"},
    /* a repeated error is reported once and causes no other */
    {"--mix|1|--mix=2|--mix", "",
     "error: ambiguous option: --mix could match --mixup, --mixup-prob, "
     "--mixup-switch-prob, --mixup-mode, --mixup-off-epoch\n"},
    {"-b|x|-b|x", "", "error: argument -b/--batch-size: invalid int value: 'x'\n"},
    /* -h and --version take effect in order */
    {"-h|-b|x", " HELP", ""},
    {"--nonsense|--help", "rest:--nonsense HELP", ""},
    {"--dry-run|--help", " HELP", /* the caller prints help instead of the errors */
     "error: unrecognized arguments: --dry-run (here: trainc config --check, or trainc "
     "summary)\n"},
    {"--help=1", "", "error: argument -h/--help: ignored explicit argument '1'\n"},
    {"-b|x|-h", "", "error: argument -b/--batch-size: invalid int value: 'x'\n"},
    {"--version|--nonsense", " VERSION", ""},
    {"--print-config", " PRINT", ""},
    {"--print_config=diff", " PRINTdiff", ""},
    {"--print-config=x", "",
     "error: argument --print-config: ignored explicit argument 'x'\n"},
};

static void compare(const struct cmdline_row *row, int max_args)
{
    struct cmd_spec spec = {
        .schema = schema_table, .flags = cmdline_own, .max_args = max_args};

    cmdline_compare(row, &spec);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        compare(&rows[i], 0);
}

/* A subcommand with positional arguments, including numbers and strings with spaces. */
static void test_positionals(void **state)
{
    static const struct cmdline_row some[] = {
        {"a|--amp|b", "AMP_ENABLE=True arg:a arg:b", ""},
        {"-1|-1e-3", "arg:-1 arg:-1e-3", ""},
        {"-a b", "arg:-a b", ""},
        {"-|", "arg:- arg:", ""},
        {"a#'\"b|c\\d\n'e", "arg:a#'\"b arg:c\\d\n'e", ""},
        {"--scale|0.1|1.0|/data", "",
         "error: argument --scale: must be a list of float, "
         "not '[0.1, 1.0, /data]'\n"}, /* greedy */
        {"--scale|0.1|1.0|--|/data", "AUG.SCALE=[0.1, 1.0] arg:/data", ""},
        {"--|--amp|-b3", "arg:--amp arg:-b3", ""},
        {"a=b", "arg:a=b", ""}, /* keys do not look like this */
        {"A=b", "opt:A=b", ""},
        {"--|A=b", "arg:A=b", ""},
        {"a|b|c", "arg:a arg:b rest:c", "error: unrecognized arguments: c\n"},
        /* possible values of an unknown flag */
        {"--epochz|a|b", "arg:b rest:--epochz rest:a",
         "error: unrecognized arguments: --epochz a (did you mean --epochs?)\n"},
        {"--epochz=3|b", "arg:b rest:--epochz=3",
         "error: unrecognized arguments: --epochz=3 (did you mean --epochs?)\n"},
        {"--epochz|A=b", "opt:A=b rest:--epochz",
         "error: unrecognized arguments: --epochz (did you mean --epochs?)\n"},
        {"--xyz|3|b", "arg:b rest:--xyz rest:3",
         "error: unrecognized arguments: --xyz 3\n"},
        {"--xyz|a|-x|-3", "arg:a rest:--xyz rest:-x rest:-3",
         "error: unrecognized arguments: --xyz -x -3\n"},
        {"--quite|3", "arg:3 rest:--quite",
         "error: unrecognized arguments: --quite (did you mean --quiet?)\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
        compare(&some[i], 2);
}

/* No flag of trainc counts as another trainer's. */
static void test_foreign(void **state)
{
    const struct schema *row = schema_table;
    int n = 0;

    (void)state;
    for (; row->key; row++) {
        char *names = xstrdup(row->flag ? row->flag : ""), *rest = names, *name;
        bool value;

        while ((name = strtok_r(rest, ", ", &rest))) {
            if (foreign_flag(name, &value))
                fail_msg("%s is a flag of %s", name, row->key);
            n++;
        }
        free(names);
    }
    assert_true(n > 90);
}

static void test_own_values(void **state)
{
    struct problems p = {0};
    struct cmdline line;

    (void)state;
    parse(&line, "--json|a|--json|b|-q", 0, &p);
    assert_string_equal(cmdline_value(&line, "--json"), "b");
    assert_true(cmdline_has(&line, "--quiet"));
    assert_true(cmdline_has(&line, "-q"));
    assert_false(cmdline_has(&line, "--verbose"));
    assert_false(cmdline_has(&line, "--qui"));
    assert_null(cmdline_value(&line, "--verbose"));
    cmdline_release(&line);
    assert_int_equal(p.n, 0);
}

/* The command line of trainc predict with as many images as possible takes no more memory
 * than their names. */
static void test_many(void **state)
{
    enum { MANY = 20000 };
    struct cmd_spec spec = {
        .schema = schema_table, .flags = cmdline_own, .max_args = MANY};
    char **argv = xcalloc(MANY, sizeof(*argv)), word[] = "x.jpg";
    struct rusage before, after;
    struct problems p = {0};
    struct cmdline line;

    (void)state;
    for (int i = 0; i < MANY; i++)
        argv[i] = word;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    cmdline_parse(&line, &spec, MANY, argv, &p);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_int_equal(line.narg, MANY);
    assert_string_equal(line.arg[MANY - 1].origin, "argument 20000");
    assert_true(after.ru_maxrss - before.ru_maxrss < 100000); /* KiB */
    cmdline_release(&line);
    free(argv);
}

/* Origins of settings. */
static void test_where(void **state)
{
    struct problems p = {0};
    struct cmdline line;
    char words[300];

    (void)state;
    (void)snprintf(words, sizeof(words), "--opts|A|1|B=2|-b|3|D=1|--no_amp|@%s",
                   support_file("a.args", "\n --lr 0.1 C=1"));
    parse(&line, words, 0, &p);
    assert_string_equal(line.opt[0].origin, "--opts #1");
    assert_string_equal(line.opt[1].origin, "--opts #2");
    assert_string_equal(line.opt[2].origin, "argument 7");
    assert_string_equal(line.flag[0].origin, "--batch-size");
    assert_string_equal(line.flag[1].origin, "--no-amp");
    assert_non_null(strstr(line.flag[2].origin, "/a.args:2:2: --lr"));
    assert_non_null(strstr(line.opt[3].origin, "/a.args:2:11: --opts"));
    cmdline_release(&line);
    assert_int_equal(p.n, 0);
    support_cleanup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_positionals),
        cmocka_unit_test(test_foreign), cmocka_unit_test(test_own_values),
        cmocka_unit_test(test_where),   cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
