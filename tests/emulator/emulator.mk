# The CUDA backend without a GPU: our kernels compiled for the host, on an emulated CUDA runtime
# (tests/emulator). The product contains none of this.
#
#   make emulator        $B/trainc-emulated and the test programs that run on it
#   make emulator-fma    those programs, with products and sums contracted as by nvcc
#   make test-emulated   the long runs of both
#
# EMU_TEST is built by make test and make unit, which run EMU_RUN; make test-emulated runs
# EMU_LONG.
E        := $B/emulated
F        := $B/emulated-fma
EMU_CXX  := $(if $(findstring clang,$(CC)),clang++,$(CXX))
EMU_WARN := -Wall -Wextra -Wno-missing-field-initializers -Wundef -Wwrite-strings -Wcast-qual \
            -Wformat=2 $(if $(WERROR),-Werror)
EMU_FLAGS = -std=c++20 $(OPT) -fno-math-errno -fno-exceptions -fno-rtti \
            -fno-threadsafe-statics -fPIC $(EMU_WARN) -Isrc -I. -D_GNU_SOURCE \
            -isystem $(CUDA_HOME)/include -include tests/emulator/launch.h -MMD -MP \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
            -fno-omit-frame-pointer)
# Only kernels and the emulated libraries: host code of the product is not contracted.
EMU_APART := -ffp-contract=off
EMU_FUSED := -ffp-contract=fast -mfma
HAS_FMA   := $(shell grep -qsw fma /proc/cpuinfo && echo 1)

ifeq ($(CUDA),1)
EMU_C    := $(wildcard tests/emulator/*.c)
EMU_LIBS  = $(filter-out %/libcudart_static.a,$(LDLIBS))
# Programs of tests/ that also run here, and tests of the emulator.
EMU_SELF := $(patsubst %.c,$B/%,$(wildcard tests/emulator/self/test_*.c))
EMU_BOTH := ops/test_ops ops/test_residual ops/test_share ops/test_optim ops/test_losses models/test_resnet_golden models/test_segment_golden \
            models/test_transformer_golden session/test_step session/test_accumulation \
            session/test_overflow session/test_segment session/test_segment_weights session/test_groups \
            session/test_fit session/test_half train/test_checkpoint train/test_saves train/test_pretrained
EMU_TEST := $(EMU_BOTH:%=$E/tests/%) $(EMU_SELF) $E/tests/cuda/bench_nodes
EMU_RUN  := $(EMU_SELF) tests/emulator/table.sh tests/emulator/messages.sh
EMU_LONG := $(addprefix tests/emulator/,swin.sh models.sh ops.sh train.sh trouble.sh options.sh amp.sh nvjpeg.sh gpus.sh check_gpu.sh)

EMU_OWN  := $(wildcard tests/emulator/*.c tests/emulator/self/*.c)
$(EMU_OWN:%.c=$B/%.o): override CPPFLAGS += -isystem $(CUDA_HOME)/include -I.

define EMU_BUILD # folder, how products and sums are compiled
$1/%.o: %.cu $B/command
	@mkdir -p $$(@D)
	$$(EMU_CXX) $$(EMU_FLAGS) $2 -c -o $$@ -x c++ $$<

$1/libtrainc.so: $(filter-out %.cu.o,$(LIB)) $(EMU_C:%.c=$B/%.o) $(CUDA_CU:%.cu=$1/%.o)
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -shared -Wl,-soname,$$(@F) -o $$@ $$^ $$(EMU_LIBS)

$1/tests/%: $B/tests/%.o $(HELP) $1/libtrainc.so
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -Wl,-rpath,'$$$$ORIGIN/../..' -o $$@ $$^ $$(EMU_LIBS) -lcmocka

-include $(CUDA_CU:%.cu=$1/%.d)
endef
$(eval $(call EMU_BUILD,$E,$(EMU_APART)))
$(eval $(call EMU_BUILD,$F,$(EMU_FUSED)))

$B/trainc-emulated: $B/src/main.o $E/libtrainc.so
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/emulated' -o $@ $^ $(EMU_LIBS)

SELF_HELP := $B/tests/child.o $B/tests/emulator/self/fixture.o $E/tests/emulator/self/kernels.o

$(EMU_SELF): %: %.o $(SELF_HELP) $E/libtrainc.so
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../../emulated' -o $@ $^ $(EMU_LIBS) -lcmocka

include tests/emulator/libraries.mk

emulator: $B/trainc-emulated $(EMU_TEST) ## the CUDA backend on the host, with its tests
emulator-fma: $(EMU_BOTH:%=$F/tests/%)

-include $(EMU_C:%.c=$B/%.d) $(EMU_TEST:=.d) $(SELF_HELP:.o=.d)
else
emulator emulator-fma:
	@echo "tests of the CUDA backend on an emulated GPU: skipped, as CUDA is not built"
endif

test-emulated: ## the emulated GPU's long runs, after make test: models, training, orders, options
	@$(MAKE) -s -j$(shell nproc) all emulator $(if $(HAS_FMA),emulator-fma)
	@$(if $(HAS_FMA),,echo "contraction on the emulated GPU: skipped, as this CPU has no fma")
	@EMULATED=$E EMULATED_FUSED=$(if $(HAS_FMA),$F,$E) scripts/tests.sh $(EMU_LONG)
.PHONY: emulator emulator-fma test-emulated
