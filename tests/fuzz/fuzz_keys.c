/* Text keys and their values (common/iscsi/keys.c, key_table.c, key_negotiation.c, names.c).
 * Input: flags, then text that is walked, read as numbers, lists and names, and negotiated by both
 * roles. */
#include "common/iscsi/key_table.h"
#include "common/iscsi/names.h"
#include "tests/fuzz/fuzz.h"

enum flags {
	INITIATOR = 1,
	RDMA = 2,
	LEADING = 4,
	SECURITY = 8,
	DISCOVERY = 16,
	DIGESTS = 32,
	NO_UNSOLICITED = 64,
};

static void try_number(const char *value)
{
	uint32_t number = 0xa5a5a5a5, again = 0;
	char text[16];

	if (keys_number(value, &number) < 0) {
		FUZZ_CHECK(number == 0xa5a5a5a5);
		return;
	}
	snprintf(text, sizeof(text), "%u", number);
	FUZZ_CHECK(keys_number(text, &again) == 0 && again == number);
}

static void try_list(const char *value)
{
	char entry[24];
	size_t offset = 0, length = strlen(value);

	while (keys_list_next(value, &offset, entry, sizeof(entry)) > 0)
		FUZZ_CHECK(entry[0] && strlen(entry) < sizeof(entry));
	FUZZ_CHECK(offset <= length + 1);
}

static void try_name(const char *value)
{
	char *name = (char *)fuzz_copy(value, strlen(value), true);
	const char *why = NULL;

	if (iscsi_name_check(name, &why) < 0)
		FUZZ_CHECK(why != NULL);
	else
		FUZZ_CHECK(strlen(name) <= ISCSI_NAME_MAX);
	iscsi_name_lower(name);
	free(name);
}

static void walk(const char *text, size_t length)
{
	static char out[ISCSI_TEXT_MAX];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	struct key_pair pair;
	size_t offset = 0;

	while (keys_next(text, length, &offset, &pair) > 0) {
		FUZZ_CHECK(offset <= length);
		FUZZ_CHECK(strlen(pair.key) <= ISCSI_KEY_NAME_MAX);
		FUZZ_CHECK(pair.value >= text && pair.value + strlen(pair.value) < text + length);
		FUZZ_CHECK(key_find(pair.key) <= KEY_COUNT);
		try_number(pair.value);
		try_list(pair.value);
		try_name(pair.value);
		keys_put(&w, pair.key, pair.value);
		FUZZ_CHECK(w.used <= sizeof(out));
	}
}

static struct iscsi_params params(uint8_t flags)
{
	struct iscsi_params p;

	iscsi_params_default(&p);
	if (flags & DIGESTS)
		p.header_digest = p.data_digest = ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE;
	if (flags & NO_UNSOLICITED) {
		p.initial_r2t = true;
		p.immediate_data = false;
	}
	p.max_burst_length = 1024 * 1024;
	p.target_recv_data_segment_length = p.initiator_recv_data_segment_length = 8192;
	p.rdma_extensions = flags & RDMA;
	return p;
}

/* What any outcome must keep to, whatever the peer has said. */
static void check_outcome(const struct key_negotiation *n)
{
	const struct iscsi_params *p = &n->outcome;

	FUZZ_CHECK(p->max_recv_data_segment_length <= 0xffffff);
	FUZZ_CHECK(p->peer_max_recv_data_segment_length >= 512 || n->rdma);
	FUZZ_CHECK(p->peer_max_recv_data_segment_length <= 0xffffff);
	FUZZ_CHECK(p->max_burst_length >= 512 && p->max_burst_length <= 0xffffff);
	FUZZ_CHECK(p->first_burst_length <= p->max_burst_length);
	FUZZ_CHECK(p->max_outstanding_r2t >= 1 && p->max_connections >= 1);
	FUZZ_CHECK(p->error_recovery_level == 0);
	FUZZ_CHECK(
		p->header_digest == ISCSI_DIGEST_NONE || p->header_digest == ISCSI_DIGEST_CRC32C);
	FUZZ_CHECK(p->data_digest == ISCSI_DIGEST_NONE || p->data_digest == ISCSI_DIGEST_CRC32C);
}

static void negotiate(uint8_t flags, const char *text, size_t length)
{
	static char out[4 * ISCSI_TEXT_MAX];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	struct key_negotiation n;
	struct iscsi_params ours = params(flags);
	unsigned status;

	key_negotiation_init(&n, flags & INITIATOR, flags & RDMA, &ours);
	n.leading = flags & LEADING;
	n.discovery = flags & DISCOVERY;
	n.stage = flags & SECURITY ? KEY_IN_SECURITY : KEY_IN_OPERATIONAL;
	if (flags & INITIATOR)
		key_negotiation_offer(&n, &w);
	status = key_negotiation_read(&n, text, length, &w);
	if (!status)
		status = key_negotiation_answer(&n, &w);
	if (status) {
		FUZZ_CHECK(n.why[0] && memchr(n.why, 0, sizeof(n.why)));
		return;
	}
	if (!(flags & INITIATOR))
		key_negotiation_offer(&n, &w);
	key_negotiation_finish(&n);
	check_outcome(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	uint8_t flags = fuzz_u8(&in);
	char *text = (char *)fuzz_copy(in.at, in.left, false);

	walk(text, in.left);
	negotiate(flags, text, in.left);
	free(text);
	return 0;
}
