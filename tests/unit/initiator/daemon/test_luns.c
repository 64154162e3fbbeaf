/* The LUNs of a session: which devices are made, kept and taken away, with an exporter that does as
 * the test says. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#undef TARGET
#include "tests/unit/initiator/fake_disk.h"

#include "initiator/daemon/luns.c"

#define LUNS 4

/* The exporter, and who uses its devices. */
struct fake_export {
	struct export base;
	const char *device;
	bool there, resized, taken; /* taken: off the disk, by somebody else */
	struct loop_call call;	    /* `ready` comes from the loop */
	void (*ready)(void *owner, int status, const char *why);
	void *owner;
};

static struct {
	struct fake_disk disk;
	struct daemon daemon;
	struct daemon_session session;
	struct fake_export exports[LUNS];
	unsigned started, proceeded;
	int start_error, ready_status, stop_status;
	bool force, used;
	char links[256];
} it;

static struct fake_export *export_at(unsigned lun)
{
	return &it.exports[lun];
}

static void tell_ready(struct loop_call *c)
{
	struct fake_export *e = container_of(c, struct fake_export, call);

	e->ready(e->owner, it.ready_status, it.ready_status ? "no loop device" : NULL);
}

static int fake_start(struct disk *d, const struct export_config *config,
	void (*ready)(void *owner, int status, const char *why), void *owner, struct export **ret,
	char *why, size_t why_size)
{
	static const char *const devices[LUNS] = {
		"/dev/loop0", "/dev/loop1", "/dev/loop2", "/dev/loop3"};
	struct daemon_lun *l = owner;
	struct fake_export *e = export_at(l->number);

	(void)d;
	assert_non_null(strstr(config->name, "-lun-"));
	it.started++;
	if (it.start_error) {
		snprintf(why, why_size, "no /dev/fuse");
		return it.start_error;
	}
	*e = (struct fake_export){
		.base.ops = &export_fuse,
		.device = it.ready_status ? NULL : devices[l->number],
		.there = true,
		.call.call = tell_ready,
		.ready = ready,
		.owner = owner,
	};
	*ret = &e->base;
	loop_defer(it.daemon.loop, &e->call);
	return 0;
}

static void fake_stop(
	struct export *x, bool force, void (*stopped)(void *owner, int status), void *owner)
{
	struct fake_export *e = container_of(x, struct fake_export, base);

	it.force = force;
	if (!it.stop_status)
		e->there = false;
	stopped(owner, it.stop_status);
}

static void fake_resized(struct export *x)
{
	container_of(x, struct fake_export, base)->resized = true;
}

static const char *fake_device(const struct export *x)
{
	return container_of((struct export *)(uintptr_t)x, struct fake_export, base)->device;
}

static bool fake_attached(const struct export *x)
{
	return !container_of((struct export *)(uintptr_t)x, struct fake_export, base)->taken;
}

const struct export_ops export_fuse = {
	"fake", fake_start, fake_stop, fake_resized, fake_device, fake_attached};

bool usage_find(const char *device, char *out, size_t size)
{
	(void)device;
	if (it.used)
		snprintf(out, size, "mounted on /mnt");
	return it.used;
}

void session_proceed(struct daemon_session *s)
{
	(void)s;
	it.proceeded++;
}

int links_name(const char *portal, const char *target, unsigned lun, const char *suffix, char *out,
	size_t size)
{
	snprintf(out, size, "ip-%s-iscsi-%.100s-lun-%u%s", portal, target, lun, suffix);
	return 0;
}

int links_make(const char *runtime, const char *name, const char *device)
{
	size_t used = strlen(it.links);

	(void)runtime;
	snprintf(it.links + used, sizeof(it.links) - used, "+%s=%s ", strstr(name, "lun-"), device);
	return 0;
}

