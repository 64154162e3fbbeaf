/* Backends from the rows of the configuration: the one place that names the stores. Called by
 * target_set.c. */
#include "target/backend/stores.h"

#include <errno.h>

#include "target/daemon/daemon.h"

static struct file_config file_config(const struct config_lun *row)
{
	return (struct file_config){
		.path = row->path,
		.size = row->size,
		.block_size = (uint32_t)row->block_size,
		.direct = row->direct,
		.readonly = row->readonly,
		.write_cache = row->write_cache,
		.engine = (enum file_engine)row->engine,
		.threads = (unsigned)row->threads,
	};
}

static int open_file(const struct config_lun *row, struct backend **ret, char *why, size_t size)
{
	const struct file_config config = file_config(row);

	return file_backend_new(&config, ret, why, size);
}

static struct memory_config memory_config(const struct config_lun *row)
{
	return (struct memory_config){
		.size = row->size,
		.block_size = (uint32_t)row->block_size,
		.readonly = row->readonly,
	};
}

static int open_memory(const struct config_lun *row, struct backend **ret, char *why, size_t size)
{
	const struct memory_config config = memory_config(row);

	return memory_backend_new(&config, ret, why, size);
}

static int open_null(const struct config_lun *row, struct backend **ret, char *why, size_t size)
{
	const struct memory_config config = memory_config(row);

	return null_backend_new(&config, ret, why, size);
}

static target_open_backend *const stores[] = {
	[CONFIG_STORE_FILE] = open_file,
	[CONFIG_STORE_MEMORY] = open_memory,
	[CONFIG_STORE_NULL] = open_null,
};

static int stack_delay(const struct config_lun *row, struct backend **b, char *why, size_t size)
{
	const struct delay_config config = {
		.read_ns = row->delay->read,
		.write_ns = row->delay->write,
		.flush_ns = row->delay->flush,
	};

	return delay_backend_new(*b, &config, b, why, size);
}

static struct fault_rule fault_rule(const struct config_fault *row)
{
	return (struct fault_rule){
		.every_operation = row->operation == CONFIG_FAULT_ANY,
		.operation = row->operation == CONFIG_FAULT_ANY
				     ? BACKEND_READ
				     : (enum backend_operation)(row->operation - 1),
		.from = row->from,
		.to = row->to,
		.after = row->after,
		.count = row->count,
		.error = config_fault_errno(row->error),
	};
}

static int stack_fault(const struct config_lun *row, struct backend **b, char *why, size_t size)
{
	struct fault_config config = {.rule_count = row->faults.count};

	for (size_t i = 0; i < row->faults.count; i++)
		config.rules[i] = fault_rule(&config_item(row->faults, struct config_fault, i));
	return fault_backend_new(*b, &config, b, why, size);
}

int store_open(const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	struct backend *b;
	int err = stores[row->backend](row, &b, why, why_size);

	if (err == 0 && row->delay)
		err = stack_delay(row, &b, why, why_size);
	if (err == 0 && row->faults.count)
		err = stack_fault(row, &b, why, why_size);
	if (err == 0)
		*ret = b;
	return err;
}

int store_look(const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	struct file_config config;

	if (row->backend != CONFIG_STORE_FILE)
		return store_open(row, ret, why, why_size);
	config = file_config(row);
	config.look = true;
	return file_backend_new(&config, ret, why, why_size);
}
