/* Hints for errors of CUDA, tested by error code without a GPU. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "cuda/device.h"
#include "tests/test.h"

static void test_hints(void **state)
{
    static const struct {
        cudaError_t error;
        const char *says;
    } rows[] = {
        {cudaErrorMemoryAllocation, "smaller DATA.BATCH_SIZE"},
        {cudaErrorIllegalAddress, "CUDA_LAUNCH_BLOCKING=1 with --no-graph"},
        {cudaErrorLaunchFailure, "CUDA_LAUNCH_BLOCKING=1 with --no-graph"},
        {cudaErrorMisalignedAddress, "CUDA_LAUNCH_BLOCKING=1 with --no-graph"},
        {cudaErrorInsufficientDriver, "driver from 580 on"},
        {cudaErrorUnsupportedPtxVersion, "driver from 580 on"},
        {cudaErrorNoKernelImageForDevice, "NVARCH"},
        {cudaErrorSystemNotReady, "nvidia-fabricmanager"},
        {cudaErrorSystemDriverMismatch, "restart after an update"},
        {cudaErrorCompatNotSupportedOnDevice, "LD_LIBRARY_PATH"},
        {cudaErrorLaunchOutOfResources, "registers"},
        {cudaErrorStreamCaptureUnsupported, "--no-graph"},
        {cudaErrorStreamCaptureInvalidated, "--no-graph"},
        {cudaErrorStreamCaptureIsolation, "--no-graph"},
        {cudaErrorStreamCaptureImplicit, "--no-graph"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *hint = cuda_hint((int)rows[i].error);

        if (!hint || !strstr(hint, rows[i].says))
            fail_msg("%s: no '%s' in: %s", cudaGetErrorName(rows[i].error), rows[i].says,
                     hint ? hint : "(none)");
    }
    assert_null(cuda_hint((int)cudaErrorUnknown));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
