# make help lists the targets. Settings go in config.mk (not committed), e.g.
#   SANITIZE = address,undefined
#   CC       = clang
#   WERROR   = 1            (warnings are errors, as in .ci/run)
#   DEBUG    = 1            (no step may allocate; NaN around each tensor of the arena)
#   CUDA     = 0            (leave the CUDA backend out; see cuda/cuda.mk)
.DEFAULT_GOAL := all
SANITIZE ?=
DEBUG    ?=
OPT      ?= $(if $(SANITIZE),-O1,-O2) -g
PREFIX   ?= /usr/local
-include config.mk
include warnings.mk

# The binary and the library of the tests are linked from the same objects. Nothing takes
# the place of a function of theirs at run time, so calls within a file stay direct.
PIC := -fPIC -fno-semantic-interposition

# One object folder per kind of build, so that two kinds never share an object.
comma := ,
KIND  := $(notdir $(CC))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(DEBUG),-debug)
B     ?= build/$(KIND)

override CPPFLAGS += -Isrc -D_GNU_SOURCE -MMD -MP
override CFLAGS   += -std=c11 -fopenmp -fno-math-errno -include src/base/banned.h $(WARN) $(OPT) $(PIC)
override LDFLAGS  += -fopenmp
override LDLIBS   += -lyaml -lturbojpeg -ljpeg -lpng -ldeflate -lwebpdemux -lwebp -ltiff -lz -lzip -larchive -lxxhash -ljansson -ldnnl -lpthread -lm
# The largest functions: gcc follows their variables for half of the time that it takes.
$B/src/cpu/simd/%.o: override CFLAGS += -g1
# clang 16 (not 13 to 15, nor 19) crashes in this pass.
ifneq ($(and $(findstring clang,$(CC)),$(findstring version 16,$(shell $(CC) --version))),)
$B/src/cpu/conv/direct.o $B/src/cpu/conv/direct_grad.o: override CFLAGS += -mllvm -disable-vector-combine
endif
ifneq ($(DEBUG),)
override CPPFLAGS += -DDEBUG
endif
ifneq ($(SANITIZE),)
override CFLAGS  += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=$(SANITIZE)
# With more, a compiler takes minutes for each instruction set. Three checks of each pointer would
# make the loops several times slower; the address sanitizer sees what they read.
$B/src/cpu/simd/%.o: override CFLAGS += -O1 -fno-sanitize=alignment,null,pointer-overflow
endif
ifneq ($(filter fuzzer-no-link,$(subst $(comma), ,$(SANITIZE))),)
# Readers of files run none of these loops.
$B/src/cpu/simd/%.o: override CFLAGS := $(filter-out -fsanitize=% -O1,$(CFLAGS)) -O0
endif
ifneq ($(filter thread,$(subst $(comma), ,$(SANITIZE))),)
# The thread sanitizer does not see how gcc's libgomp synchronizes: each parallel region
# would be a race, and each report makes the next one slower. LLVM's libomp runs gcc's
# code, too, and its tool archer tells the sanitizer of every fork, join and barrier.
OMP := $(lastword $(sort $(wildcard /usr/lib/llvm-*/lib/libarcher.so)))
$(if $(OMP),,$(error SANITIZE=thread needs LLVM's OpenMP: scripts/deps.sh libomp-dev installs it))
override LDFLAGS := $(filter-out -fopenmp,$(LDFLAGS)) -Wl,-rpath,$(dir $(OMP))
override LDLIBS  += -Wl,--no-as-needed $(OMP) $(dir $(OMP))libomp.so.5
endif

SRC   := $(wildcard src/*.c src/*/*.c src/*/*/*.c)
# Loops for the vectors and tiles of x86-64, and what stands in for them elsewhere.
X86   := $(wildcard src/cpu/conv/amx*.c src/cpu/conv/direct*.c src/cpu/conv/narrow*.c) \
         $(wildcard src/cpu/simd/*_avx*.c src/cpu/simd/*_amx.c)
SRC   := $(filter-out $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),src/cpu/not_x86.c,$(X86)),$(SRC))
# What protoc-c makes of the schemas is not in the repository.
PROTO := $(patsubst src/%.proto,build/gen/%.pb-c,$(wildcard src/*/*.proto))
OBJ   := $(SRC:%.c=$B/%.o) $(PROTO:build/%=$B/%.o)
include cuda/cuda.mk
LIB   := $(filter-out $B/src/main.o,$(OBJ))
# tests/ has the folders of src/; what its programs share is linked into each of them.
ROOMS := base config image dataset dist graph ops cpu models layers pt2 io page onnx session train synth pack cmd
TEST  := $(patsubst %.c,$B/%,$(wildcard $(ROOMS:%=tests/%/test_*.c)) $(CUDA_TESTS))
HELP  := $(patsubst %.c,$B/%.o,$(filter-out $(wildcard tests/*/test_*.c),\
         $(wildcard tests/*.c $(ROOMS:%=tests/%/*.c))))
$(TEST:%=%.o) $(HELP): override CPPFLAGS += -I.
BUILD := $(CC) $(CPPFLAGS) $(CFLAGS) | $(LDFLAGS) $(LDLIBS) | $(CUDA)
# Named after BUILD, as a library more makes no object stale.
override LDLIBS += -lprotobuf-c
BIN   := $(if $(SANITIZE)$(DEBUG),$B/trainc,trainc)

all: $(BIN) ## build ./trainc
include tests/emulator/emulator.mk
include tests/tiles/tiles.mk
include tests/onednn3/onednn3.mk

$(BIN): $(OBJ)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A hundred programs with a copy each of all objects would fill a small disk.
$B/libtrainc.so: $(LIB)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ $(LDLIBS)

$B/tests/%: $B/tests/%.o $(HELP) $B/libtrainc.so
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../..' -o $@ $^ $(LDLIBS) -lcmocka

$B/tests/cuda/test_%: $B/tests/cuda/test_%.o $(HELP) $(CUDA_HELP) $B/libtrainc.so
	$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../..' -o $@ $^ $(LDLIBS) -lcmocka

$B/tests/fuzz/%: $B/tests/fuzz/%.o $B/tests/fuzz/fuzz.o $B/libtrainc.so
	$(CC) $(LDFLAGS) -fsanitize=fuzzer -Wl,-rpath,'$$ORIGIN/../..' -o $@ $^ $(LDLIBS)

# The corpus of each fuzzer is fed again by a unit test.
CORPUS := $(notdir $(wildcard tests/fuzz/corpus/*))
$B/tests/dataset/test_fuzz_corpus: $(CORPUS:%=$B/tests/fuzz/as_%.o) $B/tests/fuzz/fuzz.o
$B/tests/fuzz/as_%.o: tests/fuzz/%.c $B/command
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DLLVMFuzzerTestOneInput=fuzz_$* -D__asan_default_options=fuzz_options_$* \
	  -c -o $@ $<

$B/%.o: %.c $B/command
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

build/gen/%.pb-c.c: src/%.proto
	@mkdir -p build/gen
	protoc-c --c_out=build/gen -Isrc $<

$B/gen/%.pb-c.o: build/gen/%.pb-c.c $B/command
	@mkdir -p $(@D)
	$(CC) -isystem build/gen $(filter-out $(WARN),$(CFLAGS)) -w -c -o $@ $<

# Changes only when the commit changes.
$B/commit: FORCE
	@mkdir -p $(@D)
	@git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null | cmp -s - $@ || \
	  git describe --always --dirty --abbrev=12 --exclude='*' >$@ 2>/dev/null || :

$B/src/cmd/version.o: $B/commit
$B/src/cmd/version.o: override CPPFLAGS += -DTRAINC_COMMIT='"$(shell cat $B/commit 2>/dev/null)"'

# Where Debian has the header of OpenJPEG.
$B/src/image/jpeg2000.o: override CPPFLAGS += $(addprefix -isystem ,\
    $(lastword $(sort $(wildcard /usr/include/openjpeg-2.*))))

# Those that read or write such files.
MESSAGES := $B/src/dataset/lmdb_value.o $B/src/dataset/tfrecord.o $B/src/pack/tfrecord.o \
            $B/src/onnx/writer.o $B/tests/onnx/test_export.o
$(MESSAGES): override CPPFLAGS += -isystem build/gen
$(MESSAGES): | $(PROTO:=.c)

# Changes only when the command line changes; then every object is stale.
$B/command: FORCE
	@mkdir -p $(@D)
	@echo '$(BUILD)' | cmp -s - $@ || echo '$(BUILD)' >$@

# With TEST_NO_SLOW=1, `make unit` leaves these out: with sanitizers they compute for minutes, with
# kernels and models that other programs run, too.
SLOW := $(addprefix $B/tests/,ops/test_lower ops/test_differences models/test_init \
          models/test_resnet_golden models/test_segment_golden models/test_stages \
          session/test_segment session/test_fold)
UNIT := $(filter-out $(if $(TEST_NO_SLOW),$(SLOW)),$(TEST))

unit: $(UNIT) emulator ## unit tests only; SANITIZE=address,undefined to check memory
	@EMULATED=$E scripts/tests.sh $(EMU_RUN) $(UNIT)

# What takes long without a GPU.
LONG := $(addprefix tests/e2e/,ranks_fail.sh ranks_random.sh deb.sh wheel.sh instructions.sh aarch64.sh)

test: ## packages, build, unit tests, end-to-end tests and headers
	@scripts/deps.sh
	@$(MAKE) -s -j$(shell nproc) all $(TEST) emulator
	@$(MAKE) -s headers
	@EMULATED=$E scripts/tests.sh $(filter-out $(LONG),$(wildcard tests/e2e/*.sh)) $(EMU_RUN) $(TEST)

test-long: ## after make test: processes that die or hang, random numbers of many, the packages
	@$(MAKE) -s -j$(shell nproc) all
	@scripts/tests.sh $(LONG)

test-slow: ## test-long and test-emulated in one: what waits runs while others compute
	@$(MAKE) -s -j$(shell nproc) all emulator
	@EMULATED=$E scripts/tests.sh $(EMU_LONG) $(LONG)

check-gpu: $(BIN) $(TEST) $(CUDA_BENCH) ## all that only a run on a GPU can show: scripts/check_gpu.sh; QUICK=1: in 10 minutes
	@TRAINC=$(BIN) TESTS=$B/tests QUICK=$(QUICK) scripts/check_gpu.sh $(ITEMS)

test-onednn3: ## after make test: the CPU backend with oneDNN 3.2, which scripts/onednn3.sh downloads

test-aarch64: ## a build for aarch64, tested with qemu where scripts/aarch64.sh finds what it needs
	@TESTS_LIMIT=3600 scripts/tests.sh tests/e2e/aarch64.sh

demo: ## packages, build, generated images, training, evaluation
	@scripts/demo.sh

headers: ## includes point downward; every header compiles alone, as C, and as C++ if it says extern "C"
	@scripts/includes.sh
	@printf '%s\n' $(wildcard src/*.h src/*/*.h src/*/*/*.h) | xargs -P $(shell nproc) -I {} sh -c \
	  '$(CC) -std=c11 -D_GNU_SOURCE -Isrc -isystem build/gen -fsyntax-only -x c {} && \
	   { ! grep -q "extern \"C\"" {} || $(CXX) -std=c++20 -Isrc -fsyntax-only -x c++ {}; }'

compile_commands.json: $(SRC) Makefile warnings.mk
	bear -- $(MAKE) --always-make B=build/bear SANITIZE= all

tidy: compile_commands.json ## clang-tidy and cppcheck
	clang-tidy -p . --quiet $(SRC)
	cppcheck -Isrc -I. -D_GNU_SOURCE --std=c11 --quiet --error-exitcode=1 \
	  --enable=warning,performance,portability --suppressions-list=.cppcheck \
	  --library=.cppcheck.cfg src cuda

sizes: ## lines per file and per function; fails on a function over 60
	@awk -f scripts/sizes.awk $(SRC)

format: ## rewrite the sources with clang-format
	clang-format -i $$(git ls-files '*.[ch]')

STRIP ?= strip
SHARE  = $(DESTDIR)$(PREFIX)/share
install: all ## install the binary, configs, manual pages, completion and scripts below PREFIX
	install -D -m 755 -s --strip-program=$(STRIP) trainc $(DESTDIR)$(PREFIX)/bin/trainc
	mkdir -p $(addprefix $(SHARE)/,trainc/scripts man/man1 bash-completion/completions \
	  zsh/site-functions fish/vendor_completions.d)
	cp -r configs $(SHARE)/trainc/
	cp scripts/import_run.py scripts/parquet.py scripts/plot.py $(SHARE)/trainc/scripts/
	./trainc help --completion bash >$(SHARE)/bash-completion/completions/trainc
	./trainc help --completion zsh >$(SHARE)/zsh/site-functions/_trainc
	./trainc help --completion fish >$(SHARE)/fish/vendor_completions.d/trainc.fish
	./trainc help --man >$(SHARE)/man/man1/trainc.1
	for v in $$(./trainc help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p'); do \
	  ./trainc help --man $$v >$(SHARE)/man/man1/trainc-$$v.1 || exit 1; done

deb: all ## build a Debian package below build/deb; scripts/deb.sh says of what
	@MAKE=$(MAKE) scripts/deb.sh

site: ## the documentation as a web site in build/site; scripts/site.sh says what it needs
	@scripts/site.sh

wheel: all ## build a Python wheel below build/wheel, with all libraries inside
	@MAKE=$(MAKE) scripts/wheel.py

bundle: all ## the same files as a tarball below build/bundle, for users who are not root
	@MAKE=$(MAKE) scripts/bundle.sh

clean: ## remove what make made
	rm -rf build compile_commands.json trainc

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) tests/emulator/emulator.mk | expand -t 15

.SECONDARY: # keep test objects
.PHONY: all unit test test-long test-slow test-onednn3 test-aarch64 check-gpu demo headers tidy sizes format install deb wheel bundle site clean help FORCE
-include $(OBJ:.o=.d) $(TEST:=.d) $(HELP:.o=.d) $(CUDA_HELP:.o=.d) $(CUDA_BENCH:=.d) $(wildcard $B/tests/fuzz/*.d)
