# The CUDA backend without a GPU: our kernels compiled for the host, on an emulated CUDA
# runtime (tests/emulator). Nothing of this goes into the product.
#
#   make emulator     $B/trainc-emulated and the programs of tests that run on it
#
# EMU_TEST is built for make test and make unit, EMU_RUN is what they run.
E        := $B/emulated
EMU_CXX  := $(if $(findstring clang,$(CC)),clang++,$(CXX))
EMU_WARN := -Wall -Wextra -Wno-missing-field-initializers -Wundef -Wwrite-strings -Wcast-qual \
            -Wformat=2 -Werror
EMU_FLAGS = -std=c++20 $(OPT) -ffp-contract=off -fno-math-errno -fno-exceptions \
            -fno-rtti -fno-threadsafe-statics -fPIC $(EMU_WARN) -Isrc -I. -D_GNU_SOURCE \
            -isystem $(CUDA_HOME)/include -include tests/emulator/launch.h -MMD -MP \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
            -fno-omit-frame-pointer)

ifeq ($(CUDA),1)
EMU_C    := $(wildcard tests/emulator/*.c)
EMU_OBJ  := $(EMU_C:%.c=$B/%.o) $(CUDA_CU:%.cu=$E/%.o)
EMU_LIB  := $E/libtrainc.so
EMU_LIBS  = $(filter-out %/libcudart_static.a,$(LDLIBS))
# Programs of tests/ that also run here, and the emulator's own.
EMU_SELF := $(patsubst %.c,$B/%,$(wildcard tests/emulator/self/test_*.c))
EMU_BOTH := ops/test_ops ops/test_optim models/test_resnet_golden models/test_erfnet_golden \
            session/test_step session/test_accumulation session/test_overflow \
            session/test_segment session/test_segment_weights session/test_fit \
            session/test_half train/test_checkpoint train/test_saves train/test_pretrained
EMU_TEST := $(EMU_BOTH:%=$E/tests/%) $(EMU_SELF)
EMU_RUN  := $(EMU_SELF) tests/emulator/ops.sh tests/emulator/models.sh \
            tests/emulator/messages.sh $(if $(SANITIZE),,tests/emulator/train.sh \
            tests/emulator/options.sh tests/emulator/check_gpu.sh)

EMU_OWN  := $(wildcard tests/emulator/*.c tests/emulator/self/*.c)
$(EMU_OWN:%.c=$B/%.o): override CPPFLAGS += -isystem $(CUDA_HOME)/include -I.

$E/%.o: %.cu $B/command
	@mkdir -p $(@D)
	$(EMU_CXX) $(EMU_FLAGS) -c -o $@ -x c++ $<

$(EMU_LIB): $(filter-out %.cu.o,$(LIB)) $(EMU_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ $(EMU_LIBS)

$B/trainc-emulated: $B/src/main.o $(EMU_LIB)
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/emulated' -o $@ $^ $(EMU_LIBS)

$E/tests/%: $B/tests/%.o $(HELP) $(EMU_LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../..' -o $@ $^ $(EMU_LIBS) -lcmocka

SELF_HELP := $B/tests/child.o $B/tests/emulator/self/fixture.o $E/tests/emulator/self/kernels.o

$(EMU_SELF): %: %.o $(SELF_HELP) $(EMU_LIB)
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../../emulated' -o $@ $^ $(EMU_LIBS) -lcmocka

include tests/emulator/libraries.mk

emulator: $B/trainc-emulated $(EMU_TEST) ## the CUDA backend on the host, with its tests

-include $(EMU_OBJ:.o=.d) $(EMU_TEST:=.d) $(SELF_HELP:.o=.d)
else
emulator:
	@echo "tests of the CUDA backend on an emulated GPU: skipped, as CUDA is not built"
endif
.PHONY: emulator
