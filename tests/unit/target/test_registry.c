/* The registry of sessions: who takes whose place, who waits for whom, and the limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target/registry.h"

struct fixture {
	struct registry registry;
	struct loop *loop;
};

struct session {
	struct registry_entry entry;
	unsigned superseded, released, last, reset;
};

static const struct registry_limits plenty = {100, 100};

static void deliver(struct registry_entry *e, const struct registry_mail *mail)
{
	struct session *s = container_of(e, struct session, entry);

	s->superseded += mail->superseded;
	s->released += mail->released;
	s->last += mail->last;
	s->reset += mail->reset;
}

static int setup(void **state)
{
	static struct fixture f;

	assert_int_equal(registry_init(&f.registry), 0);
	f.loop = loop_new(&(struct loop_config){.virtual_clock = true});
	*state = &f;
	return f.loop ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	registry_destroy(&f->registry);
	loop_free(f->loop);
	return 0;
}

static int add(struct fixture *f, struct session *s, const char *initiator, uint8_t isid,
	const char *target, const struct registry_limits *limits)
{
	*s = (struct session){.entry = {.initiator_name = initiator,
				      .target_name = target,
				      .isid = {{isid}},
				      .loop = f->loop,
				      .deliver = deliver}};
	return registry_add(&f->registry, &s->entry, 0, limits);
}

static void sessions_of_different_nexuses_leave_each_other_alone(void **state)
{
	struct fixture *f = *state;
	struct session a, b, c, d;

	assert_int_equal(add(f, &a, "i", 1, "t", &plenty), 0);
	assert_int_equal(add(f, &b, "i", 2, "t", &plenty), 0);
	assert_int_equal(add(f, &c, "j", 1, "t", &plenty), 0);
	assert_int_equal(add(f, &d, "i", 1, "u", &plenty), 0);
	loop_turn(f->loop, 0);
	assert_int_equal(a.superseded + b.superseded + c.superseded + d.superseded, 0);
	assert_int_equal(d.entry.predecessors, 0);
	assert_int_not_equal(a.entry.tsih, b.entry.tsih);
	assert_int_not_equal(a.entry.tsih, 0);
	assert_true(registry_remove(&a.entry) && registry_remove(&b.entry));
	assert_true(registry_remove(&c.entry) && registry_remove(&d.entry));
	assert_int_equal(registry_count(&f->registry), 0);
}

static void a_new_login_supersedes_the_old_session_and_counts_it(void **state)
{
	struct fixture *f = *state;
	struct session old, new;

	assert_int_equal(add(f, &old, "i", 1, "t", &plenty), 0);
	/* Names are compared without case. */
	assert_int_equal(add(f, &new, "I", 1, "T", &plenty), 0);
	assert_int_equal(new.entry.predecessors, 1);
	assert_int_equal(old.superseded, 0); /* by message, on its own loop */
	loop_turn(f->loop, 0);
	assert_int_equal(old.superseded, 1);
	assert_int_equal(new.superseded, 0);
	assert_true(registry_remove(&old.entry));
	loop_turn(f->loop, 0);
	assert_int_equal(new.released, 1);
	assert_true(registry_remove(&new.entry));
}

static void a_reset_reaches_the_sessions_of_its_target_alone(void **state)
{
	struct fixture *f = *state;
	struct session one, two, other;

	assert_int_equal(add(f, &one, "i", 1, "t", &plenty), 0);
	assert_int_equal(add(f, &two, "j", 1, "T", &plenty), 0);
	assert_int_equal(add(f, &other, "i", 1, "u", &plenty), 0);
	registry_reset_target(&f->registry, "t");
	loop_turn(f->loop, 0);
	assert_int_equal(one.reset, 1);
	assert_int_equal(two.reset, 1);
	assert_int_equal(other.reset, 0);
	assert_true(registry_remove(&one.entry));
	assert_true(registry_remove(&two.entry));
	assert_true(registry_remove(&other.entry));
}

static void a_session_is_released_by_every_predecessor(void **state)
{
	struct fixture *f = *state;
	struct session first, second, third;

	assert_int_equal(add(f, &first, "i", 1, "t", &plenty), 0);
	assert_int_equal(add(f, &second, "i", 1, "t", &plenty), 0);
	assert_int_equal(add(f, &third, "i", 1, "t", &plenty), 0);
	assert_int_equal(third.entry.predecessors, 2);
	loop_turn(f->loop, 0);
	assert_int_equal(first.superseded, 1); /* told once, though two came after */
	assert_int_equal(second.superseded, 1);
	/* The younger of the two comes to rest first. */
	assert_true(registry_remove(&second.entry));
	loop_turn(f->loop, 0);
	assert_int_equal(third.released, 1);
	assert_true(registry_remove(&first.entry));
	loop_turn(f->loop, 0);
	assert_int_equal(third.released, 2);
	assert_int_equal(second.released, 0);
	assert_true(registry_remove(&third.entry));
}

