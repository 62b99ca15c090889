/* cudnnHandle_t: a stream. */
#ifndef EMULATOR_CUDNN_HANDLE_H
#define EMULATOR_CUDNN_HANDLE_H

#include <cudnn.h>
#include <stdbool.h>

bool handle_alive(cudnnHandle_t h);
cudaStream_t handle_stream(cudnnHandle_t h);

#endif
