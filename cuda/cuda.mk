# The CUDA backend. CUDA=auto builds it if nvcc is found, 1 requires it, 0 leaves it out. Our
# kernels and the static CUDA runtime are in the binary; cuDNN and cuBLASLt (and NCCL, for its version) are
# opened at run time, and the driver is never linked, so the binary starts anywhere.
CUDA      ?= auto
CUDA_HOME ?= /usr/local/cuda
NVCC      ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc))

ifeq ($(CUDA),auto)
override CUDA := $(if $(NVCC),1,0)
endif

ifeq ($(CUDA),1)
ifeq ($(NVCC),)
$(error CUDA=1, but there is no nvcc: set CUDA_HOME or NVCC)
endif

# 12 or 13: the libraries' names end with it (cuda/library.c).
CUDA_MAJOR := $(shell sed -n 's/^.define CUDART_VERSION *\([0-9]*\)[0-9][0-9][0-9]$$/\1/p' $(CUDA_HOME)/include/cuda_runtime_api.h)

CUDA_TESTS := $(wildcard tests/cuda/test_*.c)
CUDA_BENCH := $B/tests/cuda/bench_nodes
CUDA_HELP  := $(patsubst %.c,$B/%.o,$(filter-out $(CUDA_TESTS) %/bench_nodes.c,$(wildcard tests/cuda/*.c)))
$(CUDA_HELP) $(CUDA_BENCH).o $(CUDA_TESTS:%.c=$B/%.o): override CPPFLAGS += -isystem $(CUDA_HOME)/include -I.

# Machine code for Ampere and Hopper; newer chips compile the PTX at their first start. No kernel
# needs more than Ampere has, so one PTX serves all, which saves half a minute of build time.
# LINEINFO=1 keeps the lines of the source for profilers, and makes the code three times larger.
# The code is compressed: drivers of CUDA 12.4 and newer read both kinds of compression.
NVARCH ?= -gencode "arch=compute_80,code=[sm_80,sm_90,compute_80]"
NVSIZE := -Xfatbin=-compress-all $(if $(findstring compress-mode,$(shell $(NVCC) --help)),--compress-mode=size)
NVFLAGS = -std=c++20 -O3 $(if $(LINEINFO),-lineinfo) --expt-relaxed-constexpr $(NVARCH) $(NVSIZE) \
          $(NVWARN) -Isrc -I. -MMD -MP \
          -Xcompiler -fPIC,-fno-threadsafe-statics,-fno-exceptions,-fno-rtti

CUDA_C  := $(wildcard cuda/*.c)
CUDA_CU := $(wildcard cuda/*.cu)
# What nvcc compiles does not depend on the kind of build: all kinds share it.
N       := build/nvcc
OBJ     += $(CUDA_C:%.c=$B/%.o) $(CUDA_CU:%.cu=$N/%.cu.o)

$(CUDA_C:%.c=$B/%.o): override CPPFLAGS += -isystem $(CUDA_HOME)/include -I.
$B/cuda/library.o: override CPPFLAGS += -DCUDA_MAJOR=$(CUDA_MAJOR)
$B/src/session/devices.o: override CPPFLAGS += -DWITH_CUDA -I.
override LDLIBS += $(CUDA_HOME)/lib64/libcudart_static.a -ldl -lrt

$N/%.cu.o: %.cu $N/command
	@mkdir -p $(@D)
	$(NVCC) $(NVFLAGS) -c -o $@ $<

$N/command: FORCE
	@mkdir -p $(@D)
	@echo '$(NVCC) $(NVFLAGS)' | cmp -s - $@ || echo '$(NVCC) $(NVFLAGS)' >$@
endif
