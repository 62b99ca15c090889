/* MODEL.LAYERS: each mistake, and what a network without one is. */
#include <stdlib.h>
#include <string.h>

#include "tests/layers/yaml_net.h"
#include "tests/test.h"

/* Layers, one per line, below MODEL.LAYERS of net.yaml, whose third line is the first; and
 * the origin and the reason of the refusal for images of 32 x 32 and 5 classes. */
static const struct {
    const char *layers, *origin, *why;
} mistakes[] = {
    {"- {name: a, op: conv2, out_channels: 4, kernel_size: 3}", "net.yaml:3",
     "layer 'a': unknown op 'conv2' (did you mean conv2d?)"},
    {"- relu\n- BatchNorm2d", "net.yaml:4",
     "layer '1': unknown op 'BatchNorm2d' (did you mean batchnorm?)"},
    {"- {op: xyzzy}", "net.yaml:3", "layer '0': unknown op 'xyzzy'"},
    {"- {name: a, op: conv2d, out_chanels: 4, kernel_size: 3}", "net.yaml:3",
     "layer 'a': conv2d has no argument 'out_chanels' (did you mean out_channels?)"},
    {"- {op: relu, slope: 4}", "net.yaml:3",
     "layer '0': relu has no argument 'slope'; it has none"},
    {"- {op: linear}", "net.yaml:3",
     "layer '0': linear needs the argument out_features (output features)"},
    {"- {op: conv2d, out_channels: four, kernel_size: 3}", "net.yaml:3",
     "layer '0': out_channels must be an int, at least 1, not 'four' (unknown name "
     "'four')"},
    {"- {op: conv2d, out_channels: 4 *, kernel_size: 3}", "net.yaml:3",
     "layer '0': out_channels must be an int, at least 1, not '4 *' (no number or name "
     "at "
     "'')"},
    {"- {op: conv2d, out_channels: in_channels / 2, kernel_size: 3}", "net.yaml:3",
     "layer '0': out_channels must be an int, at least 1, not 1.5"},
    {"- {op: conv2d, out_channels: 4, kernel_size: [1, 2, 3]}", "net.yaml:3",
     "layer '0': kernel_size must be an int or [rows, columns], at least 1, not [1, 2, "
     "3]"},
    {"- {op: conv2d, out_channels: 4, kernel_size: 3, bias: 7}", "net.yaml:3",
     "layer '0': bias must be a bool, not 7"},
    {"- {op: conv2d, out_channels: 4, kernel_size: 3, stride: 0}", "net.yaml:3",
     "layer '0': stride must be an int or [rows, columns], at least 1, not 0"},
    {"- {op: dropout, p: 1.5}", "net.yaml:3",
     "layer '0': p must be a float in [0, 0.999], not 1.5"},
    {"- {op: upsample, scale_factor: 2, mode: cubic}", "net.yaml:3",
     "layer '0': mode must be one of nearest, bilinear, bicubic, not 'cubic'"},
    {"- upsample", "net.yaml:3",
     "layer '0': upsample needs one of scale_factor, size, and a second input"},
    {"- {name: first, op: relu}\n- {op: relu, from: frist}", "net.yaml:4",
     "layer '1': from: there is no layer 'frist' (did you mean first?)"},
    {"- {op: relu, from: b}\n- {name: b, op: relu}", "net.yaml:3",
     "layer '0': from: 'b' comes later"},
    {"- {op: add, from: []}", "net.yaml:3",
     "layer '0': from must have 1 to 8 names, not 0"},
    {"- {op: add}", "net.yaml:3", "layer '0': add has 2 inputs, not 1"},
    {"- {name: a, op: relu}\n- {op: relu, from: [a, input]}", "net.yaml:4",
     "layer '1': relu has 1 input, not 2"},
    {"- {name: a, op: maxpool2d, kernel_size: 2}\n- {op: add, from: [a, input]}",
     "net.yaml:4",
     "layer '1': its inputs have different shapes: [N, 3, 16, 16] and [N, 3, 32, 32]"},
    {"- {name: a, op: maxpool2d, kernel_size: 2}\n- {op: concat, from: [a, input]}",
     "net.yaml:4",
     "layer '1': its inputs differ in more than their channels: [N, 3, 16, 16] and [N, "
     "3, "
     "32, 32]"},
    {"- {name: a, op: maxpool2d, kernel_size: 2}\n- {op: mul, from: [a, input]}",
     "net.yaml:4",
     "layer '1': its inputs have shapes that do not fit: [N, 3, 16, 16] and [N, 3, 32, "
     "32]"},
    {"- {op: linear, out_features: num_classes}", "net.yaml:3",
     "layer '0': linear needs [N, features], and its input is [N, 3, 32, 32]: put a "
     "flatten before it"},
    {"- flatten\n- {op: conv2d, out_channels: 3, kernel_size: 1}", "net.yaml:4",
     "layer '1': conv2d needs an image [N, C, H, W], and its input is [N, 3072]"},
    {"- {name: a, op: relu}\n- {op: flatten, from: input}", "net.yaml:3",
     "layer 'a': nothing uses it"},
    {"- {name: a, op: relu}\n- {name: a, op: relu}", "net.yaml:4",
     "layer 'a': the layer in line 3 has this name"},
    {"- {name: a.0, op: relu}\n- {name: a, op: relu, repeat: 2}", "net.yaml:4",
     "layer 'a.0': another layer has this name"},
    {"- {name: input, op: relu}", "net.yaml:3",
     "layer 'input': this is the name of an input"},
    {"- {name: a b, op: relu}", "net.yaml:3",
     "layer 'a b': a name has letters, digits, _, and dots between them"},
    {"- {name: a}", "net.yaml:3", "layer 'a' has no op"},
    {"- {conv1: {op: relu}}", "net.yaml:3",
     "layer '0' has no op: write {name: conv1, op: ...} for 'conv1: {...}'"},
    {"- {op: relu, layers: [relu]}", "net.yaml:3",
     "layer '0' has an op and layers, which are the op of a list"},
    {"- {layers: [relu], width: 3}", "net.yaml:3",
     "layer '0': a list of layers has no argument 'width'"},
    {"- {name: a, layers: []}", "net.yaml:3",
     "layer 'a': there are no layers, and so no output"},
    {"- [relu]", "net.yaml:3",
     "layer 0 of 'MODEL.LAYERS' must be the name of an op, or a dict"},
    {"- {op: relu, repeat: 0}", "net.yaml:3",
     "layer '0': repeat must be an int from 1 to 1000"},
    {"- {op: conv2d, out_channels: 4, kernel_size: 33}", "net.yaml:3",
     "layer '0': nothing is left of its input [N, 3, 32, 32]: the result would be 0 x 0 "
     "pixels"},
    {"- {op: upsample, scale_factor: 0.01}", "net.yaml:3",
     "layer '0': nothing is left of its input [N, 3, 32, 32]: the result would be 0 x 0 "
     "pixels"},
    {"- {op: conv2d, out_channels: 4, kernel_size: 3, groups: 2}", "net.yaml:3",
     "layer '0': groups 2 must divide the input channels, which are 3, and out_channels, "
     "which is 4"},
    {"- {op: groupnorm, num_groups: 2}", "net.yaml:3",
     "layer '0': num_groups 2 does not divide the 3 channels"},
    {"- {op: conv2d, out_channels: 4, kernel_size: 3, stride: 2, padding: same}",
     "net.yaml:3", "layer '0': padding same needs stride 1, as in PyTorch, not 2"},
    {"- {op: maxpool2d, kernel_size: 2, padding: 2}", "net.yaml:3",
     "layer '0': padding 2 is more than half of the window, which is 2"},
    {"- {op: conv_transpose2d, out_channels: 4, kernel_size: 2, output_padding: 1}",
     "net.yaml:3", "layer '0': output_padding 1 must be below the stride, which is 1"},
    {"- {op: conv2d, out_channels: 1000000, kernel_size: 1024, padding: 1024}",
     "net.yaml:3", "layer '0': its weight would have 3.15e+12 elements"},
    {"- flatten\n- {name: fc, op: linear, out_features: 7}", "net.yaml:4",
     "layer 'fc': the output of the network is [N, 7], and there are 5 classes: write "
     "num_classes for 7"},
    {"- global_avgpool", "net.yaml:3",
     "layer '0': the output of the network is [N, 3, 1, 1]: add a flatten"},
    {"- {op: conv2d, out_channels: num_classes, kernel_size: 2}", "net.yaml:3",
     "layer '0': the output of the network is [N, 5, 31, 31], and the sides of images of "
     "32 x 32 are no multiples of it"},
    /* blocks, which begin in line 4 */
    {"[b]\n  BLOCKS:\n  - {name: b, layers: [b]}", "net.yaml:4",
     "layer '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0....': more than "
     "32 "
     "lists within each other; does a block contain itself?"},
    {"[{op: b, widht: 3}]\n  BLOCKS:\n  - {name: b, args: {width: 1}, layers: [relu]}",
     "net.yaml:2", "layer '0': block b has no argument 'widht' (did you mean width?)"},
    {"[b]\n  BLOCKS:\n  - {name: b, args: {width: null}, layers: [relu]}", "net.yaml:2",
     "layer '0': block b needs the argument width"},
    {"[b]\n  BLOCKS:\n  - {name: b, args: {width: 1}, layers: [relu]}", "net.yaml:4",
     "block 'b': nothing uses its argument width"},
    {"[b]\n  BLOCKS:\n  - {name: b, inputs: [x, y], layers: [relu]}", "net.yaml:2",
     "layer '0': block b has 2 inputs, not 1"},
    {"[{op: b, from: [input, input]}]\n  BLOCKS:\n  - {name: b, inputs: [x, y], layers: "
     "[relu]}",
     "net.yaml:4", "layer '0': nothing uses its input 'y'"},
    {"[b]\n  BLOCKS:\n  - {name: b, inputs: [], layers: [relu]}", "net.yaml:4",
     "block 'b': inputs must be a list of 1 to 8 names"},
    {"[b]\n  BLOCKS:\n  - {name: b, layer: [relu]}", "net.yaml:4",
     "block 'b': unknown key 'layer'; a block has name, args, inputs, and layers"},
    {"[relu]\n  BLOCKS:\n  - {name: b, layers: [relu]}", "net.yaml:4",
     "block 'b': no layer uses it"},
    {"[b]\n  BLOCKS:\n  - {name: b, layers: [relu]}\n  - {name: b, layers: [relu]}",
     "net.yaml:5", "block 'b': another block has this name"},
    {"[relu]\n  BLOCKS:\n  - {name: relu, layers: [silu]}", "net.yaml:2",
     "layer '0': block 'relu' has the name of an op; rename it"},
    {"[relu]\n  BLOCKS:\n  - [silu]", "net.yaml:4",
     "block 0 of MODEL.BLOCKS must be a dict with a name and layers"},
};

