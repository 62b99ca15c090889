/*
 * SimMIM's pre-training against PyTorch (scripts/golden/model_simmim.py): the masked
 * encoder, its decoder, and the loss of masked pixels. Masks are those of the script.
 */
#include <stdlib.h>

#include "models/swin.h"
#include "models/swin_net.h"
#include "models/swinv2.h"
#include "models/vit.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

static const int64_t depths[] = {2, 2, 1}, heads[] = {2, 2, 4};
#define SWIN                                                                             \
    .arch = &(const struct swin_options)                                                 \
    {                                                                                    \
        .patch_size = 2, .in_chans = 3, .embed_dim = 16, .depths = {depths, 3},          \
        .num_heads = {heads, 3}, .window_size = 4, .mlp_ratio = 4, .qkv_bias = true,     \
        .patch_norm = true                                                               \
    }

static struct model nets[] = {
    {.name = "simmim_swin", .family = &swin_family, SWIN},
    {.name = "simmim_swinv2", .family = &swinv2_family, SWIN},
    {.name = "simmim_vit",
     .family = &vit_family,
     .arch = &(const struct vit){.patch = 4, .width = 24, .depth = 2, .heads = 3}},
};

static void test_net(void **state)
{
    golden_train(*state, GOLDEN_ADAMW, true);
}

int main(void)
{
    enum { N = sizeof(nets) / sizeof(nets[0]) };
    struct CMUnitTest tests[N];

    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){
            .name = nets[i].name, .test_func = test_net, .initial_state = &nets[i]};
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