void links_remove(const char *runtime, const char *name)
{
	size_t used = strlen(it.links);

	(void)runtime;
	snprintf(it.links + used, sizeof(it.links) - used, "-%s ", strstr(name, "lun-"));
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	disk_setup(&it.disk);
	it.daemon.loop = it.disk.o.fake->loop;
	it.daemon.config.runtime_directory = "/run/x";
	list_init(&it.daemon.sessions);
	it.session = (struct daemon_session){.daemon = &it.daemon,
		.number = 4,
		.ini = it.disk.o.session,
		.suffix = "",
		.phase = SESSION_UP};
	strcpy(it.session.record.target_name, FAKE_TARGET);
	strcpy(it.session.portal, "192.0.2.1:3260");
	list_init(&it.session.luns);
	return 0;
}

/* To no LUNs, as a logout would. */
static int teardown(void **state)
{
	struct daemon_session *s = &it.session;

	(void)state;
	it.stop_status = 0;
	s->force = true;
	s->refused = false;
	loop_timer_cancel(&s->retry);
	for (int i = 0; i < 4 && !(luns_stop(s) && luns_flush(s) && luns_free(s)); i++)
		fake_turns(it.disk.o.fake);
	assert_true(list_empty(&s->luns));
	disk_teardown(&it.disk);
	return 0;
}

/* A scan finds the LUNs of which `which` has the bit. */
static void finds(unsigned which)
{
	struct disk_info found[LUNS];
	size_t count = 0;

	for (unsigned i = 0; i < LUNS; i++)
		if (which & 1u << i) {
			found[count] = it.disk.info;
			found[count++].lun = (uint16_t)i;
		}
	luns_take_scan(&it.session, found, count);
}

/* Exports are made, and are ready. */
static void starts(void)
{
	luns_start(&it.session);
	fake_turns(it.disk.o.fake);
}

static struct daemon_lun *lun(unsigned number)
{
	return lun_find(&it.session, number);
}

static void each_disk_becomes_a_device_with_a_link(void **state)
{
	(void)state;
	finds(0x3);
	assert_int_equal(0, it.started);
	luns_start(&it.session);
	assert_true(luns_busy(&it.session));
	assert_string_equal("", it.links);
	fake_turns(it.disk.o.fake);
	assert_int_equal(2, it.started);
	assert_int_equal(LUN_READY, lun(1)->state);
	assert_string_equal("+lun-0=/dev/loop0 +lun-1=/dev/loop1 ", it.links);
	assert_true(luns_have_devices(&it.session));
	assert_false(luns_busy(&it.session));
	starts(); /* once is enough */
	assert_int_equal(2, it.started);
}

static void luns_are_kept_in_order(void **state)
{
	struct daemon_lun *l;
	unsigned last = 0;

	(void)state;
	finds(0x4);
	finds(0xf);
	list_for_each(l, &it.session.luns, link) {
		assert_true(l->number >= last);
		last = l->number;
	}
	assert_int_equal(3, last);
}

static void a_host_without_devices_has_disks_all_the_same(void **state)
{
	(void)state;
	it.daemon.config.no_devices = true;
	finds(0x1);
	starts();
	assert_int_equal(0, it.started);
	assert_string_equal("iserd runs with --no-devices", lun(0)->why);
	assert_false(luns_busy(&it.session));
	assert_false(luns_have_devices(&it.session));
}

static void an_export_that_cannot_be_is_tried_again_by_a_rescan(void **state)
{
	(void)state;
	it.start_error = -ENODEV;
	finds(0x1);
	starts();
	assert_string_equal("no /dev/fuse", lun(0)->why);
	starts();
	assert_int_equal(1, it.started);
	it.start_error = 0;
	finds(0x1);
	starts();
	assert_int_equal(2, it.started);
	assert_string_equal("", lun(0)->why);
}

