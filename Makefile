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
OPT      := $(or $(SAN_$(VARIANT)),-O2)
VERSION  := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

REQUIRED := libisal libcrypto liburing json-c yaml-0.1
OPTIONAL := fuse3 libsystemd
HAVE     := $(REQUIRED) $(foreach p,$(OPTIONAL),$(shell pkg-config --exists $(p) && echo $(p)))
has       = $(if $(filter $(1),$(HAVE)),-D$(2)=1)
CFLAGS_ALL := -std=gnu11 -g -D_GNU_SOURCE -DISERAN_VERSION='"$(VERSION)"' -I. -pthread -fno-strict-aliasing \
              $(call has,fuse3,HAVE_FUSE) $(call has,libsystemd,HAVE_SYSTEMD) \
              $(OPT) $(WARNINGS) $(shell pkg-config --cflags $(HAVE) 2>/dev/null) $(CFLAGS)
LIBS     := $(shell pkg-config --libs $(HAVE) 2>/dev/null) -pthread

COMMON   := $(wildcard common/*/*.c)
INI      := $(wildcard initiator/*.c initiator/export/*.c)
TGT      := $(wildcard target/*.c target/backend/*.c)
PROGRAMS := isertd isertadm iserd iseradm
SRC_isertd   := $(wildcard target/daemon/*.c)
SRC_isertadm := $(wildcard target/cli/*.c)
SRC_iserd    := $(wildcard initiator/daemon/*.c)
SRC_iseradm  := $(wildcard initiator/cli/*.c)
KIT      := $(wildcard tests/kit/*.c)
UNIT     := $(wildcard tests/unit/*/*.c tests/unit/*/*/*.c)
PAIR     := $(wildcard tests/pair/*.c)

obj       = $(patsubst %.c,$(OUT)/%.o,$(1))
ALL_SRC  := $(COMMON) $(INI) $(TGT) $(foreach p,$(PROGRAMS),$(SRC_$(p))) $(KIT) $(UNIT) $(PAIR)
UNIT_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(UNIT))
PAIR_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(PAIR))
BIN      := $(foreach p,$(PROGRAMS),$(if $(SRC_$(p)),$(OUT)/$(p)))

all: $(BIN) ## build the four programs into build/release
.PHONY: all help demo check check-unit check-pair lint bench fuzz install clean deps programs

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
TEST_LIBS := $(OUT)/libkit.a $(OUT)/libinitiator.a $(OUT)/libtarget.a $(OUT)/libcommon.a
$(UNIT_BIN) $(PAIR_BIN): $(OUT)/tests/%: $(OUT)/tests/%.o $(TEST_LIBS)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< -Wl,--start-group $(TEST_LIBS) -Wl,--end-group $(LIBS) -lcmocka

tests-bin: $(UNIT_BIN) $(PAIR_BIN)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 16

lint: ## check the rooms' includes, formats and static analysis
	$(Q)tests/lint.sh

clean: ## remove build/
	$(Q)rm -rf $(BUILD)

-include $(patsubst %.o,%.d,$(call obj,$(ALL_SRC)))
