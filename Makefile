# Iseran: `make demo` shows it, `make check` proves it, `make help` lists the rest.
# Sources are found by wildcard, dependencies by the compiler (-MMD), libraries by pkg-config.

CC       ?= cc
BUILD    ?= build
VARIANT  ?= release
PREFIX   ?= /usr/local
V        ?= 0
Q        := $(if $(filter 1,$(V)),,@)
OUT      := $(BUILD)/$(VARIANT)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wpointer-arith -Wvla -Werror
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
SAN_tsan := -fsanitize=thread -fno-omit-frame-pointer -O1
SAN_cov  := --coverage -O0
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -w
OPT      := $(or $(SAN_$(VARIANT)),-O2)
VERSION  := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

REQUIRED := libisal libcrypto liburing json-c yaml-0.1
OPTIONAL := fuse3 libsystemd libibverbs librdmacm
HAVE     := $(REQUIRED) $(foreach p,$(OPTIONAL),$(shell pkg-config --exists $(p) && echo $(p)))
VERBS    := $(and $(filter libibverbs,$(HAVE)),$(filter librdmacm,$(HAVE)))
has       = $(if $(filter $(1),$(HAVE)),-D$(2)=1)
CFLAGS_ALL := -std=gnu11 -g -D_GNU_SOURCE -DISERAN_VERSION='"$(VERSION)"' -I. -pthread -fno-strict-aliasing \
              $(call has,fuse3,HAVE_FUSE) $(call has,libsystemd,HAVE_SYSTEMD) $(if $(VERBS),-DHAVE_VERBS=1) \
              $(OPT) $(WARNINGS) $(shell pkg-config --cflags $(HAVE) 2>/dev/null) $(CFLAGS)
LIBS     := $(shell pkg-config --libs $(HAVE) 2>/dev/null) -pthread

