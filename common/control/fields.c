/* Fields of the daemons' answers, see fields.h. */
#include "common/control/fields.h"

#include "common/base/bytes.h"

struct json_object *field_object(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(o, key, &value) ? value : NULL;
}

const char *field_text(struct json_object *o, const char *key)
{
	struct json_object *value = field_object(o, key);

	return value ? json_object_get_string(value) : "";
}

uint64_t field_number(struct json_object *o, const char *key)
{
	return (uint64_t)json_object_get_int64(field_object(o, key));
}

double field_double(struct json_object *o, const char *key)
{
	return json_object_get_double(field_object(o, key));
}

bool field_flag(struct json_object *o, const char *key)
{
	return json_object_get_boolean(field_object(o, key));
}

size_t field_count(struct json_object *o, const char *key)
{
	struct json_object *list = field_object(o, key);

	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

struct json_object *field_item(struct json_object *o, const char *key, size_t i)
{
	return i < field_count(o, key) ? json_object_array_get_idx(field_object(o, key), i) : NULL;
}

char *bytes_text(uint64_t bytes, char out[32])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit < ARRAY_SIZE(units) - 1; unit++)
		value /= 1024;
	snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return out;
}

void reply_print(struct json_object *reply, FILE *out)
{
	json_object_object_del(reply, "ok");
	fputs(json_object_to_json_string_ext(
		      reply, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE),
		out);
	fputc('\n', out);
}
