/* What isertadm is shown, as JSON (target/daemon/show.c): the fields that its verbs read. */
#include "tests/unit/target/daemon/daemon_kit.h"

#include "common/control/fields.h"
#include "target/daemon/show.c"

static const char text[] = "targets:\n- name: " KIT_TARGET "\n  alias: Disks\n"
			   "  chap: {name: joe, secret: twelve chars}\n"
			   "  initiators:\n  - name: " KIT_INITIATOR "\n"
			   "    chap: {name: ann, secret: thirteen chars, mutual: {name: disk, "
			   "secret: fourteen chars}}\n"
			   "    luns: [3]\n"
			   "  luns:\n  - {lun: 3, backend: memory, size: 1M, delay: {read: 5ms}, "
			   "fault: [{operation: write, error: ENOSPC, to: 4096}]}\n"
			   "- name: iqn.2026-01.org.example:open\n"
			   "  luns: [{lun: 0, backend: memory, size: 2M}]\n";

static int setup(void **state)
{
	(void)state;
	daemon_kit_start(text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	daemon_kit_stop();
	return 0;
}

static void the_daemon_and_what_it_exports(void **state)
{
	char portals[1][ADDRESS_TEXT_SIZE] = {"192.0.2.1:3260"};
	struct json_object *o, *target, *initiator, *lun, *fault;

	(void)state;
	kit.set->portals = portals;
	kit.set->portal_count = 1;
	o = show_daemon(&isertd);
	kit.set->portals = NULL;
	kit.set->portal_count = 0;
	assert_int_equal(field_number(o, "pid"), getpid());
	assert_int_equal(field_number(o, "loops"), 1);
	assert_int_equal(field_number(o, "sessions"), 0);
	assert_string_equal(field_text(o, "config"), "f");
	assert_string_equal(json_object_get_string(field_item(o, "portals", 0)), "192.0.2.1:3260");
	assert_int_equal(field_count(o, "targets"), 2);
	target = field_item(o, "targets", 0);
	assert_string_equal(field_text(target, "name"), KIT_TARGET);
	assert_string_equal(field_text(target, "alias"), "Disks");
	assert_true(field_flag(target, "chap"));
	assert_string_equal(field_text(target, "chap_name"), "joe");
	initiator = field_item(target, "initiators", 0);
	assert_string_equal(field_text(initiator, "name"), KIT_INITIATOR);
	assert_string_equal(field_text(initiator, "chap_name"), "ann");
	assert_string_equal(field_text(initiator, "chap_mutual_name"), "disk");
	assert_int_equal(json_object_get_int(field_item(initiator, "luns", 0)), 3);
	lun = field_item(target, "luns", 0);
	assert_int_equal(field_number(lun, "lun"), 3);
	assert_int_equal(field_number(lun, "size"), 1 << 20);
	assert_int_equal(field_number(lun, "block_size"), 512);
	assert_string_equal(field_text(lun, "backend"), "memory");
	assert_false(field_flag(lun, "readonly"));
	assert_int_equal(field_number(field_object(lun, "delay"), "read_ns"), 5000000);
	fault = field_item(lun, "faults", 0);
	assert_string_equal(field_text(fault, "operation"), "write");
	assert_string_equal(field_text(fault, "error"), "ENOSPC");
	assert_int_equal(field_number(fault, "to"), 4096);
	assert_false(field_flag(field_item(o, "targets", 1), "chap"));
	assert_int_equal(field_count(field_item(o, "targets", 1), "initiators"), 0);
	json_object_put(o);
}

/* Nobody who may look may read what others must prove. */
static void secrets_are_not_shown(void **state)
{
	struct json_object *o = show_daemon(&isertd);

	(void)state;
	assert_null(strstr(json_object_to_json_string(o), "twelve"));
	assert_null(strstr(json_object_to_json_string(o), "teen chars"));
	json_object_put(o);
}

static void a_session_and_what_it_has_done(void **state)
{
	struct json_object *list, *s, *totals;
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, "iqn.2026-01.org.example:open", 1));
	pdu = kit_request(&c, ISCSI_SCSI_COMMAND, 1); /* fails: the power-on attention */
	kit_deliver(&kit, &c, &pdu, NULL, 0);
	pdu = kit_request(&c, ISCSI_SCSI_COMMAND, 2);
	kit_deliver(&kit, &c, &pdu, NULL, 0);
	list = show_sessions_of(kit.worker);
	assert_int_equal(json_object_array_length(list), 1);
	s = json_object_array_get_idx(list, 0);
	assert_int_equal(field_number(s, "tsih"), c.tsih);
	assert_string_equal(field_text(s, "initiator"), KIT_INITIATOR);
	assert_string_equal(field_text(s, "target"), "iqn.2026-01.org.example:open");
	assert_string_equal(field_text(s, "peer"), "192.0.2.7:4321");
	assert_string_equal(field_text(s, "port"), KIT_INITIATOR ",i,0x800000000001");
	assert_string_equal(field_text(s, "mover"), "kit");
	assert_string_equal(field_text(s, "state"), "S5 LOGGED_IN");
	assert_int_equal(field_number(s, "luns"), 1);
	assert_int_equal(field_number(s, "commands"), 2);
	assert_int_equal(field_number(s, "errors"), 1);
	assert_int_equal(field_number(s, "under_way"), 0);
	json_object_put(list);
	totals = show_totals_of(kit.worker);
	assert_int_equal(field_number(totals, "connections"), 1);
	assert_int_equal(field_number(totals, "sessions"), 1);
	assert_int_equal(field_number(totals, "commands"), 2);
	json_object_put(totals);
	kit_lose(&kit, &c);
	/* What sessions have done stays counted when they are gone. */
	list = show_sessions_of(kit.worker);
	assert_int_equal(json_object_array_length(list), 0);
	json_object_put(list);
	totals = show_totals_of(kit.worker);
	assert_int_equal(field_number(totals, "sessions"), 0);
	assert_int_equal(field_number(totals, "commands"), 2);
	assert_int_equal(field_number(totals, "errors"), 1);
	json_object_put(totals);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_daemon_and_what_it_exports),
		TEST(secrets_are_not_shown),
		TEST(a_session_and_what_it_has_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
