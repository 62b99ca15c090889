# The emulated cuDNN, cuBLASLt, and NCCL, shared libraries with the names of NVIDIA's:
#   TRAINC_CUDNN=$B/emulated/libcudnn.so.9 TRAINC_CUBLASLT=$B/emulated/libcublasLt.so.13
# They use no code of the trainer or cuda/: their results follow from NVIDIA's headers and
# documents. Their tests run the same calls on NVIDIA's libraries if these are installed (describing
# a graph needs no GPU).
EMU_CUDNN    := $E/libcudnn.so.9
EMU_CUBLASLT := $E/libcublasLt.so.13
EMU_NCCL     := $E/libnccl.so.2
EMU_SHARED   := $(EMU_CUDNN) $(EMU_CUBLASLT) $(EMU_NCCL)
CUDNN_SRC    := $(wildcard tests/emulator/cudnn/*.c)
CUBLASLT_SRC := $(wildcard tests/emulator/cublaslt/*.c)
NCCL_SRC     := $(wildcard tests/emulator/nccl/*.c)
LIBS_TEST    := $(patsubst %.c,$B/%,$(wildcard tests/emulator/libraries/test_*.c))
LIBS_HELP    := $(patsubst %.c,$B/%.o,$(filter-out tests/emulator/libraries/test_%,\
                $(wildcard tests/emulator/libraries/*.c)))
LIBS_C       := $(CUDNN_SRC) $(CUBLASLT_SRC) $(NCCL_SRC) $(wildcard tests/emulator/libraries/*.c)

$(LIBS_C:%.c=$B/%.o): override CPPFLAGS += -isystem $(CUDA_HOME)/include -I. \
  -DEMULATED='"$E"' -DCUDA_HOME='"$(CUDA_HOME)"'
$(LIBS_C:%.c=$B/%.o): override CFLAGS += -fPIC -O3 $(EMU_FMA)

$(EMU_CUDNN): $(CUDNN_SRC:%.c=$B/%.o)
$(EMU_CUBLASLT): $(CUBLASLT_SRC:%.c=$B/%.o)
$(EMU_NCCL): $(NCCL_SRC:%.c=$B/%.o)

$(EMU_SHARED): tests/emulator/exports.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=tests/emulator/exports.map -o $@ \
	  $(filter %.o,$^) -lm

$(LIBS_TEST): %: %.o $(LIBS_HELP) $(EMU_SHARED)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -ldl -lm -lcmocka

EMU_TEST += $(LIBS_TEST)
EMU_RUN  += $(LIBS_TEST)
emulator: $(EMU_SHARED)
-include $(LIBS_C:%.c=$B/%.d)

# nvJPEG, as TRAINC_NVJPEG=$B/emulated/libnvjpeg.so.13: slightly different pixels than libjpeg.
EMU_NVJPEG := $E/libnvjpeg.so.13
$B/tests/emulator/nvjpeg/nvjpeg.o: override CPPFLAGS += -isystem $(CUDA_HOME)/include -I.
$(EMU_NVJPEG): $B/tests/emulator/nvjpeg/nvjpeg.o tests/emulator/exports.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=tests/emulator/exports.map -o $@ \
	  $(filter %.o,$^) -ljpeg
emulator: $(EMU_NVJPEG)
-include $B/tests/emulator/nvjpeg/nvjpeg.d

# Stands in for a profiler, to test NVTX ranges.
EMU_NVTX := $E/libnvtx-count.so
$B/tests/emulator/nvtx/count.o: override CPPFLAGS += -isystem $(CUDA_HOME)/include
$B/tests/emulator/nvtx/count.o: override CFLAGS += -fPIC
$(EMU_NVTX): $B/tests/emulator/nvtx/count.o
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -o $@ $^
emulator: $(EMU_NVTX)
-include $B/tests/emulator/nvtx/count.d
