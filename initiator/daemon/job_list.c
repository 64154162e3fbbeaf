/* `iseradm -m lun -o list`: what the scan has found. Called by job_run.c. */
#include "initiator/daemon/job.h"

static struct json_object *lun_json(const struct disk_info *i)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "lun", i->lun);
	put_number(o, "size", i->size);
	put_number(o, "block_size", i->block_size);
	put_number(o, "physical_block_size", i->physical_block_size);
	put_text(o, "vendor", i->vendor);
	put_text(o, "product", i->product);
	put_text(o, "revision", i->revision);
	put_text(o, "serial", i->serial);
	put_text(o, "wwid", i->wwid);
	put_bool(o, "readonly", i->readonly);
	put_bool(o, "write_cache", i->write_cache);
	put_bool(o, "fua", i->fua);
	put_number(o, "max_transfer", i->max_transfer);
	put_number(o, "max_discard", i->max_discard);
	put_number(o, "max_write_zeroes", i->max_write_zeroes);
	return o;
}

struct json_object *job_list_luns(const struct disk_info *luns, size_t count)
{
	struct json_object *result = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, lun_json(&luns[i]));
	json_object_object_add(result, "luns", list);
	return result;
}
