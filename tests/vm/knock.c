/* A peer that does no more than to connect over RDMA: what a listener answers to requests that none
 * of the real initiators sends, and many of them in a row. For the guest; see job/churn.sh.
 *   knock [-n COUNT] [-r READS] [-p HEX] [-a] ADDRESS PORT
 * -n  so many connections, one after another (1)
 * -r  RDMA Reads that this end says it serves, responder_resources (16)
 * -p  private data of the request, in hexadecimal digits (none)
 * -a  leaves without a disconnect: the queue pair is only destroyed
 * Prints what the last one came to: "accepted", or "rejected, reason N", and the private data of
 * the answer. Ends with 0 when all came to the same. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

struct wish {
	unsigned long count, reads;
	uint8_t pd[56];
	size_t pd_length;
	bool abrupt;
};

static size_t hex_take(const char *text, uint8_t *out, size_t size)
{
	size_t n = 0;

	while (n < size && sscanf(text + 2 * n, "%2hhx", &out[n]) == 1)
		n++;
	return n;
}

static int address_resolve(struct rdma_cm_id *id, const char *host, const char *port)
{
	const struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP};
	struct rdma_addrinfo *found;
	int err;

	if (rdma_getaddrinfo(host, port, &hints, &found))
		return errno;
	err = rdma_resolve_addr(id, NULL, found->ai_dst_addr, 5000) ? errno : 0;
	rdma_freeaddrinfo(found);
	return err;
}

static int request_send(struct rdma_cm_id *id, const struct wish *w)
{
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct rdma_conn_param param = {
		.responder_resources = (uint8_t)w->reads,
		.retry_count = 7,
		.rnr_retry_count = 6,
		.private_data = w->pd,
		.private_data_len = (uint8_t)w->pd_length,
	};

	if (rdma_resolve_route(id, 5000) || rdma_create_qp(id, NULL, &qp))
		return errno;
	return rdma_connect(id, &param) ? errno : 0;
}

static void answer_print(const struct rdma_cm_id *id, char *out, size_t size)
{
	const struct rdma_cm_event *e = id->event;
	const uint8_t *pd = e->param.conn.private_data;
	int n = e->event == RDMA_CM_EVENT_REJECTED
			? snprintf(out, size, "rejected, reason %d", e->status)
			: snprintf(out, size, "%s",
				  e->status ? rdma_event_str(e->event) : "accepted");

	if (pd)
		n += snprintf(out + n, size - (size_t)n, ", private data ");
	for (size_t i = 0; pd && i < 4 && i < e->param.conn.private_data_len; i++)
		n += snprintf(out + n, size - (size_t)n, "%02x", pd[i]);
}

/* What came of it, in `out`. */
static void knock(const struct wish *w, const char *host, const char *port, char *out, size_t size)
{
	struct rdma_cm_id *id;
	int err;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		snprintf(out, size, "no RDMA_CM: %s", strerror(errno));
		return;
	}
	err = address_resolve(id, host, port);
	if (!err)
		err = request_send(id, w);
	if (err && (!id->event || id->event->event != RDMA_CM_EVENT_REJECTED))
		snprintf(out, size, "%s", strerror(err));
	else
		answer_print(id, out, size);
	if (!err && !w->abrupt)
		rdma_disconnect(id);
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

int main(int argc, char **argv)
{
	struct wish w = {.count = 1, .reads = 16};
	char last[256] = "", now[256];
	int option, differ = 0;

	while ((option = getopt(argc, argv, "n:r:p:a")) != -1) {
		switch (option) {
		case 'n':
			w.count = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			w.reads = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			w.pd_length = hex_take(optarg, w.pd, sizeof(w.pd));
			break;
		case 'a':
			w.abrupt = true;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind != 2)
		return 2;
	for (unsigned long i = 0; i < w.count; i++) {
		knock(&w, argv[optind], argv[optind + 1], now, sizeof(now));
		if (i && strcmp(now, last)) {
			printf("number %lu: ", i + 1);
			differ = 1;
			break;
		}
		memcpy(last, now, sizeof(last));
	}
	printf("%s\n", now);
	return differ;
}