/* Appends the lines, indented unless the list is in brackets. */
static char *net_text(const char *layers)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addstr(&s, "MODEL:\n  LAYERS:");
    if (*layers == '[') {
        strbuf_addf(&s, " %s\n", layers);
        return strbuf_detach(&s);
    }
    for (const char *line = layers; *line;) {
        size_t len = strcspn(line, "\n");

        strbuf_addf(&s, "\n    %.*s", (int)len, line);
        line += len + (line[len] == '\n');
    }
    strbuf_addch(&s, '\n');
    return strbuf_detach(&s);
}

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        char *text = net_text(mistakes[i].layers);
        struct cfgnode *tree = yaml_net_text(text, "net.yaml");
        struct layers_source source = yaml_net_source(tree);
        const struct model *m = layers_model(&source, "net", 3);
        struct model_options o = {.classes = 5};
        struct strbuf why = STRBUF_INIT;

        if (!m->family->check(m, &o, 32, 32, &why))
            fail_msg("not refused: %s", text);
        assert_string_equal(why.buf, mistakes[i].why);
        assert_string_equal(m->family->blamed(m), mistakes[i].origin);
        strbuf_release(&why);
        cfgnode_free(tree);
        free(text);
    }
}

static const struct model *model_of(struct cfgnode *tree)
{
    struct layers_source source = yaml_net_source(tree);

    return layers_model(&source, "net", 3);
}

