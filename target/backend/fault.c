/* A broken disk: requests that a rule hits fail with its error and do not reach the store below.
 * Stacked by the daemon's main() and by tests. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "target/backend/completion.h"
#include "target/backend/stack.h"
#include "target/backend/stores.h"

struct fault_backend {
	struct stack_backend stack;
	struct fault_config config;
	/* Of each rule, on all channels: loops on several threads count together. */
	atomic_ullong hits[ARRAY_SIZE(((struct fault_config *)0)->rules)];
};

struct fault_channel {
	struct stack_channel stack;
	struct completions completions;
};

static bool rule_concerns(const struct fault_rule *rule, const struct backend_request *r)
{
	if (!rule->every_operation && rule->operation != r->operation)
		return false;
	/* A flush has no range: it concerns the whole store. */
	if (rule->to == 0 || r->operation == BACKEND_FLUSH)
		return true;
	return r->offset < rule->to && r->offset + r->length > rule->from;
}

/* The error of the first rule that fails `r`; 0: none does. */
static int fault_judge(struct fault_backend *f, const struct backend_request *r)
{
	for (size_t i = 0; i < f->config.rule_count; i++) {
		const struct fault_rule *rule = &f->config.rules[i];
		unsigned long long hit;

		if (!rule_concerns(rule, r))
			continue;
		hit = atomic_fetch_add(&f->hits[i], 1);
		if (hit >= rule->after && (!rule->count || hit - rule->after < rule->count))
			return rule->error;
	}
	return 0;
}

static void fault_submit(struct backend_channel *channel, struct backend_request *r)
{
	struct fault_channel *c = container_of(channel, struct fault_channel, stack.channel);
	struct fault_backend *f =
		container_of(channel->backend, struct fault_backend, stack.backend);
	int error = fault_judge(f, r);

	if (error)
		completions_add(&c->completions, r, -error);
	else
		backend_submit(c->stack.under, r);
}

static int fault_open_channel(struct backend *b, struct loop *l, struct backend_channel **ret)
{
	struct fault_channel *c = alloc_zeroed(sizeof(*c));
	int rc = c ? stack_open(&c->stack, b, l) : -ENOMEM;

	if (rc < 0) {
		alloc_free(c);
		return rc;
	}
	completions_init(&c->completions, l);
	*ret = &c->stack.channel;
	return 0;
}

static const struct backend_ops fault_ops = {
	.name = "fault",
	.free = stack_free,
	.open_channel = fault_open_channel,
	.close_channel = stack_close_channel,
	.submit = fault_submit,
	.register_arena = stack_register_arena,
	.refresh = stack_refresh,
};

static int fault_config_check(const struct fault_config *config, char *why, size_t why_size)
{
	if (config->rule_count > ARRAY_SIZE(config->rules)) {
		snprintf(why, why_size, "fault: %zu rules are given; at most %zu are possible",
			config->rule_count, ARRAY_SIZE(config->rules));
		return -EINVAL;
	}
	for (size_t i = 0; i < config->rule_count; i++)
		if (config->rules[i].error <= 0) {
			snprintf(why, why_size, "fault: rule %zu has no error; name one, as in EIO",
				i + 1);
			return -EINVAL;
		}
	return 0;
}

int fault_backend_new(struct backend *under, const struct fault_config *config,
	struct backend **ret, char *why, size_t why_size)
{
	struct fault_backend *f = NULL;
	int rc = fault_config_check(config, why, why_size);

	if (rc < 0)
		goto fail;
	f = alloc_zeroed(sizeof(*f));
	if (!f) {
		snprintf(why, why_size, "fault: no memory");
		rc = -ENOMEM;
		goto fail;
	}
	stack_init(&f->stack, &fault_ops, under);
	f->config = *config;
	*ret = &f->stack.backend;
	return 0;
fail:
	backend_free(under);
	return rc;
}