static void an_entry_with_mail_under_way_is_not_freed_before_it_has_come(void **state)
{
	struct fixture *f = *state;
	struct session old, new;

	assert_int_equal(add(f, &old, "i", 1, "t", &plenty), 0);
	assert_int_equal(add(f, &new, "i", 1, "t", &plenty), 0);
	assert_false(registry_remove(&old.entry));
	assert_int_equal(old.last, 0);
	loop_turn(f->loop, 0);
	assert_int_equal(old.last, 1);
	assert_int_equal(new.released, 1);
	assert_true(registry_remove(&new.entry));
}

static void discovery_sessions_never_reinstate_each_other(void **state)
{
	struct fixture *f = *state;
	struct session a = {.entry = {.initiator_name = "i",
				    .target_name = "",
				    .discovery = true,
				    .loop = f->loop,
				    .deliver = deliver}};
	struct session b = a;

	assert_int_equal(registry_add(&f->registry, &a.entry, 0, &plenty), 0);
	assert_int_equal(registry_add(&f->registry, &b.entry, 0, &plenty), 0);
	assert_int_equal(b.entry.predecessors, 0);
	assert_true(registry_remove(&a.entry));
	assert_true(registry_remove(&b.entry));
}

static void limits_count_sessions_of_the_daemon_and_of_the_target(void **state)
{
	const struct registry_limits two = {2, 1};
	struct fixture *f = *state;
	struct session a, b, c, again;

	assert_int_equal(add(f, &a, "i", 1, "t", &two), 0);
	assert_int_equal(add(f, &b, "j", 1, "t", &two), -EUSERS);
	assert_int_equal(add(f, &b, "j", 1, "u", &two), 0);
	assert_int_equal(add(f, &c, "k", 1, "v", &two), -EMFILE);
	/* Whoever comes back takes its own old place. */
	assert_int_equal(add(f, &again, "i", 1, "t", &two), 0);
	loop_turn(f->loop, 0);
	registry_remove(&a.entry);
	registry_remove(&b.entry);
	registry_remove(&again.entry);
	loop_turn(f->loop, 0);
}

static void a_session_is_found_by_its_tsih_until_it_is_superseded(void **state)
{
	const struct iscsi_isid one = {{1}}, two = {{2}};
	struct fixture *f = *state;
	struct session a, b;

	assert_int_equal(add(f, &a, "i", 1, "t", &plenty), 0);
	assert_true(registry_has(&f->registry, "i", "t", &one, a.entry.tsih));
	assert_false(registry_has(&f->registry, "i", "t", &two, a.entry.tsih));
	assert_false(registry_has(&f->registry, "i", "t", &one, (uint16_t)(a.entry.tsih + 1)));
	assert_int_equal(add(f, &b, "i", 1, "t", &plenty), 0);
	assert_false(registry_has(&f->registry, "i", "t", &one, a.entry.tsih));
	loop_turn(f->loop, 0);
	registry_remove(&a.entry);
	registry_remove(&b.entry);
	loop_turn(f->loop, 0);
}

static void a_tsih_in_use_is_passed_over_when_they_come_round(void **state)
{
	struct fixture *f = *state;
	struct session a, b;

	f->registry.last_tsih = UINT16_MAX;
	assert_int_equal(add(f, &a, "i", 1, "t", &plenty), 0);
	assert_int_equal(a.entry.tsih, 1); /* never 0 */
	f->registry.last_tsih = UINT16_MAX;
	assert_int_equal(add(f, &b, "i", 2, "t", &plenty), 0);
	assert_int_equal(b.entry.tsih, 2);
	registry_remove(&a.entry);
	registry_remove(&b.entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_of_different_nexuses_leave_each_other_alone),
		cmocka_unit_test(a_new_login_supersedes_the_old_session_and_counts_it),
		cmocka_unit_test(a_reset_reaches_the_sessions_of_its_target_alone),
		cmocka_unit_test(a_session_is_released_by_every_predecessor),
		cmocka_unit_test(an_entry_with_mail_under_way_is_not_freed_before_it_has_come),
		cmocka_unit_test(discovery_sessions_never_reinstate_each_other),
		cmocka_unit_test(limits_count_sessions_of_the_daemon_and_of_the_target),
		cmocka_unit_test(a_session_is_found_by_its_tsih_until_it_is_superseded),
		cmocka_unit_test(a_tsih_in_use_is_passed_over_when_they_come_round),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
