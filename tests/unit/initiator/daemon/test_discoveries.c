/* Records of the portals that were asked: listed with their targets, shown, made, changed, deleted.
 */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/discoveries.c"

#define A "iqn.2026-11.org.example:a"

static struct control_request done(daemon_verb *verb, struct kit *k, const char *text)
{
	struct control_request r = request(text);

	verb(&k->d, &r, r.json);
	assert_int_equal(1, r.answered);
	return r;
}

static void is_refused(
	daemon_verb *verb, struct kit *k, const char *text, int status, const char *says)
{
	struct control_request r = done(verb, k, text);

	assert_int_equal(status, r.status);
	assert_non_null(strstr(r.error, says));
	request_free(&r);
}

static void is_done(daemon_verb *verb, struct kit *k, const char *text)
{
	struct control_request r = done(verb, k, text);

	assert_int_equal(STATUS_OK, r.status);
	request_free(&r);
}

static void spoil(struct kit *k)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/send_targets/192.0.2.1,3260", k->directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("# a comment\ndiscovery.nonsense = 1\n", f);
	fclose(f);
}

#define WHOM "\"portal\": \"192.0.2.1\""

static void they_are_listed_with_their_targets(void **state)
{
	struct kit *k = *state;
	struct node_record ours = record(A, "192.0.2.1", 1);
	struct node_record other = record("iqn.2026-11.org.example:other", "192.0.2.9", 1);
	struct control_request r;

	is_done(discovery_handle_new, k, "{" WHOM ", \"transport\": \"tcp\"}");
	strcpy(ours.discovery_address, "192.0.2.1");
	ours.discovery_port = 3260;
	keep(&k->d, &ours);
	keep(&k->d, &other); /* made by hand: of no discovery */
	r = done(discovery_handle_list, k, "{}");
	assert_string_equal(
		"{\"discoveries\":[{\"portal\":\"192.0.2.1:3260\",\"transport\":\"tcp\","
		"\"targets\":[{\"target\":\"" A "\",\"portal\":\"192.0.2.1:3260\","
		"\"tpgt\":1,\"transport\":\"tcp\"}]}]}",
		answer(&r));
	request_free(&r);
}

static void one_is_made_changed_and_shown_without_its_secret(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	is_refused(discovery_handle_show, k, "{" WHOM "}", STATUS_NOT_FOUND, "No records found");
	is_done(discovery_handle_new, k, "{" WHOM "}");
	is_done(discovery_handle_update, k,
		"{" WHOM ", \"settings\": {\"discovery.sendtargets.auth.username\": \"me\","
		" \"discovery.sendtargets.auth.password\": \"a secret of 16 b\"}}");
	r = done(discovery_handle_show, k, "{" WHOM "}");
	assert_non_null(strstr(answer(&r), "\"discovery.sendtargets.auth.username\":\"me\""));
	assert_non_null(strstr(answer(&r), "\"discovery.sendtargets.auth.password\":\"********\""));
	assert_non_null(strstr(answer(&r), "\"iface.transport_name\":\"iser\""));
	request_free(&r);
	r = request("{" WHOM ", \"show_secrets\": true}");
	r.unprivileged = true;
	discovery_handle_show(&k->d, &r, r.json);
	assert_int_equal(STATUS_ACCESS, r.status);
	request_free(&r);
	/* made anew, it has its defaults */
	is_done(discovery_handle_new, k, "{" WHOM "}");
	r = done(discovery_handle_show, k, "{" WHOM ", \"show_secrets\": true}");
	assert_non_null(strstr(answer(&r), "auth.username\":\"<empty>\""));
	request_free(&r);
}

static void wrong_changes_are_refused(void **state)
{
	struct kit *k = *state;

	is_done(discovery_handle_new, k, "{" WHOM "}");
	is_refused(discovery_handle_update, k, "{" WHOM "}", STATUS_USAGE, "a name and a value");
	is_refused(discovery_handle_update, k,
		"{" WHOM ", \"settings\": {\"discovery.sendtargets.port\": \"1\"}}", STATUS_USAGE,
		"make a new record");
	is_refused(discovery_handle_update, k,
		"{" WHOM ", \"settings\": {\"discovery.sendtargets.timeo.login_timeout\": "
		"\"soon\"}}",
		STATUS_USAGE, "a number from");
	is_refused(discovery_handle_new, k, "{}", STATUS_USAGE, "needs a portal");
	is_refused(discovery_handle_show, k, "{}", STATUS_USAGE, "which portal");
	is_refused(discovery_handle_delete, k, "{}", STATUS_USAGE, "which portal");
}

static void one_with_a_mistake_is_a_warning_fails_alone_and_can_be_deleted(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	is_done(discovery_handle_new, k, "{" WHOM "}");
	is_done(discovery_handle_new, k, "{\"portal\": \"192.0.2.2\"}");
	spoil(k);
	r = done(discovery_handle_list, k, "{}");
	assert_non_null(strstr(answer(&r), "\"discoveries\":[{\"portal\":\"192.0.2.2:3260\""));
	assert_non_null(strstr(answer(&r), "192.0.2.1,3260:2: \\\"discovery.nonsense\\\""));
	request_free(&r);
	is_refused(discovery_handle_show, k, "{" WHOM "}", STATUS_DATABASE, "3260:2: ");
	is_done(discovery_handle_delete, k, "{" WHOM "}");
	is_refused(discovery_handle_delete, k, "{" WHOM "}", STATUS_NOT_FOUND, "No records found");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(they_are_listed_with_their_targets),
		KIT_TEST(one_is_made_changed_and_shown_without_its_secret),
		KIT_TEST(wrong_changes_are_refused),
		KIT_TEST(one_with_a_mistake_is_a_warning_fails_alone_and_can_be_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
