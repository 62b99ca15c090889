#include <cuda_runtime_api.h>
#include <string.h>

#include "tests/emulator/self/fixture.h"
#include "tests/test.h"

void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    OK(cudaStreamCreateWithFlags(&f->dev.stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&f->x, sizeof(f->host)));
    OK(cudaMalloc((void **)&f->y, sizeof(f->host)));
    for (int i = 0; i < N; i++)
        f->host[i] = (float)(i + 1);
    OK(cudaMemcpy(f->x, f->host, sizeof(f->host), cudaMemcpyHostToDevice));
}

void fixture_release(struct fixture *f)
{
    OK(cudaStreamDestroy(f->dev.stream));
    OK(cudaFree(f->x));
    OK(cudaFree(f->y));
}

void fixture_fetch(struct fixture *f, const void *src)
{
    OK(cudaMemcpyAsync(f->host, src, sizeof(f->host), cudaMemcpyDeviceToHost,
                       f->dev.stream));
    OK(cudaStreamSynchronize(f->dev.stream));
}
