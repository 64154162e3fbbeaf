/* JSON lines over a byte stream; called by the server and the client of the control socket. */
#include "common/control/lines.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/control/control.h"

#define SIZE_AT_FIRST 4096
/* No request or answer nests deeper than a list of records of lists; the parser recurses. */
#define NESTING_MAX 32

void lines_free(struct lines *l)
{
	alloc_free(l->data);
	*l = (struct lines){0};
}

int lines_append(struct lines *l, const void *data, size_t length, size_t limit)
{
	size_t size = l->size ? l->size : SIZE_AT_FIRST;
	char *grown;

	if (length > limit || l->used > limit - length)
		return -EMSGSIZE;
	while (size < l->used + length)
		size *= 2;
	if (size != l->size) {
		grown = alloc_resize(l->data, size);
		if (!grown)
			return -ENOMEM;
		l->data = grown;
		l->size = size;
	}
	memcpy(l->data + l->used, data, length);
	l->used += length;
	return 0;
}

void lines_consume(struct lines *l, size_t length)
{
	memmove(l->data, l->data + length, l->used - length);
	l->used -= length;
	l->searched = 0;
}

static int lines_parse(const char *text, size_t length, struct json_object **ret)
{
	struct json_tokener *tokener = json_tokener_new_ex(NESTING_MAX);
	struct json_object *json;
	bool whole;

	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	json = json_tokener_parse_ex(tokener, text, (int)length);
	whole = json_tokener_get_error(tokener) == json_tokener_success &&
		json_tokener_get_parse_end(tokener) == length;
	json_tokener_free(tokener);
	if (!whole || !json_object_is_type(json, json_type_object)) {
		json_object_put(json);
		return -EPROTO;
	}
	*ret = json;
	return 1;
}

int lines_take(struct lines *l, struct json_object **ret)
{
	char *end = l->used > l->searched
			    ? memchr(l->data + l->searched, '\n', l->used - l->searched)
			    : NULL;
	size_t length = end ? (size_t)(end - l->data) : l->used;
	int rc;

	if (length >= CONTROL_LINE_MAX)
		return -EMSGSIZE;
	if (!end) {
		l->searched = l->used;
		return 0;
	}
	rc = lines_parse(l->data, length, ret);
	lines_consume(l, length + 1);
	return rc;
}

const char *lines_print(struct json_object *json, size_t *ret_length)
{
	const char *text = json_object_to_json_string_length(
		json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, ret_length);

	return text;
}

bool lines_put(struct json_object *json, const char *key, struct json_object *value)
{
	if (!value)
		return false;
	if (json_object_object_add(json, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

int control_address(const char *path, struct sockaddr_un *ret)
{
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, path, length + 1);
	return 0;
}
