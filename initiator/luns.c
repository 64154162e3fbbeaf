/* The form of a LUN on the wire (SAM-5 section 4.7): a number may be written by peripheral or by
 * flat space addressing, and a target may know it in one of them only. So the form that REPORT LUNS
 * had is the form that is sent. Called by scan.c, task.c and tmf.c. */
#include "initiator/session_private.h"

/* flat where iscsi_lun_encode() has peripheral, and the reverse */
#define OTHER_METHOD (1ull << 62)

void ini_session_lun_seen(struct ini_session *s, uint64_t wire)
{
	uint16_t lun;
	uint8_t bit;

	if (iscsi_lun_decode(wire, &lun) < 0)
		return;
	bit = (uint8_t)(1u << lun % 8);
	if (wire == iscsi_lun_encode(lun))
		s->luns_in_other_form[lun / 8] &= (uint8_t)~bit;
	else
		s->luns_in_other_form[lun / 8] |= bit;
}

uint64_t session_lun_wire(const struct ini_session *s, uint16_t lun)
{
	bool other = s->luns_in_other_form[lun % ISCSI_LUNS / 8] & 1u << lun % 8;

	return iscsi_lun_encode(lun) ^ (other ? OTHER_METHOD : 0);
}
