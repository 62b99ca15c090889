/* trainc help layers: the ops of MODEL.LAYERS; trainc help conv2d: one of them. */
#include <string.h>
#include <strings.h>

#include "base/say.h"
#include "cmd/help.h"
#include "layers/op.h"

static void print_op(const struct layer_op *op)
{
    say("%s\n  ", op->name);
    help_wrap(op->help, 2, 2);
    say("  in PyTorch: %s%s\n", op->torch == op->name ? "F." : "", op->torch);
    for (const struct layer_arg *a = op->args; a && a->name; a++) {
        struct strbuf s = STRBUF_INIT;

        strbuf_addf(&s, "%s (", a->help);
        layer_arg_add_type(&s, a);
        if (a->def)
            strbuf_addf(&s, "; default %s)", a->def);
        else
            strbuf_addstr(&s, a->optional ? "; optional)" : "; required)");
        help_line(a->name, s.buf);
        strbuf_release(&s);
    }
}

/* Appends the arguments: "kernel_size, [stride], [padding]". */
static void add_arguments(struct strbuf *s, const struct layer_op *op)
{
    for (const struct layer_arg *a = op->args; a && a->name; a++)
        strbuf_addf(s, a->def || a->optional ? "%s[%s]" : "%s%s",
                    a == op->args ? ": " : ", ", a->name);
}

static void print_ops(void)
{
    struct layer_op op;

    say("ops of MODEL.LAYERS and their arguments, [optional ones] in brackets;\n"
        "`trainc help OP` explains them, docs/any-network.md the layers\n\n");
    for (int i = 0; (op = layer_op_at(i)).name; i++) {
        struct strbuf s = STRBUF_INIT;

        strbuf_addstr(&s, op.help);
        add_arguments(&s, &op);
        help_line(op.name, s.buf);
        strbuf_release(&s);
    }
    say("\nkeys of every layer:\n");
    help_line("name", "of the layer and its parameters; default: its position, as in "
                      "nn.Sequential");
    help_line("op", "one of these, or a block of MODEL.BLOCKS");
    help_line("layers", "instead of op: a list of layers of its own");
    help_line("from", "names of earlier layers of the list, or input, what the list "
                      "begins with; default: the layer before");
    help_line("repeat", "the layer that often in a row, as NAME.0, NAME.1, ...");
    say("\nNumbers may be expressions of num_classes, in_channels, and a block's "
        "arguments:\n4 * width, in_channels // 16\n");
}

bool help_layers(const char *topic)
{
    struct layer_op op;

    if (!strcasecmp(topic, "layers"))
        print_ops();
    for (int i = 0; (op = layer_op_at(i)).name; i++)
        if (!strcmp(op.name, topic)) {
            print_op(&op);
            return true;
        }
    return !strcasecmp(topic, "layers");
}
