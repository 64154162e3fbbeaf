/* One row for every text key of RFC 7143 sections 12.1 and 13 and RFC 7145 section 6. Walked by
 * key_negotiation.c. */
#include "common/iscsi/key_table.h"

#include <string.h>

#define LENGTH_MAX 0xffffffu /* a DataSegmentLength has 24 bits */
#define BOTH_STAGES (KEY_IN_SECURITY | KEY_IN_OPERATIONAL)

static const char *const digest_names[] = {"None", "CRC32C", NULL};
static const char *const reporting_names[] = {"RFC3720", NULL};
static const char *const refuse_no[] = {"No", NULL};
static const char *const refuse_reject[] = {"Reject", NULL};

_Static_assert(ISCSI_DIGEST_NONE == 1 && ISCSI_DIGEST_CRC32C == 2 && ISCSI_DIGEST_NONE_FIRST == 4,
	"digest_names follows the bits");

#define FIELD(f) ((uint16_t)offsetof(struct iscsi_params, f))
#define NOWHERE .field = KEY_NO_FIELD, .peer_field = KEY_NO_FIELD, .cap_field = KEY_NO_FIELD
#define AT(f) .field = FIELD(f), .peer_field = KEY_NO_FIELD, .cap_field = KEY_NO_FIELD
#define DECLARED_AT(f, p) .field = FIELD(f), .peer_field = FIELD(p), .cap_field = KEY_NO_FIELD

/* Kinds of rows, so that each row below says only what is its own. */
#define IDENTITY(by, longest, ...)                                                                 \
	.type = KEY_TEXT, .result = KEY_OWN, .owner = KEY_OF_LOGIN, .stages = BOTH_STAGES,         \
	.senders = by, .maximum = longest, NOWHERE, __VA_ARGS__
#define SECURITY(longest)                                                                          \
	.type = KEY_TEXT, .result = KEY_OWN, .owner = KEY_OF_LOGIN, .stages = KEY_IN_SECURITY,     \
	.senders = KEY_BY_BOTH, .maximum = longest, NOWHERE
#define SESSION(t, r)                                                                              \
	.type = t, .result = r, .owner = KEY_OF_SESSION, .stages = KEY_IN_OPERATIONAL,             \
	.senders = KEY_BY_BOTH
#define ISER(t, r, by)                                                                             \
	.type = t, .result = r, .owner = KEY_OF_ISER_MOVER, .stages = KEY_IN_OPERATIONAL,          \
	.senders = by
#define OBSOLETE(answer) SESSION(KEY_TEXT, KEY_REFUSE), .names = answer, NOWHERE

