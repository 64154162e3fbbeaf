/* The initiator's login machine (common/iscsi/login.c, login_initiator.c, login_initiator_auth.c).
 * Input: options, then the records of login_records.h, each a target's PDU. */
#include "common/iscsi/login_internal.h"
#include "tests/fuzz/login_records.h"
#include "tests/fuzz/random.h"

enum options {
	RDMA = 1,
	CHAP = 2,
	MUTUAL = 4,
	DISCOVERY = 8,
	DIGESTS = 16,
	ANY_MUTUAL_NAME = 32,
	MD5_ONLY = 64,
};

static struct login *machine(uint8_t options)
{
	struct login_initiator_config config = {
		.initiator_name = LOGIN_FUZZ_INITIATOR,
		.target_name = options & DISCOVERY ? NULL : LOGIN_FUZZ_TARGET,
		.isid = {{0x80, 1, 2, 3, 4, 5}},
		.cmd_sn = 1,
		.rdma = options & RDMA,
	};

	if (options & CHAP) {
		config.auth.name = LOGIN_FUZZ_NAME;
		config.auth.secret = LOGIN_FUZZ_SECRET;
	}
	if (options & MUTUAL) {
		config.auth.mutual_name = options & ANY_MUTUAL_NAME ? NULL : LOGIN_FUZZ_MUTUAL_NAME;
		config.auth.mutual_secret = LOGIN_FUZZ_MUTUAL_SECRET;
	}
	if (options & MD5_ONLY)
		config.auth.algorithms[0] = CHAP_MD5;
	iscsi_params_default(&config.offer);
	if (options & DIGESTS)
		config.offer.header_digest = ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE;
	config.offer.rdma_extensions = options & RDMA;
	config.offer.target_recv_data_segment_length = 8192;
	config.offer.initiator_recv_data_segment_length = 8192;
	return login_initiator_new(&config);
}

static void add_text(uint8_t flags, const struct login *l, struct bytes_writer *w)
{
	static const uint8_t challenge[16] = "0123456789abcdef";

	if (flags & LOGIN_IDENTITY) {
		keys_put(w, "AuthMethod", "CHAP");
		keys_put(w, "TargetPortalGroupTag", "1");
	}
	if (flags & LOGIN_CHAP_CHOOSE) {
		keys_put(w, "CHAP_A", "5");
		keys_put(w, "CHAP_I", "7");
		chap_put(w, "CHAP_C", challenge, sizeof(challenge));
	}
	if (flags & LOGIN_CHAP_HONEST)
		login_chap_answer(l, w, LOGIN_FUZZ_MUTUAL_NAME,
			flags & LOGIN_WRONG_SECRET ? "no such secret" : LOGIN_FUZZ_MUTUAL_SECRET);
}

static void response(
	struct fuzz_input *in, const struct login *l, uint8_t flags, struct iscsi_pdu *pdu)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {0x23};
	const void *data;
	const struct iscsi_pdu *out = login_out(l, &data);

	if (flags & LOGIN_ANY_PDU) {
		fuzz_fill(in, bhs, sizeof(bhs));
		iscsi_pdu_decode(bhs, pdu);
		return;
	}
	bhs[1] = fuzz_u8(in) & 0xcf;
	iscsi_pdu_decode(bhs, pdu);
	pdu->itt = out->itt;
	pdu->login_response.isid = out->login.isid;
	pdu->login_response.tsih = 7;
}

/* False: the login is over. */
static bool step(struct fuzz_input *in, struct login *l)
{
	static uint8_t text[3 * ISCSI_TEXT_MAX];
	struct bytes_writer w = bytes_writer(text, sizeof(text));
	uint8_t flags = fuzz_u8(in), *copy;
	struct iscsi_pdu pdu;
	enum login_step step;
	const uint8_t *bytes;
	const char *why = NULL;
	const void *out;
	size_t n;

	response(in, l, flags, &pdu);
	add_text(flags, l, &w);
	n = fuzz_take(in, fuzz_u16(in), &bytes);
	if (n)
		bytes_write(&w, bytes, min_size(n, ISCSI_TEXT_MAX));
	copy = fuzz_copy(text, w.used, false);
	pdu.data_length = (uint32_t)w.used;
	step = login_initiator_receive(l, &pdu, copy, w.used);
	free(copy);
	if (step == LOGIN_FAILED) {
		login_failure(l, &why);
		FUZZ_CHECK(why && *why);
	}
	if (login_redirect(l))
		FUZZ_CHECK(strlen(login_redirect(l)) <= ISCSI_TEXT_MAX);
	FUZZ_CHECK(step == LOGIN_FAILED || login_params(l));
	FUZZ_CHECK(login_out(l, &out)->data_length <= ISCSI_TEXT_MAX);
	return step == LOGIN_SEND || step == LOGIN_SEND_LAST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct login *l = machine(fuzz_u8(&in));
	enum login_step first;

	fuzz_random_restart();
	first = login_initiator_start(l);
	/* A mutual secret without a name and a secret of our own is a mistake in the configuration.
	 */
	FUZZ_CHECK(first == LOGIN_SEND || first == LOGIN_FAILED);
	while (first == LOGIN_SEND && in.left && step(&in, l))
		;
	login_free(l);
	FUZZ_CHECK(alloc_live() == 0);
	return 0;
}
