/* The iSCSI/TCP mover at both ends of a peer that sends PDUs with random fields, cut in random
 * places, while the layer above puts, gets, responds and gives tasks back at random: every memory
 * is its own block, so that ASan sees what is out of bounds or out of time. */
#include "tests/unit/common/datamover/tcp_kit.h"

#define SLOTS 8
#define LENGTH 2048u

struct slot {
	struct dm_task task;   /* initiator's */
	struct dm_task *given; /* target's */
	struct dm_transfer transfer;
	bool moving; /* until `done` */
	uint8_t *data;
};

struct upper {
	struct slot slots[SLOTS];
};

static uint32_t any(uint32_t below)
{
	return (uint32_t)random() % below;
}

/* Mostly small numbers, which hit; sometimes anything. */
static uint32_t field(void)
{
	return any(8) ? any(4) : (uint32_t)random() * 65537u;
}

static void moved(struct dm_transfer *t, int status)
{
	struct slot *s = container_of(t, struct slot, transfer);

	(void)status;
	assert_true(s->moving);
	s->moving = false;
}

static void target_takes(struct kit_end *e, const struct kit_pdu *p, const void *data)
{
	struct upper *u = e->arg;
	struct slot *s = &u->slots[any(SLOTS)];

	(void)data;
	if (!p->task)
		return;
	if (s->given || s->moving) {
		dm_deallocate_task_resources(e->conn, p->task);
		return;
	}
	s->given = p->task;
	s->transfer = (struct dm_transfer){
		.data = s->data, .length = 1 + any(LENGTH), .offset = any(3) * 512, .done = moved};
	s->moving = (any(2) ? dm_get_data : dm_put_data)(e->conn, p->task, &s->transfer) == 0;
}

static void target_acts(struct kit_end *e, struct slot *s)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_RESPONSE};

	if (!s->given || !e->conn)
		return;
	if (any(2))
		(void)dm_send_control(e->conn, &pdu, NULL, NULL, s->given);
	dm_deallocate_task_resources(e->conn, s->given);
	s->given = NULL;
}

static void initiator_acts(struct kit_end *e, struct slot *s)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = any(4)};

	if (!e->conn)
		return;
	if (s->given) {
		dm_deallocate_task_resources(e->conn, &s->task);
		free(s->data);
		s->data = malloc(LENGTH);
		memset(s->data, 1, LENGTH);
		s->given = NULL;
		return;
	}
	s->task = (struct dm_task){0};
	s->task.read = (struct dm_buffer){.data = s->data, .length = any(2) * LENGTH};
	s->task.write = (struct dm_buffer){.data = s->data, .length = any(2) * LENGTH};
	if (dm_send_control(e->conn, &pdu, NULL, NULL, &s->task) == 0)
		s->given = &s->task;
}

static void random_pdu(uint8_t bhs[ISCSI_BHS_SIZE], bool target, uint32_t *ret_length)
{
	static const uint8_t to_target[] = {0x01, 0x01, 0x05, 0x05, 0x05, 0x00, 0x41};
	static const uint8_t to_initiator[] = {0x25, 0x25, 0x31, 0x31, 0x21, 0x20};
	uint32_t length = any(4) ? any(3) * 512 : any(LENGTH + 8);

	for (size_t i = 0; i < ISCSI_BHS_SIZE; i++)
		bhs[i] = any(16) ? 0 : (uint8_t)random();
	bhs[0] = target ? to_target[any(sizeof(to_target))]
			: to_initiator[any(sizeof(to_initiator))];
	bhs[1] = (uint8_t)(any(4) ? 0x80 | any(2) << 5 | any(2) << 6 : (uint32_t)random());
	bhs[4] = any(64) ? 0 : 1;
	put_be24(bhs + 5, length);
	put_be32(bhs + 16, field());
	/* The first TTTs are small multiples of the generations' size. */
	put_be32(bhs + 20, any(2) ? (1 + any(4)) << 12 | any(3) : field());
	put_be32(bhs + 36, field());
	put_be32(bhs + 40, any(3) * 512);
	put_be32(bhs + 44, 512);
	*ret_length = (uint32_t)round_up(length, 4) + bhs[4] * 4u;
}

static void send_some(struct kit_raw *r, bool target)
{
	static uint8_t bytes[ISCSI_BHS_SIZE + 2 * LENGTH];
	uint32_t body;
	size_t length, cut;

	random_pdu(bytes, target, &body);
	length = ISCSI_BHS_SIZE + body;
	cut = any((uint32_t)length);
	if (send(r->fd, bytes, cut, MSG_NOSIGNAL) < 0)
		return;
	if (any(2))
		loop_turn(r->loop, 0);
	(void)send(r->fd, bytes + cut, length - cut, MSG_NOSIGNAL);
	if (any(4))
		kit_settle(r->loop);
}

static void one_life(bool target, unsigned seed)
{
	static uint8_t drained[65536];
	struct iscsi_params params = kit_params();
	struct upper u = {0};
	struct kit_raw r;

	srandom(seed);
	params.max_burst_length = 1024;
	params.max_outstanding_r2t = 1 + any(4);
	params.immediate_data = any(2);
	params.peer_max_recv_data_segment_length = 512 + any(512);
	kit_raw_init(&r, target, &params);
	for (int i = 0; i < SLOTS; i++) {
		u.slots[i].data = malloc(LENGTH);
		memset(u.slots[i].data, 1, LENGTH);
	}
	r.end.arg = &u;
	r.end.react = target ? target_takes : NULL;
	for (int i = 0; i < 100 && !r.end.terminated; i++) {
		(target ? target_acts : initiator_acts)(&r.end, &u.slots[any(SLOTS)]);
		send_some(&r, target);
		if (any(2))
			(void)!recv(r.fd, drained, sizeof(drained), MSG_DONTWAIT);
	}
	if (r.end.conn && any(2))
		dm_terminate(r.end.conn, any(2));
	kit_raw_release(&r);
	for (int i = 0; i < SLOTS; i++) {
		assert_false(u.slots[i].moving);
		free(u.slots[i].data);
	}
}

static void target_outlives_any_initiator(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 300; seed++)
		one_life(true, seed);
}

static void initiator_outlives_any_target(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 300; seed++)
		one_life(false, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target_outlives_any_initiator),
		cmocka_unit_test(initiator_outlives_any_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
