/* Values of keys that cannot be, in a login that goes on all the same: the target's answer to each
 * (RFC 7143 sections 6.2 and 13). */
#include "tests/kit/hostile.h"

#define WHO "InitiatorName=" HOSTILE_NAME "\0TargetName=" TWO_ENDS_IQN
#define OPERATIONAL 0x87 /* T, from operational to full-feature */

/* A text that is not accepted, but whose login goes on: the answer has `said` in it. */
static void play_answered(struct hostile *h)
{
	const char *wanted = (const char *)h->row->arg + h->row->length;
	bool found = false;

	hostile_mpa(h);
	hostile_forget(h);
	hostile_login_request(h, OPERATIONAL, h->row->arg, h->row->length);
	for (size_t at = 0; at < h->pdu.data_length; at += strlen((char *)h->data + at) + 1)
		found |= !strcmp((const char *)h->data + at, wanted);
	if (found)
		hostile_say(h, wanted);
}

/* A value that is not taken, over TCP where these keys matter, and the words of the answer. */
#define ANSWERED(in, where, literal, said)                                                         \
	{                                                                                          \
		.phase = "login", .input = in, .answer = "Login Response 0000, " said,             \
		.section = "RFC 7143 " where, .movers = HOSTILE_TCP, .play = play_answered,        \
		.arg = WHO "\0" literal "\0" said, .length = sizeof(WHO "\0" literal)              \
	}

static const struct hostile_row rows[] = {
	ANSWERED("MaxBurstLength=511", "6.2.2, 13.13", "MaxBurstLength=511",
		"MaxBurstLength=Reject"),
	ANSWERED("MaxBurstLength=16777216", "6.2.2, 13.13", "MaxBurstLength=16777216",
		"MaxBurstLength=Reject"),
	ANSWERED("MaxBurstLength=99999999999999999999", "6.2.2, 13.13",
		"MaxBurstLength=99999999999999999999", "MaxBurstLength=Reject"),
	ANSWERED("MaxBurstLength=-512", "6.2.2, 13.13", "MaxBurstLength=-512",
		"MaxBurstLength=Reject"),
	ANSWERED("FirstBurstLength=0", "6.2.2, 13.14", "FirstBurstLength=0",
		"FirstBurstLength=Reject"),
	ANSWERED("MaxOutstandingR2T=0", "6.2.2, 13.17", "MaxOutstandingR2T=0",
		"MaxOutstandingR2T=Reject"),
	ANSWERED("MaxConnections=65536", "6.2.2, 13.2", "MaxConnections=65536",
		"MaxConnections=Reject"),
	ANSWERED("MaxConnections=65535", "13.2", "MaxConnections=65535", "MaxConnections=1"),
	ANSWERED("DefaultTime2Wait=3601", "6.2.2, 13.15", "DefaultTime2Wait=3601",
		"DefaultTime2Wait=Reject"),
	ANSWERED("ErrorRecoveryLevel=3", "6.2.2, 13.20", "ErrorRecoveryLevel=3",
		"ErrorRecoveryLevel=Reject"),
	ANSWERED("ErrorRecoveryLevel=2", "13.20", "ErrorRecoveryLevel=2", "ErrorRecoveryLevel=0"),
	ANSWERED("InitialR2T=Maybe", "6.2.2, 13.10", "InitialR2T=Maybe", "InitialR2T=Reject"),
	ANSWERED("ImmediateData=", "6.2.2, 13.11", "ImmediateData=", "ImmediateData=Reject"),
	ANSWERED("HeaderDigest=CRC64,MD5", "6.2.1, 13.1", "HeaderDigest=CRC64,MD5",
		"HeaderDigest=Reject"),
	ANSWERED("HeaderDigest=,,,,", "6.2.1, 13.1", "HeaderDigest=,,,,", "HeaderDigest=Reject"),
	ANSWERED("OFMarker=Yes", "13.25", "OFMarker=Yes", "OFMarker=No"),
	ANSWERED("a key that nobody knows", "6.2", "X-org.example.key=1",
		"X-org.example.key=NotUnderstood"),
};

int main(void)
{
	return hostile_run("Keys: the target", true, rows, ARRAY_SIZE(rows));
}
