/* Fields of the daemons' answers, for the tools: what is missing reads as "", 0, false or an empty
 * list, so that a tool shows what there is. Called by isertadm and iseradm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

struct json_object *field_object(struct json_object *o, const char *key); /* NULL: none */
const char *field_text(struct json_object *o, const char *key);
uint64_t field_number(struct json_object *o, const char *key);
double field_double(struct json_object *o, const char *key);
bool field_flag(struct json_object *o, const char *key);
size_t field_count(struct json_object *o, const char *key);
struct json_object *field_item(struct json_object *o, const char *key, size_t i);

/* "1.5 GiB" into out; returns out. */
char *bytes_text(uint64_t bytes, char out[32]);
/* The answer without its "ok", for people and for jq. */
void reply_print(struct json_object *reply, FILE *out);
