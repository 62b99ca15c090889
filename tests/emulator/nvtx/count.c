/*
 * Emulates a profiler: NVTX loads the library named by NVTX_INJECTION64_PATH; this one
 * writes each range, indented by its depth, to the file named by NVTX_RANGES.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *out;
static int depth;

static int range_push(const char *name)
{
    (void)fprintf(out, "%*s%s\n", 2 * depth, "", name);
    return depth++;
}

static int range_pop(void)
{
    if (!depth)
        (void)fprintf(out, "a pop too many\n");
    return --depth;
}

static void end(void)
{
    if (depth)
        (void)fprintf(out, "%d ranges left open\n", depth);
    (void)fclose(out);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *all = get(NVTX_ETID_CALLBACKS);
    const char *path = getenv("NVTX_RANGES");
    NvtxFunctionTable table = NULL;
    unsigned n = 0;

    if (!all || !all->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &n) ||
        n <= NVTX_CBID_CORE_RangePop || !path || !(out = fopen(path, "w")))
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)range_push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)range_pop;
    (void)atexit(end);
    return 1;
}
