/* The target's login machine (common/iscsi/login.c, login_target.c, login_target_auth.c).
 * Input: options, then the records of login_records.h, each an initiator's PDU. */
#include "common/iscsi/login_internal.h"
#include "tests/fuzz/login_records.h"
#include "tests/fuzz/random.h"

enum options {
	RDMA = 1,
	CHAP_REQUIRED = 2,
	MUTUAL = 4,
	EXTENSIONS_REQUIRED = 8,
	REFUSED = 16,
	DIGESTS = 32,
	MD5_ONLY = 64,
	ESTABLISH_REFUSED = 128,
};

struct policy {
	uint8_t options;
	unsigned identified, established;
	const struct login *login;
};

static unsigned identify(void *owner, const struct login_identity *who, struct login_auth *ret_auth,
	struct iscsi_params *params)
{
	struct policy *p = owner;

	(void)params;
	FUZZ_CHECK(p->identified++ == 0);
	FUZZ_CHECK(who->initiator_name && (who->target_name || who->discovery));
	FUZZ_CHECK(strlen(who->initiator_name) <= ISCSI_NAME_MAX);
	if (p->options & REFUSED)
		return LOGIN_NOT_FOUND;
	if (p->options & CHAP_REQUIRED)
		*ret_auth = (struct login_auth){.chap_required = true,
			.name = LOGIN_FUZZ_NAME,
			.secret = LOGIN_FUZZ_SECRET};
	if (p->options & MUTUAL) {
		ret_auth->mutual_name = LOGIN_FUZZ_MUTUAL_NAME;
		ret_auth->mutual_secret = LOGIN_FUZZ_MUTUAL_SECRET;
	}
	if (p->options & MD5_ONLY)
		ret_auth->algorithms[0] = CHAP_MD5;
	return LOGIN_SUCCESS;
}

static unsigned establish(void *owner, const struct login_identity *who, uint16_t *ret_tsih)
{
	struct policy *p = owner;

	FUZZ_CHECK(p->identified == 1 && p->established++ == 0 && who->initiator_name);
	FUZZ_CHECK(!(p->options & CHAP_REQUIRED) || p->login->auth_state == LOGIN_AUTH_DONE);
	*ret_tsih = who->tsih ? who->tsih : 0x1234;
	return p->options & ESTABLISH_REFUSED ? LOGIN_TOO_MANY_CONNECTIONS : LOGIN_SUCCESS;
}

static struct login *machine(struct policy *p)
{
	struct login_target_config config = {
		.policy = {identify, establish, p, "fuzz"},
		.rdma = p->options & RDMA,
		.require_rdma_extensions = p->options & EXTENSIONS_REQUIRED,
	};

	iscsi_params_default(&config.offer);
	if (p->options & DIGESTS)
		config.offer.header_digest = config.offer.data_digest = ISCSI_DIGEST_CRC32C;
	config.offer.rdma_extensions = p->options & RDMA;
	config.offer.target_recv_data_segment_length = 8192;
	config.offer.initiator_recv_data_segment_length = 8192;
	return login_target_new(&config);
}

static void add_text(uint8_t flags, const struct login *l, bool begun, struct bytes_writer *w)
{
	static const uint8_t challenge[16] = "0123456789abcdef";

	if (flags & LOGIN_IDENTITY) {
		keys_put(w, "InitiatorName", LOGIN_FUZZ_INITIATOR);
		keys_put(w, "TargetName", LOGIN_FUZZ_TARGET);
	}
	if (flags & LOGIN_CHAP_CHOOSE)
		keys_put(w, "CHAP_A", "5");
	if ((flags & LOGIN_CHAP_HONEST) && begun)
		login_chap_answer(l, w, LOGIN_FUZZ_NAME,
			flags & LOGIN_WRONG_SECRET ? "no such secret" : LOGIN_FUZZ_SECRET);
	if (flags & LOGIN_CHAP_MUTUAL) {
		keys_put(w, "CHAP_I", "7");
		chap_put(w, "CHAP_C", challenge, sizeof(challenge));
	}
}

static void request(struct fuzz_input *in, uint8_t flags, struct iscsi_pdu *pdu)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {0x43}, stages;

	if (flags & LOGIN_ANY_PDU) {
		fuzz_fill(in, bhs, sizeof(bhs));
	} else {
		stages = fuzz_u8(in);
		bhs[1] = stages & 0xcf;	 /* T, C, CSG, NSG */
		bhs[14] = stages & 0x30; /* a TSIH now and then */
	}
	iscsi_pdu_decode(bhs, pdu);
}

/* False: the login is over. */
static bool step(struct fuzz_input *in, struct login *l, struct policy *p, bool begun)
{
	static uint8_t text[3 * ISCSI_TEXT_MAX];
	struct bytes_writer w = bytes_writer(text, sizeof(text));
	uint8_t flags = fuzz_u8(in), *copy;
	struct iscsi_pdu pdu;
	enum login_step step;
	const uint8_t *bytes;
	const void *out;
	const char *why = NULL;
	size_t n;

	request(in, flags, &pdu);
	add_text(flags, l, begun, &w);
	n = fuzz_take(in, fuzz_u16(in), &bytes);
	if (n)
		bytes_write(&w, bytes, min_size(n, ISCSI_TEXT_MAX));
	copy = fuzz_copy(text, w.used, false);
	pdu.data_length = (uint32_t)w.used;
	step = login_target_receive(l, &pdu, copy, w.used);
	free(copy);
	FUZZ_CHECK(step == LOGIN_SEND || step == LOGIN_SEND_LAST || step == LOGIN_FAILED);
	FUZZ_CHECK(login_out(l, &out)->opcode == ISCSI_LOGIN_RESPONSE);
	FUZZ_CHECK(login_out(l, &out)->data_length <= ISCSI_TEXT_MAX);
	FUZZ_CHECK(step != LOGIN_FAILED || (login_failure(l, &why) && why && *why));
	FUZZ_CHECK(step != LOGIN_SEND_LAST || (p->established == 1 && login_params(l)));
	return step == LOGIN_SEND;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct policy p = {.options = fuzz_u8(&in)};
	struct login *l = machine(&p);
	bool begun = false;

	p.login = l;
	fuzz_random_restart();
	while (in.left && step(&in, l, &p, begun))
		begun = true;
	login_free(l);
	FUZZ_CHECK(alloc_live() == 0);
	return 0;
}
