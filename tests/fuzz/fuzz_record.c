/* Files of the node database (initiator/records_file.c, settings*.c): a node record and a discovery
 * record. Input: which, then the file. What is accepted must survive being written. */
#include "initiator/records_file.h"
#include "tests/fuzz/fuzz.h"

static size_t record_size(const struct settings_table *t)
{
	return t == &node_settings ? sizeof(struct node_record) : sizeof(struct discovery_record);
}

static void check_again(const struct settings_table *t, const void *record)
{
	void *again = calloc(1, record_size(t));
	char *text = records_file_format(t, record), *text_again;
	char why[RECORDS_WHY_SIZE];

	FUZZ_CHECK(text != NULL);
	settings_default(t, again);
	if (records_file_parse(t, "again", text, again, why) < 0) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	text_again = records_file_format(t, again);
	FUZZ_CHECK(!strcmp(text, text_again));
	alloc_free(text_again);
	alloc_free(text);
	free(again);
}

static void check_why(const char *why)
{
	FUZZ_CHECK(why[0] && memchr(why, 0, RECORDS_WHY_SIZE));
	for (const char *c = why; *c; c++)
		FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	const struct settings_table *t = fuzz_u8(&in) & 1 ? &discovery_settings : &node_settings;
	void *record = calloc(1, record_size(t));
	char *text = (char *)fuzz_copy(in.at, in.left, true);
	char why[RECORDS_WHY_SIZE] = "";
	uint8_t algorithms[5];

	settings_default(t, record);
	if (records_file_parse(t, "fuzz", text, record, why) < 0)
		check_why(why);
	else
		check_again(t, record);
	why[0] = 0;
	if (t == &node_settings && node_record_check(record, why) < 0)
		check_why(why);
	settings_parse_algorithms(text, algorithms);
	free(text);
	free(record);
	FUZZ_CHECK(alloc_live() == 0);
	return 0;
}
