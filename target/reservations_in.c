/* PERSISTENT RESERVE IN (SPC-4 section 6.15). Called through opcodes.c. */
#include "common/base/bytes.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/reservations.h"
#include "target/worker.h"

enum {
	/* READ FULL STATUS of all registrants: 24 bytes each, a TransportID of 4, a name of up to
	 * 256. */
	FULL_STATUS_MAX = 8 + RESERVATION_REGISTRANTS_MAX * (24 + 4 + 256),
};
_Static_assert(FULL_STATUS_MAX <= WORKER_MEDIUM_BUFFER, "READ FULL STATUS fits in a buffer");

static void read_keys(const struct reservation *r, struct bytes_writer *w)
{
	uint64_t keys[RESERVATION_REGISTRANTS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		if (r->registrants[i].key)
			keys[count++] = r->registrants[i].key;
	reservation_keys_encode(r->generation, keys, count, w);
}

/* A reservation of all registrants has no key of its own. */
static void read_reservation(const struct reservation *r, struct bytes_writer *w)
{
	uint64_t key = r->holder ? r->holder->key : 0;

	reservation_holder_encode(r->generation, key, r->type, w);
}

static void report_capabilities(const struct reservation *r, struct bytes_writer *w)
{
	(void)r;
	reservation_capabilities_encode(w);
}

static void read_full_status(const struct reservation *r, struct bytes_writer *w)
{
	size_t begun = reservation_full_begin(r->generation, w);

	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++) {
		const struct registrant *g = &r->registrants[i];
		struct reservation_status s = {
			.key = g->key,
			.holder = reservation_is_holder(r, g),
			.type = r->type,
			.relative_port = 1,
			.initiator_port = g->initiator_port,
		};

		if (g->key)
			reservation_status_encode(&s, w);
	}
	reservation_full_end(begun, w);
}

void reservation_in(struct command *cmd)
{
	static void (*const actions[])(const struct reservation *r, struct bytes_writer *w) = {
		[RESERVATION_READ_KEYS] = read_keys,
		[RESERVATION_READ_RESERVATION] = read_reservation,
		[RESERVATION_REPORT_CAPABILITIES] = report_capabilities,
		[RESERVATION_READ_FULL_STATUS] = read_full_status,
	};
	struct device *d = cmd->nexus->device;
	struct bytes_writer w;

	if (!command_reply_buffer(cmd, WORKER_MEDIUM_BUFFER))
		return;
	w = bytes_writer(cmd->data, WORKER_MEDIUM_BUFFER);
	pthread_mutex_lock(&d->lock);
	actions[cmd->operation->service_action](d->reservation, &w);
	pthread_mutex_unlock(&d->lock);
	command_reply(cmd, (uint32_t)w.used, get_be16(cmd->cdb + 7));
}
