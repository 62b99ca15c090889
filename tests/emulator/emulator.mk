# The CUDA backend without a GPU: our kernels compiled for the host, on an emulated CUDA runtime
# (tests/emulator). The product contains none of this.
#
#   make emulator        $B/trainc-emulated and the test programs that run on it
#   make test-emulated   their long runs
#
# EMU_TEST is built by make test and make unit, which run EMU_RUN; make test-emulated runs
# EMU_LONG.
E        := $B/emulated
EMU_CXX  := $(if $(findstring clang,$(CC)),clang++,$(CXX))
EMU_WARN := -Wall -Wextra -Wno-missing-field-initializers -Wundef -Wwrite-strings -Wcast-qual \
            -Wformat=2 $(if $(WERROR),-Werror)
EMU_FLAGS = -std=c++20 -O2 -g1 -fno-math-errno -fno-exceptions -fno-rtti \
            -fno-threadsafe-statics -fPIC $(EMU_WARN) -Isrc -I. -D_GNU_SOURCE \
            -isystem $(CUDA_HOME)/include -include tests/emulator/launch.h -MMD -MP \
            $(if $(SANITIZED),-fsanitize=$(SANITIZED) -fno-sanitize-recover=all \
            -fno-omit-frame-pointer)
# In kernels and the emulated libraries, products and sums are contracted, as by nvcc, if this
# CPU can do that. Host code of the product is not contracted.
EMU_FMA  := $(if $(shell grep -sw fma /proc/cpuinfo),-ffp-contract=fast -mfma,-ffp-contract=off)

ifeq ($(CUDA),1)
EMU_C    := $(wildcard tests/emulator/*.c)
EMU_LIBS  = $(filter-out %/libcudart_static.a,$(LDLIBS))
# Programs of tests/ that also run here, and tests of the emulator.
EMU_SELF := $(patsubst %.c,$B/%,$(wildcard tests/emulator/self/test_*.c))
EMU_BOTH := ops/test_ops ops/test_residual ops/test_share ops/test_optim ops/test_losses models/test_resnet_golden models/test_segment_golden \
            models/test_transformer_golden pt2/test_pt2_golden layers/test_layers_golden session/test_step \
            session/test_accumulation session/test_overflow session/test_segment session/test_segment_weights session/test_groups \
            session/test_fit session/test_half session/test_half_grads train/test_checkpoint train/test_saves train/test_pretrained
EMU_TEST := $(EMU_BOTH:%=$E/tests/%) $(EMU_SELF) $E/tests/cuda/bench_nodes
EMU_RUN  := $(EMU_SELF) tests/emulator/table.sh tests/emulator/messages.sh
# The longest first, so that none runs by itself at the end.
EMU_LONG := $(addprefix tests/emulator/,ops.sh models.sh check_gpu.sh gpus.sh options.sh train.sh swin.sh nvjpeg.sh trouble.sh amp.sh)

EMU_OWN  := $(wildcard tests/emulator/*.c tests/emulator/self/*.c)
$(EMU_OWN:%.c=$B/%.o): override CPPFLAGS += -isystem $(CUDA_HOME)/include -I.

# All kinds of builds share the kernels, except with sanitizers: these also find accesses beyond
# arrays in shared and local memory, but such kernels take minutes to compile. With TEST_NO_SLOW=1
# the shared ones serve: make test runs them with the emulator's own check (EMULATOR_PROTECT).
SANITIZED := $(if $(TEST_NO_SLOW),,$(SANITIZE))
K        := $(if $(SANITIZED),$E,build/kernels-$(notdir $(EMU_CXX)))

$K/%.o: %.cu $K/command
	@mkdir -p $(@D)
	$(EMU_CXX) $(EMU_FLAGS) $(EMU_FMA) -c -o $@ -x c++ $<

$K/command: FORCE
	@mkdir -p $(@D)
	@echo '$(EMU_CXX) $(EMU_FLAGS) $(EMU_FMA)' | cmp -s - $@ || echo '$(EMU_CXX) $(EMU_FLAGS) $(EMU_FMA)' >$@

$E/libtrainc.so: $(filter-out %.cu.o,$(LIB)) $(EMU_C:%.c=$B/%.o) $(CUDA_CU:%.cu=$K/%.o)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ $(EMU_LIBS)

$E/tests/%: $B/tests/%.o $(HELP) $E/libtrainc.so
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../..' -o $@ $^ $(EMU_LIBS) -lcmocka

-include $(CUDA_CU:%.cu=$K/%.d)

$B/trainc-emulated: $B/src/main.o $E/libtrainc.so
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/emulated' -o $@ $^ $(EMU_LIBS)

SELF_HELP := $B/tests/child.o $B/tests/emulator/self/fixture.o $K/tests/emulator/self/kernels.o

$(EMU_SELF): %: %.o $(SELF_HELP) $E/libtrainc.so
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../../emulated' -o $@ $^ $(EMU_LIBS) -lcmocka

include tests/emulator/libraries.mk

emulator: $B/trainc-emulated $(EMU_TEST) ## the CUDA backend on the host, with its tests

-include $(EMU_C:%.c=$B/%.d) $(EMU_TEST:=.d) $(SELF_HELP:.o=.d)
else
emulator:
	@echo "tests of the CUDA backend on an emulated GPU: skipped, as CUDA is not built"
endif

test-emulated: ## the emulated GPU's long runs, after make test: models, training, orders, options
	@$(MAKE) -s -j$(shell nproc) all emulator
	@EMULATED=$E scripts/tests.sh $(EMU_LONG)
.PHONY: emulator test-emulated
