/*
 * The networks of configs/layers, and one with every op, against the same modules in PyTorch:
 * names of the tensors, logits, losses, gradients, three updates, and an evaluation.
 * scripts/golden/layers.py writes the results.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "layers/op.h"
#include "tests/layers/yaml_net.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

static void check(const char *path, const char *name)
{
    struct cfgnode *tree = yaml_net_file(path);
    struct layers_source source;
    char *golden = xasprintf("tests/golden/layers/%s.json", name);

    yaml_net_calm(tree);
    source = yaml_net_source(tree);
    golden_train_layers(layers_model(&source, name, 3), golden);
    cfgnode_free(tree);
    free(golden);
}

static void test_lenet(void **state)
{
    (void)state;
    check("configs/layers/lenet.yaml", "lenet");
}

static void test_sequential(void **state)
{
    (void)state;
    check("configs/layers/sequential.yaml", "sequential");
}

static void test_custom_resnet(void **state)
{
    (void)state;
    check("configs/layers/custom_resnet.yaml", "custom_resnet");
}

static void test_small_unet(void **state)
{
    (void)state;
    check("configs/layers/small_unet.yaml", "small_unet");
}

static void test_ops(void **state)
{
    (void)state;
    check("tests/golden/layers/ops.yaml", "ops");
}

/* True if the list, or one within it, has the op, by name or as an argument's value. */
static bool mentions(const struct value *v, const char *op)
{
    if (v->type == VALUE_STR)
        return !strcmp(v->s, op);
    for (int i = 0; value_has_items(v) && i < v->list.n; i++)
        if (mentions(&v->list.item[i], op))
            return true;
    return false;
}

/* Every op of the table occurs in one of the networks. */
static void test_all_ops(void **state)
{
    struct cfgnode *ops = yaml_net_file("tests/golden/layers/ops.yaml"),
                   *lenet = yaml_net_file("configs/layers/lenet.yaml");
    struct layers_source a = yaml_net_source(ops), b = yaml_net_source(lenet);
    struct layer_op op;

    (void)state;
    for (int i = 0; (op = layer_op_at(i)).name; i++)
        if (!mentions(a.layers, op.name) && !mentions(a.blocks, op.name) &&
            !mentions(b.layers, op.name))
            fail_msg("no network of this test has the op %s", op.name);
    cfgnode_free(ops);
    cfgnode_free(lenet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lenet),         cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_custom_resnet), cmocka_unit_test(test_small_unet),
        cmocka_unit_test(test_ops),           cmocka_unit_test(test_all_ops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
