/* The same stories over every mover: each becomes one test per row of two_ends_mover. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/kit/two_ends.h"

struct story {
	const char *name;
	void (*run)(const struct two_ends_config *config);
	bool streams; /* only over movers whose connections are byte streams */
};

#define STORY(function)                                                                            \
	{                                                                                          \
#function, function, false                                                         \
	}
#define STREAM_STORY(function)                                                                     \
	{                                                                                          \
#function, function, true                                                          \
	}

/* Returns the exit status of the test program. */
int stories_run(const struct story *stories, size_t count);
