/* Persistent reservation parameter data: see reservation.h. Called by the target's reservation
 * commands. */
#include "common/scsi/reservation.h"

enum {
	OUT_SPEC_I_PT = 0x08,
	OUT_ALL_TG_PT = 0x04,
	OUT_APTPL = 0x01,
	STATUS_ALL_TG_PT = 0x02,
	STATUS_HOLDER = 0x01,
	TRANSPORT_ISCSI_PORT = 0x45, /* format 01b, protocol 5h (SPC-4 section 7.6.4.6) */
	CAPABILITIES_LENGTH = 8,
	CAPABILITIES_CRH = 0x10, /* RESERVE and RELEASE obey SPC-2 beside persistent reservations */
	CAPABILITIES_TMV = 0x80,
	CAPABILITIES_TYPES = 0xea,	/* types 7, 6, 5, 3, 1 */
	CAPABILITIES_TYPES_MORE = 0x01, /* type 8 */
};

void reservation_out_encode(const struct reservation_out *o, uint8_t out[RESERVATION_OUT_LENGTH])
{
	memset(out, 0, RESERVATION_OUT_LENGTH);
	put_be64(out, o->key);
	put_be64(out + 8, o->service_action_key);
	out[20] = (uint8_t)((o->spec_i_pt ? OUT_SPEC_I_PT : 0) |
			    (o->all_tg_pt ? OUT_ALL_TG_PT : 0) | (o->aptpl ? OUT_APTPL : 0));
}

void reservation_out_decode(const uint8_t in[RESERVATION_OUT_LENGTH], struct reservation_out *ret)
{
	*ret = (struct reservation_out){
		.key = get_be64(in),
		.service_action_key = get_be64(in + 8),
		.spec_i_pt = in[20] & OUT_SPEC_I_PT,
		.all_tg_pt = in[20] & OUT_ALL_TG_PT,
		.aptpl = in[20] & OUT_APTPL,
	};
}

void reservation_keys_encode(
	uint32_t generation, const uint64_t *keys, size_t count, struct bytes_writer *w)
{
	bytes_write_be32(w, generation);
	bytes_write_be32(w, (uint32_t)(count * 8));
	for (size_t i = 0; i < count && !w->overflow; i++)
		bytes_write_be64(w, keys[i]);
}

void reservation_holder_encode(
	uint32_t generation, uint64_t key, uint8_t type, struct bytes_writer *w)
{
	bytes_write_be32(w, generation);
	bytes_write_be32(w, type ? 16 : 0);
	if (!type)
		return;
	bytes_write_be64(w, key);
	bytes_write_be32(w, 0); /* obsolete: scope-specific address */
	bytes_write_u8(w, 0);
	bytes_write_u8(w, type); /* scope 0h: the logical unit */
	bytes_write_be16(w, 0);
}

void reservation_capabilities_encode(struct bytes_writer *w)
{
	bytes_write_be16(w, CAPABILITIES_LENGTH);
	bytes_write_u8(w, CAPABILITIES_CRH);
	bytes_write_u8(w, CAPABILITIES_TMV);
	bytes_write_u8(w, CAPABILITIES_TYPES);
	bytes_write_u8(w, CAPABILITIES_TYPES_MORE);
	bytes_write_be16(w, 0);
}

size_t reservation_full_begin(uint32_t generation, struct bytes_writer *w)
{
	size_t begun = w->used;

	bytes_write_be32(w, generation);
	bytes_write_be32(w, 0);
	return begun;
}

void reservation_full_end(size_t begun, struct bytes_writer *w)
{
	if (!w->overflow)
		put_be32(w->start + begun + 4, (uint32_t)(w->used - begun - 8));
}

void reservation_status_encode(const struct reservation_status *s, struct bytes_writer *w)
{
	size_t name = round_up(strlen(s->initiator_port) + 1, 4);
	uint8_t *d = bytes_reserve(w, 24);
	uint8_t *id = bytes_reserve(w, 4 + name);

	if (!d || !id)
		return;
	memset(d, 0, 24);
	memset(id, 0, 4 + name);
	put_be64(d, s->key);
	d[12] = (uint8_t)((s->all_target_ports ? STATUS_ALL_TG_PT : 0) |
			  (s->holder ? STATUS_HOLDER : 0));
	d[13] = s->holder ? s->type & 0xf : 0;
	put_be16(d + 18, s->relative_port);
	put_be32(d + 20, (uint32_t)(4 + name));
	id[0] = TRANSPORT_ISCSI_PORT;
	put_be16(id + 2, (uint16_t)name);
	memcpy(id + 4, s->initiator_port, strlen(s->initiator_port));
}