static void an_export_that_fails_later_is_taken_away_by_force(void **state)
{
	(void)state;
	it.ready_status = -ENODEV;
	finds(0x1);
	starts();
	assert_true(lun(0)->failed);
	assert_true(luns_busy(&it.session));
	assert_string_equal("no loop device", lun(0)->why);
	assert_string_equal("", it.links);
	luns_leave_step(&it.session);
	assert_true(it.force);
	assert_int_equal(LUN_IDLE, lun(0)->state);
	assert_false(luns_busy(&it.session));
	starts();
	assert_int_equal(1, it.started); /* not before a rescan */
}

static void a_lun_that_has_gone_loses_its_device(void **state)
{
	(void)state;
	finds(0x3);
	starts();
	finds(0x1);
	assert_true(lun(1)->leaving);
	assert_true(luns_busy(&it.session));
	luns_leave_step(&it.session);
	assert_false(it.force);
	assert_non_null(strstr(it.links, "-lun-1"));
	luns_leave_step(&it.session);
	fake_turns(it.disk.o.fake);
	assert_null(lun(1));
	assert_non_null(lun(0));
}

static void a_device_in_use_stays_though_its_lun_has_gone(void **state)
{
	(void)state;
	finds(0x1);
	starts();
	it.used = true;
	finds(0);
	luns_leave_step(&it.session);
	assert_int_equal(LUN_READY, lun(0)->state);
	assert_false(lun(0)->leaving);
	assert_true(export_at(0)->there);
	it.used = false;
	finds(0);
	luns_leave_step(&it.session);
	assert_false(export_at(0)->there);
}

static void another_device_at_the_same_number_is_another_device(void **state)
{
	struct disk_info other = it.disk.info;

	(void)state;
	finds(0x1);
	starts();
	strcpy(other.wwid, "naa.6001405000000001");
	luns_take_scan(&it.session, &other, 1);
	assert_true(lun(0)->leaving);
	assert_true(it.session.deferred); /* a scan once it is away */
	luns_leave_step(&it.session);
	luns_leave_step(&it.session);
	fake_turns(it.disk.o.fake);
	assert_null(lun(0));
	luns_take_scan(&it.session, &other, 1);
	starts();
	assert_int_equal(2, it.started);
}

static void a_device_that_somebody_took_off_is_made_anew_by_a_rescan(void **state)
{
	(void)state;
	finds(0x3);
	starts();
	it.links[0] = '\0';
	export_at(1)->taken = true;
	finds(0x3);
	assert_true(luns_busy(&it.session));
	luns_leave_step(&it.session);
	assert_int_equal(LUN_IDLE, lun(1)->state);
	assert_true(it.force); /* it is nobody's: what is left of it goes */
	starts();
	assert_int_equal(LUN_READY, lun(1)->state);
	assert_int_equal(3, it.started);
	assert_string_equal("-lun-1 +lun-1=/dev/loop1 ", it.links);
	assert_false(luns_busy(&it.session));
}

static void a_new_size_reaches_the_device(void **state)
{
	struct disk_info larger = it.disk.info;

	(void)state;
	finds(0x1);
	starts();
	larger.size *= 2;
	luns_take_scan(&it.session, &larger, 1);
	fake_turns(it.disk.o.fake);
	assert_true(export_at(0)->resized);
	assert_int_equal(1, it.started);
}

static void who_uses_a_device_is_told(void **state)
{
	char line[SESSION_WHY_SIZE];

	(void)state;
	finds(0x4);
	starts();
	assert_false(luns_in_use(&it.session, line));
	it.used = true;
	assert_true(luns_in_use(&it.session, line));
	assert_string_equal("/dev/loop2 (session 4, LUN 2) is in use: mounted on /mnt", line);
}

static void a_logout_is_refused_where_a_device_does_not_go(void **state)
{
	struct daemon_session *s = &it.session;

	(void)state;
	finds(0x1);
	starts();
	s->phase = SESSION_ENDING;
	it.stop_status = -EBUSY;
	assert_false(luns_stop(s));
	assert_true(s->refused);
	assert_string_equal("/dev/loop0 (session 4, LUN 0) cannot be taken away: it is in use; "
			    "--force does it all the same",
		s->end_why);
	/* its link is there again */
	assert_string_equal("+lun-0=/dev/loop0 -lun-0 +lun-0=/dev/loop0 ", it.links);
}