/* The task, the classes, and the scale of the label maps follow from the output. */
static void test_output(void **state)
{
    struct cfgnode *seven = yaml_net_text("MODEL: {LAYERS: [flatten, {op: linear, "
                                          "out_features: 7}]}",
                                          "a.yaml"),
                   *any =
                       yaml_net_text("MODEL: {LAYERS: [batchnorm, flatten, {op: linear, "
                                     "out_features: num_classes}]}",
                                     "a.yaml"),
                   *pixels =
                       yaml_net_text("MODEL: {LAYERS: [{op: conv2d, kernel_size: 4, "
                                     "stride: 4, out_channels: num_classes}]}",
                                     "a.yaml");
    struct strbuf why = STRBUF_INIT;
    struct model_options o = {.classes = 5};

    (void)state;
    assert_int_equal(model_of(seven)->classes, 7);
    assert_true(model_of(seven)->family->layer_norm);
    assert_int_equal(model_of(any)->classes, 0);
    assert_false(model_of(any)->family->layer_norm);
    assert_int_equal(model_of(any)->family->task, MODEL_CLASSIFY);
    assert_ptr_equal(model_of(any), model_of(any));
    assert_int_equal(model_of(pixels)->family->task, MODEL_SEGMENT);
    assert_int_equal(model_of(pixels)->label_divisor, 4);
    assert_null(model_of(pixels)->family->check(model_of(pixels), &o, 32, 64, &why));
    assert_string_equal(why.buf, "");
    cfgnode_free(seven);
    cfgnode_free(any);
    cfgnode_free(pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
