/* See stories.h. */
#include "tests/kit/stories.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"

struct told {
	const struct story *story;
	struct two_ends_config config;
	char name[128];
};

static void tell(void **state)
{
	const struct told *t = *state;

	t->story->run(&t->config);
}

/* Stories break connections on purpose: what the ends log about it is noise here. */
static void hush(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)level;
	if (getenv("STORIES_LOG"))
		fprintf(stderr, "%s\n", line);
}

#if defined(__SANITIZE_ADDRESS__)
/* Quarantine of freed memory: enough for one run, and little enough not to be paged in anew. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}
#endif

int stories_run(const struct story *stories, size_t count)
{
	size_t n = count * TWO_ENDS_MOVERS, used = 0;
	struct told *told = calloc(n, sizeof(*told));
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	int failed;

	if (!told || !tests)
		return 1;
	log_set_sink(hush, NULL);
	/* Stories make and free megabytes thousands of times: not from the kernel each time. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (getenv("STORIES_ONLY"))
		cmocka_set_test_filter(getenv("STORIES_ONLY"));
	for (size_t i = 0; i < n; i++) {
		enum two_ends_mover mover = (enum two_ends_mover)(i / count);
		struct told *t = &told[used];

		if (stories[i % count].streams && mover == TWO_ENDS_ISER_MEMORY)
			continue;
		t->story = &stories[i % count];
		t->config = (struct two_ends_config){.mover = mover, .immediate_data = true};
		snprintf(t->name, sizeof(t->name), "%s, over %s", t->story->name,
			two_ends_mover_name(mover));
		tests[used++] = (struct CMUnitTest){t->name, tell, NULL, NULL, t};
	}
	failed = _cmocka_run_group_tests("stories", tests, used, NULL, NULL);
	free(tests);
	free(told);
	return failed;
}