COMMON   := $(filter-out $(if $(VERBS),common/rdma/verbs_absent.c,$(filter-out %_limits.c %_absent.c,$(wildcard common/rdma/verbs*.c))),$(wildcard common/*/*.c))
INI      := $(filter-out $(if $(filter fuse3,$(HAVE)),,initiator/export/fuse%),$(wildcard initiator/*.c initiator/export/*.c))
TGT      := $(wildcard target/*.c target/backend/*.c)
PROGRAMS := isertd isertadm iserd iseradm
SRC_isertd   := $(wildcard target/daemon/*.c)
SRC_isertadm := $(wildcard target/cli/*.c)
SRC_iserd    := $(wildcard initiator/daemon/*.c)
SRC_iseradm  := $(wildcard initiator/cli/*.c)
KIT      := $(wildcard tests/kit/*.c)
UNIT     := $(wildcard tests/unit/*/*.c tests/unit/*/*/*.c)
PAIR     := $(wildcard tests/pair/*.c)
FUZZ     := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_KIT := $(filter-out $(FUZZ) tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c))

obj       = $(patsubst %.c,$(OUT)/%.o,$(1))
ALL_SRC  := $(COMMON) $(INI) $(TGT) $(foreach p,$(PROGRAMS),$(SRC_$(p))) $(KIT) $(UNIT) $(PAIR) \
            $(FUZZ) $(FUZZ_KIT) tests/fuzz/replay.c $(wildcard tests/vm/*.c)
UNIT_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(UNIT))
PAIR_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(PAIR))
FUZZ_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(FUZZ))
BIN      := $(foreach p,$(PROGRAMS),$(if $(SRC_$(p)),$(OUT)/$(p)))

all: $(BIN) ## build the four programs into build/release
.PHONY: all help demo programs vm-bin tests-bin check check-unit check-pair check-threads check-e2e check-peers check-vm check-rdma bench-vm coverage fuzz fuzz-bin fuzz-replay lint bench man install clean

$(OUT)/%.o: %.c
	$(Q)mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(OUT)/libcommon.a: $(call obj,$(COMMON))
$(OUT)/libinitiator.a: $(call obj,$(INI))
$(OUT)/libtarget.a: $(call obj,$(TGT))
$(OUT)/libkit.a: $(call obj,$(KIT))
$(OUT)/lib%.a:
	$(Q)mkdir -p $(@D); rm -f $@
	$(Q)ar rcs $@ $^

link = $(if $(Q),@echo "  LD    $@";) mkdir -p $(@D); $(CC) $(CFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(LIBS)

define program
$(OUT)/$(1): $$(call obj,$$(SRC_$(1))) $(2) $(OUT)/libcommon.a
	$$(link)
endef
$(eval $(call program,isertd,$(OUT)/libtarget.a))
$(eval $(call program,isertadm,))
$(eval $(call program,iserd,$(OUT)/libinitiator.a))
$(eval $(call program,iseradm,))

# Tests link with everything: --start-group lets the archives refer to each other.
# What a real initiator never does, for the guest.
VM_BIN    := $(if $(VERBS),$(OUT)/tests/vm/knock)
$(VM_BIN): $(OUT)/tests/vm/%: $(OUT)/tests/vm/%.o
	$(link)

TEST_LIBS := $(OUT)/libkit.a $(OUT)/libinitiator.a $(OUT)/libtarget.a $(OUT)/libcommon.a
$(UNIT_BIN) $(PAIR_BIN): $(OUT)/tests/%: $(OUT)/tests/%.o $(TEST_LIBS)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< -Wl,--start-group $(TEST_LIBS) -Wl,--end-group $(LIBS) -lcmocka

tests-bin: $(UNIT_BIN) $(PAIR_BIN)

# A fuzz driver has libFuzzer's main (VARIANT=fuzz, clang; AFL++: tests/fuzz/README.md), else one that replays its corpus.
FUZZ_MAIN ?= $(if $(filter fuzz,$(VARIANT)),-fsanitize=fuzzer,$(OUT)/tests/fuzz/replay.o)
$(OUT)/libfuzzkit.a: $(call obj,$(FUZZ_KIT))
$(FUZZ_BIN): $(OUT)/tests/%: $(OUT)/tests/%.o $(OUT)/tests/fuzz/replay.o $(OUT)/libfuzzkit.a $(TEST_LIBS)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(FUZZ_MAIN) -Wl,--start-group $(OUT)/libfuzzkit.a $(TEST_LIBS) -Wl,--end-group $(LIBS) -lcmocka

fuzz-bin: $(FUZZ_BIN)

# ---- what people call ----

JOBS     := $(shell nproc)
SUBMAKE  := $(MAKE) --no-print-directory -j$(JOBS)
packages  = $(if $(SKIP_PACKAGES),,@tests/packages.sh $(1))
# Without QEMU or debootstrap the guest's tests skip themselves, with the reason.
vm_packages = $(if $(SKIP_PACKAGES),,-@tests/packages.sh vm)
VM_LIMIT := 6000
E2E      := $(sort $(wildcard tests/e2e/*.sh))
THREADS  := $(BUILD)/tsan/tests/pair/test_threads
PEERS    := $(sort $(wildcard tests/peers/*.sh))

demo: ## everything from nothing: packages, build, target, login, mount, verify, clean up
	$(call packages,demo)
	@$(SUBMAKE) programs
	@tests/demo.sh $(OUT)

programs: $(BIN)

vm-bin: $(VM_BIN)

GUEST ?= 1
check: ## install what the tests need, build and run all of them (GUEST=0: but those in the guest of check-vm)
	$(call packages,check)
	$(if $(filter 1,$(GUEST)),$(vm_packages))
	@$(SUBMAKE) VARIANT=release programs tests-bin vm-bin
	@$(SUBMAKE) VARIANT=asan programs tests-bin fuzz-bin
	@$(SUBMAKE) VARIANT=tsan programs $(THREADS)
	@tests/run.sh -j $(JOBS) -l release $(UNIT_BIN) $(PAIR_BIN) -- -l asan $(subst $(OUT),$(BUILD)/asan,$(UNIT_BIN) $(PAIR_BIN) $(FUZZ_BIN)) \
		-- -j 1 -l release $(E2E) $(PEERS) -- -l asan $(E2E) \
		-- -l tsan $(THREADS) tests/e2e/threads.sh $(if $(filter 1,$(GUEST)),-- -l release -t $(VM_LIMIT) tests/vm/all.sh)

check-unit: ## unit tests of one variant (VARIANT=release, asan or tsan)
	@$(SUBMAKE) tests-bin
	@tests/run.sh -j $(JOBS) -l $(VARIANT) $(UNIT_BIN)

check-pair: ## initiator and target in one process (VARIANT=...)
	@$(SUBMAKE) tests-bin
	@tests/run.sh -j $(JOBS) -l $(VARIANT) $(PAIR_BIN)

fuzz-replay: ## every fuzz driver's corpus again, under ASan and UBSan, without clang
	@$(SUBMAKE) VARIANT=asan fuzz-bin
	@tests/run.sh -j $(JOBS) -l asan $(subst $(OUT),$(BUILD)/asan,$(FUZZ_BIN))

coverage: ## lines and branches that unit, pair and fuzz corpus reach, room by room; build/coverage/index.html
	$(call packages,coverage)
	@$(SUBMAKE) VARIANT=cov tests-bin fuzz-bin
	@find $(BUILD)/cov -name '*.gcda' -delete
	@tests/run.sh -j $(JOBS) -l cov $(subst $(OUT),$(BUILD)/cov,$(UNIT_BIN) $(PAIR_BIN) $(FUZZ_BIN)); \
		failed=$$?; tests/coverage.sh $(BUILD)/cov $(BUILD)/coverage && exit $$failed

TIME ?= 60
fuzz: ## every fuzz driver in turn, TIME=60 seconds each (ONLY="fuzz_keys fuzz_cdb" for some)
	$(call packages,fuzz)
	@$(SUBMAKE) VARIANT=fuzz CC=clang fuzz-bin
	@tests/fuzz/run.sh $(BUILD)/fuzz/tests/fuzz $(TIME) $(ONLY)

check-threads: ## several loops, both daemons, under ThreadSanitizer (STRESS=1: a minute each)
	@$(SUBMAKE) VARIANT=tsan programs $(THREADS)
	@tests/run.sh -l tsan $(THREADS) tests/e2e/threads.sh

check-e2e: ## the real programs on loopback (VARIANT=...)
	@$(SUBMAKE) programs
	@tests/run.sh -l $(VARIANT) $(E2E)

check-peers: ## against libiscsi, QEMU and tgt
	$(call packages,check)
	@$(SUBMAKE) programs
	@tests/run.sh -l $(VARIANT) $(PEERS)

check-vm: ## against the kernel's iSER, LIO, tgt, libiscsi over siw and rxe, in a Debian guest
	$(vm_packages)
	@$(SUBMAKE) VARIANT=release programs vm-bin
	@tests/run.sh -l release -t $(VM_LIMIT) tests/vm/all.sh

check-rdma: ## the same on this host's own RDMA device, without a guest (DEVICE=rxe0, mlx5_0, ...)
	@$(SUBMAKE) VARIANT=release programs vm-bin
	@tests/vm/host.sh $(BUILD)/release $(BUILD)/logs/rdma "$(DEVICE)"

bench-vm: ## LIO, tgt and isertd in the guest, turn by turn; build/bench-vm/table.md
	$(call packages,vm)
	@$(SUBMAKE) VARIANT=release programs
	@tests/vm/bench.sh $(BUILD)/release $(BUILD)/bench-vm

bench: ## the same work on Iseran and on tgt, turn by turn; build/bench/results.json
	$(call packages,bench)
	@$(SUBMAKE) VARIANT=release programs
	@tests/bench/bench.sh $(BUILD)/release $(BUILD)/bench

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 16

lint: ## check the rooms' includes, formats and static analysis
	$(call packages,lint)
	$(Q)tests/lint.sh

MAN_SRC  := $(wildcard docs/man/*.scd)
man: $(patsubst docs/man/%.scd,$(BUILD)/man/%,$(MAN_SRC)) ## build the manuals into build/man
$(BUILD)/man/%: docs/man/%.scd
	$(Q)mkdir -p $(@D) && scdoc < $< > $@.tmp && mv $@.tmp $@

install: programs man ## install programs, manuals, systemd units, completion (PREFIX=, DESTDIR=)
	install -D -t $(DESTDIR)$(PREFIX)/sbin $(BIN)
	for m in $(BUILD)/man/*; do install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${m##*.} $$m; done
	for u in docs/systemd/*; do sed 's|@sbindir@|$(PREFIX)/sbin|g' $$u | \
		install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/lib/systemd/system/$${u##*/}; done
	install -D -m 644 docs/completion/iseran.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/iseradm
	for p in iserd isertd isertadm; do ln -sf iseradm $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$p; done
	install -D -m 640 docs/examples/isertd.yaml $(DESTDIR)$(PREFIX)/share/doc/iseran/isertd.yaml

clean: ## remove build/
	$(Q)rm -rf $(BUILD)

-include $(patsubst %.o,%.d,$(call obj,$(ALL_SRC)))
