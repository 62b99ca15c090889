/* Public weights by name: every tag of every model has a row; and the parsing of
 * names. */
#include "models/pretrained.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "models/table.h"
#include "tests/test.h"

static void test_tags(void **state)
{
    int n = 0, rows = 0;

    (void)state;
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            for (const char *t = m->tags; *t; t += strspn(t, " ")) {
                size_t len = strcspn(t, " ");
                char *name = xasprintf("%s.%.*s", m->name, (int)len, t);
                const struct pretrained *p = pretrained_find(name, strlen(name));

                if (!p)
                    fail_msg("%s has no row", name);
                assert_string_equal(p->name, name);
                if (t == m->tags) /* the default is first in the table, too */
                    assert_ptr_equal(pretrained_find(m->name, strlen(m->name)), p);
                free(name);
                t += len;
                n++;
            }
    for (const struct pretrained *p = pretrained_table; p->name; p++, rows++) {
        struct strbuf why = STRBUF_INIT;
        const char *type = NULL;

        for (int i = 0; model_families[i] && !type; i++)
            if (model_find(model_families[i]->type, p->name, &why))
                type = model_families[i]->type;
        assert_non_null(type);
        assert_true(p->size > 0 && p->crop_pct > 0.5 && p->crop_pct <= 1);
        assert_true(p->std[0] > 0 && p->mean[2] >= 0);
        assert_int_equal(p->top1 > 0, p->classes == 1000);
        assert_true(p->top5 >= p->top1 && p->top5 < 100);
        strbuf_release(&why);
    }
    assert_int_equal(n, rows);
    for (const struct pretrained_renamed *r = pretrained_renamed_table; r->old; r++) {
        const struct pretrained *p = pretrained_find(r->old, strlen(r->old));

        assert_non_null(p);
        assert_string_equal(p->name, r->name);
        assert_string_equal(pretrained_now(r->old), r->name);
        assert_string_equal(pretrained_now(r->name), r->name);
    }
    /* At the row's size, 160 instead of 224. */
    assert_true(pretrained_find("resnet50.a3_in1k", 16)->top1 == 75.994);
}

static void check_repository(const char *name, const char *want)
{
    const struct pretrained *p = pretrained_find(name, strlen(name));
    char *got;

    assert_non_null(p);
    got = pretrained_repository(p);
    assert_string_equal(got, want);
    free(got);
}

static void test_repositories(void **state)
{
    (void)state;
    check_repository("resnet50.a1_in1k", "resnet50.a1_in1k");
    check_repository("vit_base_patch16_clip_quickgelu_224.openai",
                     "vit_base_patch16_clip_224.openai");
}

static void test_texts(void **state)
{
    static const struct {
        const char *text, *row, *hub, *revision, *why; /* no row, hub, or why: it is a
                                                        * file */
    } rows[] = {
        {"resnet50.a1_in1k", "resnet50.a1_in1k", NULL, NULL, NULL},
        {"resnet50", "resnet50.a1_in1k", NULL, NULL, NULL},
        {"auto", "resnet18.a1_in1k", NULL, NULL, NULL},
        {"timm/resnet50.tv_in1k", "resnet50.tv_in1k", NULL, NULL, NULL},
        {"hf-hub:timm/resnet50.tv_in1k", "resnet50.tv_in1k", NULL, NULL, NULL},
        {"hf_hub:timm/resnet50.tv_in1k@abc", "resnet50.tv_in1k", NULL, "abc", NULL},
        {"hf-hub:me/net@v2", NULL, "me/net", "v2", NULL},
        {"hf-hub:timm/some_net.x", NULL, "timm/some_net.x", NULL, NULL},
        {"hf-hub:net", NULL, NULL, NULL, "no OWNER/NAME"},
        {"hf-hub:/net", NULL, NULL, NULL, "no OWNER/NAME"},
        {"swin_tiny_patch4_window7_224.pth", "swin_tiny_patch4_window7_224.ms_in1k", NULL,
         NULL, NULL},
        {"resnet50_a1_0-14fe96d1.pth", "resnet50.a1_in1k", NULL, NULL, NULL},
        {"swinv2_tiny_patch4_window8_256.pth", "swinv2_tiny_window8_256.ms_in1k", NULL,
         NULL, NULL},
        {"tv_resnet50", "resnet50.tv_in1k", NULL, NULL, NULL},
        {"timm/gluon_resnet50_v1d", "resnet50d.gluon_in1k", NULL, NULL, NULL},
        {"resnet50.a9_in1k", NULL, NULL, NULL, "did you mean resnet50.a1_in1k?"},
        {"resnet20", NULL, NULL, NULL, "no public weights 'resnet20'"},
        {"weights.safetensors", NULL, NULL, NULL, NULL},
        {"some/where/resnet50.pth", NULL, NULL, NULL, NULL},
        {"Makefile", NULL, NULL, NULL, NULL}, /* an existing file */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct strbuf why = STRBUF_INIT;
        struct pretrained_request r;
        bool is = pretrained_parse(rows[i].text, "resnet18", &r, &why);

        print_message("%s\n", rows[i].text);
        assert_int_equal(is, rows[i].row || rows[i].hub);
        assert_int_equal(why.len > 0, rows[i].why != NULL);
        if (rows[i].why)
            assert_non_null(strstr(why.buf, rows[i].why));
        assert_int_equal(r.row != NULL, rows[i].row != NULL);
        if (r.row)
            assert_string_equal(r.row->name, rows[i].row);
        if (rows[i].hub) {
            assert_int_equal(r.hub_len, strlen(rows[i].hub));
            assert_memory_equal(r.hub, rows[i].hub, (size_t)r.hub_len);
        }
        if (is)
            assert_string_equal(r.revision ? r.revision : "",
                                rows[i].revision ? rows[i].revision : "");
        strbuf_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_repositories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
