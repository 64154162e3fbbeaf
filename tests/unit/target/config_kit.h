/* For the tests of the configuration: text that is right, and text with its complaints. */
#pragma once

#include <errno.h>
#include <fcntl.h>
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
#include "target/config.h"

static const char minimal[] = "targets:\n"
			      "- name: iqn.2026-01.org.example:disk\n"
			      "  luns:\n"
			      "  - {lun: 0, path: /srv/disk.img}\n";

static inline struct config *parse(const char *text)
{
	struct config_report report = {0};
	struct config *c = NULL;

	assert_int_equal(config_parse("f", NULL, text, strlen(text), &report, &c), 0);
	assert_int_equal(report.errors, 0);
	config_report_free(&report);
	return c;
}

/* Every line of `expected` (ended by NULL) is in the report, in that order, and no other. */
static inline void complains(const char *text, const char *const *expected)
{
	struct config_report report = {0};
	struct config *c = NULL;
	size_t i;

	assert_int_equal(config_parse("f", NULL, text, strlen(text), &report, &c), -EINVAL);
	assert_null(c);
	for (i = 0; expected[i] && i < report.count; i++)
		if (!strstr(report.lines[i], expected[i]))
			fail_msg("\"%s\" does not say \"%s\"", report.lines[i], expected[i]);
	if (expected[i])
		fail_msg("nobody says \"%s\"", expected[i]);
	if (i < report.count)
		fail_msg("unexpected: %s", report.lines[i]);
	config_report_free(&report);
}

#define COMPLAINS(text, ...) complains(text, (const char *const[]){__VA_ARGS__, NULL})
