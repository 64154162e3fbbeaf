/* See stories.h. */
#include "tests/kit/stories.h"

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

int stories_run(const struct story *stories, size_t count)
{
	size_t n = count * TWO_ENDS_MOVERS;
	struct told *told = calloc(n, sizeof(*told));
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	int failed;

	if (!told || !tests)
		return 1;
	log_set_sink(hush, NULL);
	for (size_t i = 0; i < n; i++) {
		enum two_ends_mover mover = (enum two_ends_mover)(i / count);

		told[i].story = &stories[i % count];
		told[i].config = (struct two_ends_config){.mover = mover, .immediate_data = true};
		snprintf(told[i].name, sizeof(told[i].name), "%s, over %s", told[i].story->name,
			two_ends_mover_name(mover));
		tests[i] = (struct CMUnitTest){told[i].name, tell, NULL, NULL, &told[i]};
	}
	failed = _cmocka_run_group_tests("stories", tests, n, NULL, NULL);
	free(tests);
	free(told);
	return failed;
}