const struct key_row key_table[KEY_COUNT] = {
	/* 13.5, 13.7, 13.4, 13.21 */
	[KEY_INITIATOR_NAME] = {"InitiatorName",
		IDENTITY(KEY_BY_INITIATOR, ISCSI_NAME_MAX, .flags = KEY_REPEATABLE)},
	[KEY_INITIATOR_ALIAS] = {"InitiatorAlias",
		IDENTITY(KEY_BY_INITIATOR, 0, .flags = KEY_REPEATABLE)},
	[KEY_TARGET_NAME] = {"TargetName",
		IDENTITY(KEY_BY_INITIATOR, ISCSI_NAME_MAX, .flags = KEY_REPEATABLE)},
	[KEY_SESSION_TYPE] = {"SessionType",
		IDENTITY(KEY_BY_INITIATOR, 0, .flags = KEY_REPEATABLE)},
	/* 12.1 */
	[KEY_AUTH_METHOD] = {"AuthMethod", SECURITY(0)},
	[KEY_CHAP_A] = {"CHAP_A", SECURITY(0)},
	[KEY_CHAP_I] = {"CHAP_I", SECURITY(0)},
	[KEY_CHAP_C] = {"CHAP_C", SECURITY(ISCSI_LARGE_VALUE_MAX)},
	[KEY_CHAP_N] = {"CHAP_N", SECURITY(0)},
	[KEY_CHAP_R] = {"CHAP_R", SECURITY(ISCSI_LARGE_VALUE_MAX)},
	/* 13.6, 13.8, 13.9 */
	[KEY_TARGET_ALIAS] = {"TargetAlias", IDENTITY(KEY_BY_TARGET, 0, .flags = KEY_REPEATABLE)},
	/* A redirection may list several portals. */
	[KEY_TARGET_ADDRESS] = {"TargetAddress",
		IDENTITY(KEY_BY_TARGET, 0, .flags = KEY_REPEATABLE)},
	[KEY_TARGET_PORTAL_GROUP_TAG] = {"TargetPortalGroupTag",
		IDENTITY(KEY_BY_TARGET, 0, .flags = KEY_REPEATABLE)},
	/* 13.3: text.c of the target reads it */
	[KEY_SEND_TARGETS] = {"SendTargets", .type = KEY_TEXT, .result = KEY_OWN,
		.owner = KEY_OF_SESSION, .stages = KEY_IN_FULL_FEATURE, .senders = KEY_BY_INITIATOR,
		NOWHERE},
	/* RFC 7145 6.3. Discovery needs no RDMA, so it is not offered there; a peer that offers it
	 * (libiscsi) is answered. */
	[KEY_RDMA_EXTENSIONS] = {"RDMAExtensions", ISER(KEY_BOOLEAN, KEY_AND, KEY_BY_BOTH),
		.flags = KEY_LEADING | KEY_OFFERED, .standard = false,
		.unoffered = KEY_DISCOVERY | KEY_OVER_TCP, AT(rdma_extensions)},
	/* 13.1, RFC 7145 6.1 */
	[KEY_HEADER_DIGEST] = {"HeaderDigest", .type = KEY_LIST, .result = KEY_CHOOSE,
		.owner = KEY_OF_TCP_MOVER, .stages = KEY_IN_OPERATIONAL, .senders = KEY_BY_BOTH,
		.flags = KEY_OFFERED | KEY_NONE_OVER_RDMA, .unoffered = KEY_OVER_ISER,
		.names = digest_names, .standard = ISCSI_DIGEST_NONE, AT(header_digest)},
	[KEY_DATA_DIGEST] = {"DataDigest", .type = KEY_LIST, .result = KEY_CHOOSE,
		.owner = KEY_OF_TCP_MOVER, .stages = KEY_IN_OPERATIONAL, .senders = KEY_BY_BOTH,
		.flags = KEY_OFFERED | KEY_NONE_OVER_RDMA, .unoffered = KEY_OVER_ISER,
		.names = digest_names, .standard = ISCSI_DIGEST_NONE, AT(data_digest)},
	/* 13.12, RFC 7145 6.2: ignored over iSER */
	[KEY_MAX_RECV_DATA_SEGMENT_LENGTH] = {"MaxRecvDataSegmentLength", .type = KEY_NUMBER,
		.result = KEY_DECLARE, .owner = KEY_OF_TCP_MOVER, .stages = BOTH_STAGES,
		.senders = KEY_BY_BOTH, .flags = KEY_OFFERED, .irrelevant = KEY_OVER_ISER,
		.minimum = 512, .maximum = LENGTH_MAX, .standard = 8192,
		DECLARED_AT(max_recv_data_segment_length, peer_max_recv_data_segment_length)},
	/* RFC 7145 6.5, 6.4 */
	[KEY_INITIATOR_RECV_DATA_SEGMENT_LENGTH] = {"InitiatorRecvDataSegmentLength",
		ISER(KEY_NUMBER, KEY_MIN, KEY_BY_BOTH), .flags = KEY_OFFERED,
		.irrelevant = KEY_OVER_TCP, .unoffered = KEY_DISCOVERY, .minimum = 512,
		.maximum = LENGTH_MAX, .standard = 8192, AT(initiator_recv_data_segment_length)},
	[KEY_TARGET_RECV_DATA_SEGMENT_LENGTH] = {"TargetRecvDataSegmentLength",
		ISER(KEY_NUMBER, KEY_MIN, KEY_BY_BOTH), .flags = KEY_OFFERED,
		.irrelevant = KEY_OVER_TCP, .unoffered = KEY_DISCOVERY, .minimum = 512,
		.maximum = LENGTH_MAX, .standard = 8192, AT(target_recv_data_segment_length)},
	/* 13.10 and on */
	[KEY_INITIAL_R2T] = {"InitialR2T", SESSION(KEY_BOOLEAN, KEY_OR),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .standard = true,
		AT(initial_r2t)},
	[KEY_IMMEDIATE_DATA] = {"ImmediateData", SESSION(KEY_BOOLEAN, KEY_AND),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .standard = true,
		AT(immediate_data)},
	[KEY_MAX_BURST_LENGTH] = {"MaxBurstLength", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .minimum = 512,
		.maximum = LENGTH_MAX, .standard = 262144, AT(max_burst_length)},
	[KEY_FIRST_BURST_LENGTH] = {"FirstBurstLength", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING | KEY_OFFERED,
		.irrelevant = KEY_DISCOVERY | KEY_NO_UNSOLICITED, .minimum = 512,
		.maximum = LENGTH_MAX, .standard = 65536, .field = FIELD(first_burst_length),
		.peer_field = KEY_NO_FIELD, .cap_field = FIELD(max_burst_length)},
	[KEY_DEFAULT_TIME2WAIT] = {"DefaultTime2Wait", SESSION(KEY_NUMBER, KEY_MAX),
		.flags = KEY_LEADING | KEY_OFFERED, .maximum = 3600, .standard = 2,
		AT(default_time2wait)},
	[KEY_DEFAULT_TIME2RETAIN] = {"DefaultTime2Retain", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING | KEY_OFFERED, .maximum = 3600, .standard = 20,
		AT(default_time2retain)},
	[KEY_MAX_OUTSTANDING_R2T] = {"MaxOutstandingR2T", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .minimum = 1,
		.maximum = 65535, .standard = 1, AT(max_outstanding_r2t)},
	[KEY_MAX_CONNECTIONS] = {"MaxConnections", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .minimum = 1,
		.maximum = 65535, .standard = 1, AT(max_connections)},
	[KEY_DATA_PDU_IN_ORDER] = {"DataPDUInOrder", SESSION(KEY_BOOLEAN, KEY_OR),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .standard = true,
		AT(data_pdu_in_order)},
	[KEY_DATA_SEQUENCE_IN_ORDER] = {"DataSequenceInOrder", SESSION(KEY_BOOLEAN, KEY_OR),
		.flags = KEY_LEADING | KEY_OFFERED, .irrelevant = KEY_DISCOVERY, .standard = true,
		AT(data_sequence_in_order)},
	[KEY_ERROR_RECOVERY_LEVEL] = {"ErrorRecoveryLevel", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING | KEY_OFFERED, .maximum = 2, .standard = 0,
		AT(error_recovery_level)},
	/* 13.23, 13.24 (the level of RFC 7143 is 1, and there is no other) */
	[KEY_TASK_REPORTING] = {"TaskReporting", SESSION(KEY_LIST, KEY_CHOOSE),
		.flags = KEY_LEADING, .irrelevant = KEY_DISCOVERY, .names = reporting_names,
		.standard = 1, NOWHERE},
	[KEY_ISCSI_PROTOCOL_LEVEL] = {"iSCSIProtocolLevel", SESSION(KEY_NUMBER, KEY_MIN),
		.flags = KEY_LEADING, .irrelevant = KEY_DISCOVERY, .maximum = 31, .standard = 1,
		NOWHERE},
	/* RFC 7145 6.7-6.10; never volunteered: LIO does not understand them */
	[KEY_MAX_OUTSTANDING_UNEXPECTED_PDUS] = {"MaxOutstandingUnexpectedPDUs",
		ISER(KEY_NUMBER, KEY_DECLARE, KEY_BY_BOTH), .flags = KEY_LEADING | KEY_ZERO_ALLOWED,
		.irrelevant = KEY_OVER_TCP, .minimum = 2, .maximum = UINT32_MAX, .standard = 0,
		DECLARED_AT(max_outstanding_unexpected_pdus, max_outstanding_unexpected_pdus)},
	[KEY_MAX_AHS_LENGTH] = {"MaxAHSLength", ISER(KEY_NUMBER, KEY_DECLARE, KEY_BY_BOTH),
		.flags = KEY_LEADING | KEY_ZERO_ALLOWED, .irrelevant = KEY_OVER_TCP, .minimum = 2,
		.maximum = UINT32_MAX, .standard = 256,
		DECLARED_AT(max_ahs_length, max_ahs_length)},
	[KEY_TAGGED_BUFFER_FOR_SOLICITED_DATA_ONLY] = {"TaggedBufferForSolicitedDataOnly",
		ISER(KEY_BOOLEAN, KEY_DECLARE, KEY_BY_INITIATOR), .flags = KEY_LEADING,
		.irrelevant = KEY_OVER_TCP, .standard = false,
		DECLARED_AT(tagged_buffer_for_solicited_data_only,
			tagged_buffer_for_solicited_data_only)},
	[KEY_ISER_HELLO_REQUIRED] = {"iSERHelloRequired",
		ISER(KEY_BOOLEAN, KEY_DECLARE, KEY_BY_INITIATOR), .flags = KEY_LEADING,
		.irrelevant = KEY_OVER_TCP, .standard = false,
		DECLARED_AT(iser_hello_required, iser_hello_required)},
	/* 13.25: NotUnderstood is forbidden for these. Initiators of RFC 3720 propose IFMarker=No
	 * and expect No. */
	[KEY_IF_MARKER] = {"IFMarker", OBSOLETE(refuse_no)},
	[KEY_OF_MARKER] = {"OFMarker", OBSOLETE(refuse_no)},
	[KEY_IF_MARK_INT] = {"IFMarkInt", OBSOLETE(refuse_reject)},
	[KEY_OF_MARK_INT] = {"OFMarkInt", OBSOLETE(refuse_reject)},
};

enum key_id key_find(const char *name)
{
	enum key_id id = 0;

	while (id < KEY_COUNT && strcmp(key_table[id].name, name))
		id++;
	return id;
}
