/* The memory store: one anonymous mapping, from which the movers may send without a copy. Made by
 * the daemon's main(); its requests come from the SCSI device server. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "target/backend/ram.h"
#include "target/backend/stores.h"

#define HUGE_PAGE (2u * 1024 * 1024)
#define PAGE 4096u

struct memory_backend {
	struct backend backend;
	uint8_t *content;
	size_t mapped;
	/* A device keeps the pages (see pin() in backend.h). All of them are there then, so writing
	 * zeros allocates nothing. */
	atomic_bool pinned;
};

static struct memory_backend *memory_of(struct backend *b)
{
	return container_of(b, struct memory_backend, backend);
}

/* Zeros in [at, at + length): whole pages go back to the kernel, the ragged ends are written. */
static void memory_zero(struct memory_backend *m, uint64_t at, uint64_t length)
{
	uint64_t end = at + length, first = round_up(at, PAGE), last = end / PAGE * PAGE;

	if (atomic_load_explicit(&m->pinned, memory_order_relaxed) || first >= last ||
		madvise(m->content + first, last - first, MADV_DONTNEED) < 0) {
		memset(m->content + at, 0, length);
		return;
	}
	memset(m->content + at, 0, first - at);
	memset(m->content + last, 0, end - last);
}

static int memory_execute(struct memory_backend *m, struct backend_request *r)
{
	uint8_t *at = m->content + r->offset;

	if (r->operation != BACKEND_READ && r->operation != BACKEND_FLUSH &&
		m->backend.info.readonly)
		return -EROFS;
	switch (r->operation) {
	case BACKEND_READ:
		if (r->data != at)
			memcpy(r->data, at, r->length);
		return 0;
	case BACKEND_WRITE:
		if (r->data != at)
			memcpy(at, r->data, r->length);
		return 0;
	case BACKEND_FLUSH:
		return 0;
	case BACKEND_DISCARD:
	case BACKEND_WRITE_ZEROES:
		memory_zero(m, r->offset, r->length);
		return 0;
	}
	return -EINVAL;
}

static void memory_submit(struct backend_channel *channel, struct backend_request *r)
{
	ram_complete(channel, r, memory_execute(memory_of(channel->backend), r));
}

static void *memory_map(struct backend *b, uint64_t offset, uint64_t length)
{
	(void)length;
	return memory_of(b)->content + offset;
}

static void *memory_memory(struct backend *b, size_t *ret_length)
{
	*ret_length = memory_of(b)->mapped;
	return memory_of(b)->content;
}

static void memory_pin(struct backend *b)
{
	atomic_store(&memory_of(b)->pinned, true);
}

static void memory_free(struct backend *b)
{
	struct memory_backend *m = memory_of(b);

	if (m->content)
		munmap(m->content, m->mapped);
	alloc_free(m);
}

static const struct backend_ops memory_ops = {
	.name = "memory",
	.free = memory_free,
	.open_channel = ram_open_channel,
	.close_channel = ram_close_channel,
	.submit = memory_submit,
	.map = memory_map,
	.memory = memory_memory,
	.pin = memory_pin,
};

static int memory_reserve(struct memory_backend *m)
{
	void *p;

	m->mapped = round_up(m->backend.info.size, HUGE_PAGE);
	p = sys_mmap(NULL, m->mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	m->content = p;
	/* Only a hint: without huge pages it is merely slower. */
	madvise(p, m->mapped, MADV_HUGEPAGE);
	return 0;
}

int memory_backend_new(
	const struct memory_config *config, struct backend **ret, char *why, size_t why_size)
{
	struct memory_backend *m = NULL;
	int rc = ram_config_check(config, "memory", why, why_size);

	if (rc < 0)
		return rc;
	m = alloc_zeroed(sizeof(*m));
	if (!m)
		goto no_memory;
	m->backend.ops = &memory_ops;
	ram_info_set(&m->backend.info, config);
	if (memory_reserve(m) < 0)
		goto no_memory;
	*ret = &m->backend;
	return 0;
no_memory:
	if (m)
		memory_free(&m->backend);
	snprintf(why, why_size, "memory: there is no room for %llu bytes; choose a smaller size",
		(unsigned long long)config->size);
	return -ENOMEM;
}
