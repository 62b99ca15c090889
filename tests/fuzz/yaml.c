/* YAML as a tree: what is dumped reads back as the same tree. */
#include "fuzz.h"

#include "config/cfgnode.h"
#include "config/dump.h"
#include "config/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problems p = {0};
    struct cfgnode *tree = yaml_read_text((const char *)data, size, "fuzz.yaml", &p);

    if (tree && !p.nerror) {
        struct strbuf text = STRBUF_INIT;
        struct cfgnode *again;

        cfgnode_dump(&text, tree);
        again = yaml_read_text(text.buf, text.len, "dump.yaml", &p);
        fuzz_expect(again && !p.nerror, "a dump is YAML");
        fuzz_expect(cfgnode_equal(tree, again), "and the same tree");
        cfgnode_free(again);
        strbuf_release(&text);
    }
    cfgnode_free(tree);
    problems_release(&p);
    return 0;
}
