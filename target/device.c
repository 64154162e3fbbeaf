/* Logical units: see device.h. Made and freed by the target's configuration; the executors read
 * them. */
#include "target/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/loop/loop.h"
#include "target/modes.h"
#include "target/reservations.h"

/* A disk that fails does so thousands of times a second. */
#define FAILURES_QUIET_NS (10 * LOOP_NS_PER_S)

/* FNV-1a, 64 bits: the same name gives the same designator at every start, on every machine. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash;
}

static void copy_text(char *out, size_t size, const char *text, const char *otherwise)
{
	snprintf(out, size, "%s", text && *text ? text : otherwise);
}

static void device_name(
	struct device *d, const struct device_config *config, const char *target_name)
{
	uint64_t hash;

	copy_text(d->vendor, sizeof(d->vendor), config->vendor, "ISERAN");
	copy_text(d->product, sizeof(d->product), config->product, "ISERAN DISK");
	copy_text(d->revision, sizeof(d->revision), config->revision, "1");
	copy_text(d->target_name, sizeof(d->target_name), target_name, "");
	snprintf(d->designator, sizeof(d->designator), "%s,L,0x%04x", d->target_name, d->lun);
	hash = hash_text(d->designator);
	/* NAA 3h, locally assigned (SPC-4 section 7.8.6.6.3): 60 bits are ours to choose. */
	put_be64(d->naa, 3ull << 60 | hash >> 4);
	if (config->serial && *config->serial)
		snprintf(d->serial, sizeof(d->serial), "%s", config->serial);
	else
		snprintf(d->serial, sizeof(d->serial), "%016llx", (unsigned long long)hash);
}

static int check_geometry(const struct backend_info *info, uint32_t block_size)
{
	if (block_size != 512 && block_size != 4096)
		return -EINVAL;
	return info->size < block_size ? -EINVAL : 0;
}

static void device_init(
	struct device *d, const struct device_config *config, const struct backend_info *info)
{
	d->lun = config->lun;
	d->readonly = config->readonly || info->readonly;
	d->thin = config->thin && info->discard_granularity;
	d->rotational = config->rotational || info->rotational;
	/* A last piece that fills no block cannot be addressed. */
	atomic_init(&d->block_count, info->size / d->block_size);
	atomic_init(&d->write_cache, config->write_cache);
	atomic_init(&d->write_protected, false);
	atomic_init(&d->stopped, false);
	atomic_init(&d->reserved, false);
	atomic_init(&d->references, 1);
	range_lock_init(&d->ranges);
	pthread_mutex_init(&d->lock, NULL);
	list_init(&d->nexuses);
	d->next_nexus_id = 1;
}

int device_new(const struct device_config *config, const char *target_name, struct backend *backend,
	struct device **ret)
{
	uint32_t block_size = config->block_size ? config->block_size : backend->info.block_size;
	struct device *d;

	if (config->lun >= DEVICE_LUNS_MAX || check_geometry(&backend->info, block_size)) {
		backend_free(backend);
		return -EINVAL;
	}
	/* The stripes of the range lock have a cache line each. */
	d = alloc_aligned(64, sizeof(*d));
	if (!d) {
		backend_free(backend);
		return -ENOMEM;
	}
	d->backend = backend;
	d->block_size = block_size;
	device_init(d, config, &backend->info);
	device_name(d, config, target_name);
	d->reservation = reservation_new();
	d->modes = modes_new(d);
	if (!d->reservation || !d->modes) {
		device_free(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

/* How many failures the next line is to tell of; 0: it is too early for one. */
static uint64_t failures_to_tell(struct device *d, uint64_t now_ns)
{
	uint64_t count = 0;

	pthread_mutex_lock(&d->lock);
	d->failures++;
	if (!d->told_ns || now_ns - d->told_ns >= FAILURES_QUIET_NS) {
		count = d->failures - d->failures_told;
		d->failures_told = d->failures;
		d->told_ns = now_ns;
	}
	pthread_mutex_unlock(&d->lock);
	return count;
}

void device_store_failed(struct device *d, const char *command, int error, uint64_t now_ns)
{
	uint64_t count = failures_to_tell(d, now_ns);

	if (count == 1)
		log_warning("device", "%s, LUN %u: %s failed in the backend: %s", d->target_name,
			d->lun, command, strerrordesc_np(error));
	else if (count)
		log_warning("device",
			"%s, LUN %u: %s failed in the backend: %s; %llu failures since the last "
			"line",
			d->target_name, d->lun, command, strerrordesc_np(error),
			(unsigned long long)count);
}

void device_hold(struct device *d)
{
	atomic_fetch_add(&d->references, 1);
}

void device_release(struct device *d)
{
	if (atomic_fetch_sub(&d->references, 1) != 1)
		return;
	modes_free(d->modes);
	reservation_free(d->reservation);
	pthread_mutex_destroy(&d->lock);
	range_lock_destroy(&d->ranges);
	backend_free(d->backend);
	alloc_free(d);
}

void device_free(struct device *d)
{
	if (d)
		device_release(d);
}

void device_attention(struct device *d, const struct nexus *except, uint16_t code)
{
	struct nexus *n;

	pthread_mutex_lock(&d->lock);
	list_for_each(n, &d->nexuses, device_link)
		if (n != except)
			nexus_attention_post(n, code);
	pthread_mutex_unlock(&d->lock);
}
