/* The answer to SendTargets as a target sends it (initiator/discovery_text.c; RFC 7143 appendix C).
 * Input: how many entries are wanted, then the text. */
#include "initiator/discovery.h"
#include "tests/fuzz/fuzz.h"

static void check_entry(const struct discovery_entry *e)
{
	FUZZ_CHECK(memchr(e->target_name, 0, sizeof(e->target_name)) && e->target_name[0]);
	FUZZ_CHECK(memchr(e->address, 0, sizeof(e->address)) && e->address[0]);
	/* They become names of files. */
	FUZZ_CHECK(!strchr(e->target_name, '/') && !strchr(e->address, '/'));
	FUZZ_CHECK(e->target_name[0] != '.' && e->address[0] != '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct discovery_entry fallback = {.address = "192.0.2.1", .port = 3260};
	struct fuzz_input in = fuzz_input(data, size);
	size_t max = fuzz_u8(&in), count = 0;
	struct discovery_entry *entries = calloc(max ? max : 1, sizeof(*entries));
	char *text = (char *)fuzz_copy(in.at, in.left, false);
	char *line = (char *)fuzz_copy(in.at, in.left, true), host[64];
	const char *why = NULL;
	uint16_t port, tpgt;
	bool truncated;

	if (discovery_parse(text, in.left, &fallback, entries, max, &count, &truncated, &why) ==
		0) {
		FUZZ_CHECK(count <= max);
		for (size_t i = 0; i < count; i++)
			check_entry(&entries[i]);
	}
	if (discovery_parse_address(line, host, &port, &tpgt) == 0)
		FUZZ_CHECK(memchr(host, 0, sizeof(host)) && host[0]);
	free(line);
	free(text);
	free(entries);
	return 0;
}
