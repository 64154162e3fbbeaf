/* A record database in a directory of its own, for tests of records*.c. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "initiator/records.h"

#define TARGET "iqn.2026-11.org.example:disk"

static char why[RECORDS_WHY_SIZE];

struct database {
	char directory[64];
	struct records *db;
};

static inline int database_setup(void **state)
{
	struct database *d = calloc(1, sizeof(*d));

	strcpy(d->directory, "/tmp/iseran-records-XXXXXX");
	assert_non_null(mkdtemp(d->directory));
	assert_int_equal(records_open(d->directory, &d->db, why), 0);
	*state = d;
	return 0;
}

static inline int database_teardown(void **state)
{
	struct database *d = *state;
	char command[128];
	int r;

	records_close(d->db);
	assert_int_equal(alloc_live(), 0);
	snprintf(command, sizeof(command), "rm -rf %s", d->directory);
	r = system(command);
	free(d);
	return r;
}

static inline struct node_record record(const char *target, const char *address, uint32_t tpgt)
{
	struct node_record r;

	node_record_default(&r, NODE_TRANSPORT_TCP);
	strcpy(r.target_name, target);
	strcpy(r.address, address);
	r.tpgt = tpgt;
	return r;
}

static inline void write_file(const struct database *d, const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", d->directory, path);
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const struct record_filter any = {.tpgt = -1};

static inline int count_each(void *arg, const struct node_record *r, const char *reason)
{
	unsigned *counts = arg;

	counts[r ? 0 : 1]++;
	if (!r)
		snprintf(why, sizeof(why), "%s", reason);
	return 0;
}
