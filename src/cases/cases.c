#include "cases/cases.h"

#include "cases/rows.h"

/* In the order of ops/table.c; then chains of ops, and cases with full vectors. */
static const struct op_case *const tables[] = {
    rows_input,     rows_conv,     rows_batchnorm,   rows_pointwise, rows_expr,
    rows_pool,      rows_resample, rows_tokens,      rows_patches,   rows_dropout,
    rows_moe,
    rows_attention, rows_bytes,    rows_loss,        rows_update,    rows_chains,
    rows_epilogues, rows_wide,     rows_wide_chains,
};

const struct op_case *op_case_at(int i)
{
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct op_case *row = tables[t]; row->name; row++)
            if (i-- == 0)
                return row;
    return NULL;
}
