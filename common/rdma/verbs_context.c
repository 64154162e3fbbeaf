/* The RDMA devices that this process has opened. librdmacm opens one for the first id that is bound
 * to it, and closes it when no id is left and the device has gone, whoever still uses it: a list of
 * devices is what counts as an id, so each that we know is in one of ours. The kernel, though, does
 * not finish the removal of a device (`rdma link delete`, a driver's unload) before the last
 * process has closed it, and not every device says that it is leaving. So: what has been opened is
 * remembered here, looked for in sysfs once a second by whoever has a timer, and once it has gone
 * and no loop uses it any more, its descriptors are given back behind librdmacm's back.
 *
 * Shared by all loops, under a mutex; nothing of the data path comes here. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

#define CONTEXTS_MAX 64

static struct {
	pthread_mutex_t lock;
	struct {
		struct ibv_context *context; /* NULL: free */
		struct ibv_context **pin;    /* as rdma_get_devices() would give it, alone */
		unsigned users;
		bool gone;
	} rows[CONTEXTS_MAX];
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t row_find(const struct ibv_context *context)
{
	size_t i = 0;

	while (i < CONTEXTS_MAX && contexts.rows[i].context != context)
		i++;
	return i;
}

/* A list of librdmacm's with that device alone; NULL where it has gone already, or without memory.
 */
static struct ibv_context **pin_make(struct ibv_context *context)
{
	struct ibv_context *alone[2] = {context, NULL};
	struct ibv_context **all = rdma_get_devices(NULL), **pin;
	size_t at = 0, count = 0;

	if (!all)
		return NULL;
	while (all[count])
		count++;
	while (at < count && all[at] != context)
		at++;
	pin = at < count ? alloc_given_away(sizeof(alone)) : NULL;
	if (pin) {
		memcpy(pin, alone, sizeof(alone));
		all[at] = all[count - 1];
		all[count - 1] = NULL;
	}
	rdma_free_devices(all);
	return pin;
}

void verbs_context_hold(struct ibv_context *context)
{
	size_t i;

	pthread_mutex_lock(&contexts.lock);
	i = row_find(context);
	if (i == CONTEXTS_MAX)
		i = row_find(NULL);
	if (i < CONTEXTS_MAX) { /* else it is not looked after: its removal waits for our end */
		if (contexts.rows[i].context != context) {
			contexts.rows[i].gone = false;
			contexts.rows[i].pin = pin_make(context);
		}
		contexts.rows[i].context = context;
		contexts.rows[i].users++;
	}
	pthread_mutex_unlock(&contexts.lock);
}

void verbs_context_put(struct ibv_context *context)
{
	size_t i;

	pthread_mutex_lock(&contexts.lock);
	i = row_find(context);
	if (i < CONTEXTS_MAX)
		contexts.rows[i].users--;
	pthread_mutex_unlock(&contexts.lock);
}

void verbs_context_lost(struct ibv_context *context)
{
	size_t i;

	pthread_mutex_lock(&contexts.lock);
	i = row_find(context);
	if (i < CONTEXTS_MAX)
		contexts.rows[i].gone = true;
	pthread_mutex_unlock(&contexts.lock);
}

/* The device of uverbs goes first; that of the RDMA device itself stays until all have closed it.
 */
bool verbs_context_is_gone(const struct ibv_context *context)
{
	return access(context->device->dev_path, F_OK) < 0 && errno == ENOENT;
}

/* librdmacm still holds the context, and will close these numbers one day: until then they name
 * nothing. */
static void descriptors_give_back(const struct ibv_context *context)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0)
		return;
	dup3(nothing, context->async_fd, O_CLOEXEC);
	dup3(nothing, context->cmd_fd, O_CLOEXEC);
	close(nothing);
}

void verbs_contexts_sweep(void)
{
	struct ibv_context **known;
	bool any = false;

	pthread_mutex_lock(&contexts.lock);
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		struct ibv_context *context = contexts.rows[i].context;

		if (!context || contexts.rows[i].users ||
			!(contexts.rows[i].gone || verbs_context_is_gone(context)))
			continue;
		log_info("verbs", "%s is released", ibv_get_device_name(context->device));
		descriptors_give_back(context);
		contexts.rows[i].context = NULL;
		if (contexts.rows[i].pin)
			rdma_free_devices(contexts.rows[i].pin);
		any = true;
	}
	pthread_mutex_unlock(&contexts.lock);
	if (!any)
		return;
	/* Makes librdmacm compare its list with the kernel's, and forget what is gone. It opens
	 * what is new, which is looked after from then on. */
	known = rdma_get_devices(NULL);
	for (size_t i = 0; known && known[i]; i++) {
		verbs_context_hold(known[i]);
		verbs_context_put(known[i]);
	}
	if (known)
		rdma_free_devices(known);
}
