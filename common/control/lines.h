/* JSON lines, for both ends of the control socket: a bounded buffer that bytes go into and objects
 * come out of. Private to this room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include <json-c/json.h>

struct lines {
	char *data;
	size_t used, size;
	size_t searched; /* data[0..searched) holds no newline */
};

void lines_free(struct lines *l); /* what it holds; `l` may be used again */
/* Appends. -ENOMEM, or -EMSGSIZE when it would hold more than `limit`. */
int lines_append(struct lines *l, const void *data, size_t length, size_t limit);
/* Drops the first `length` bytes. */
void lines_consume(struct lines *l, size_t length);
/* Takes the first whole line out. 1: *ret is its object (the caller's). 0: no whole line yet.
 * -EPROTO: it is not a JSON object. -EMSGSIZE: it is longer than CONTROL_LINE_MAX. */
int lines_take(struct lines *l, struct json_object **ret);

/* The text of `json` without a newline, for as long as `json` lives; NULL without memory. */
const char *lines_print(struct json_object *json, size_t *ret_length);
/* Adds a string, a number or a truth value; false without memory. */
bool lines_put(struct json_object *json, const char *key, struct json_object *value);

/* -ENAMETOOLONG, or 0. */
int control_address(const char *path, struct sockaddr_un *ret);