static void force_asks_again_until_the_device_goes(void **state)
{
	struct daemon_session *s = &it.session;

	(void)state;
	finds(0x1);
	starts();
	s->phase = SESSION_ENDING;
	s->force = true;
	it.stop_status = -EBUSY; /* it is taking over a new size */
	assert_false(luns_stop(s));
	assert_false(s->refused);
	assert_true(loop_timer_armed(&s->retry));
	it.stop_status = 0;
	assert_false(luns_stop(s)); /* not before the time */
	loop_timer_cancel(&s->retry);
	assert_true(luns_stop(s));
	assert_true(it.force);
}

static void caches_are_written_before_the_logout(void **state)
{
	struct daemon_session *s = &it.session;
	unsigned before = fake_count(it.disk.o.fake, ISCSI_SCSI_COMMAND);

	(void)state;
	it.daemon.config.no_devices = true;
	finds(0x1);
	assert_false(luns_flush(s));
	fake_turns(it.disk.o.fake);
	assert_true(luns_flush(s));
	assert_true(lun(0)->flushed);
	assert_int_equal(before + 1, fake_count(it.disk.o.fake, ISCSI_SCSI_COMMAND));
	assert_int_equal(SCSI_SYNCHRONIZE_CACHE_10,
		fake_last(it.disk.o.fake, ISCSI_SCSI_COMMAND)->command.cdb[0]);
	assert_int_equal(1, it.proceeded);
}

static bool fail_flush(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_SYNCHRONIZE_CACHE_10)
		return false;
	fake_check(f, pdu, task, SENSE_MEDIUM_ERROR, 0x0c02); /* WRITE ERROR */
	return true;
}

static void a_cache_that_cannot_be_written_refuses_the_logout(void **state)
{
	struct daemon_session *s = &it.session;

	(void)state;
	it.daemon.config.no_devices = true;
	finds(0x1);
	it.disk.o.fake->override = fail_flush;
	luns_flush(s);
	fake_turns(it.disk.o.fake);
	assert_true(s->refused);
	assert_non_null(strstr(s->end_why, "session 4, LUN 0: its cache cannot be written: "));
	assert_false(it.daemon.lost);
	/* at the daemon's end it is lost */
	it.daemon.stopping = true;
	luns_flush(s);
	fake_turns(it.disk.o.fake);
	assert_true(it.daemon.lost);
	it.disk.o.fake->override = NULL;
}

static void without_memory_a_lun_is_left_out(void **state)
{
	(void)state;
	alloc_fail_nth(1);
	finds(0x1);
	alloc_fail_nth(0);
	assert_null(lun(0));
	finds(0x1);
	assert_non_null(lun(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_disk_becomes_a_device_with_a_link),
		TEST(luns_are_kept_in_order),
		TEST(a_host_without_devices_has_disks_all_the_same),
		TEST(an_export_that_cannot_be_is_tried_again_by_a_rescan),
		TEST(an_export_that_fails_later_is_taken_away_by_force),
		TEST(a_lun_that_has_gone_loses_its_device),
		TEST(a_device_in_use_stays_though_its_lun_has_gone),
		TEST(another_device_at_the_same_number_is_another_device),
		TEST(a_device_that_somebody_took_off_is_made_anew_by_a_rescan),
		TEST(a_new_size_reaches_the_device),
		TEST(who_uses_a_device_is_told),
		TEST(a_logout_is_refused_where_a_device_does_not_go),
		TEST(force_asks_again_until_the_device_goes),
		TEST(caches_are_written_before_the_logout),
		TEST(a_cache_that_cannot_be_written_refuses_the_logout),
		TEST(without_memory_a_lun_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
