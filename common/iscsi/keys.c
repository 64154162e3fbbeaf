/* Text of key=value pairs and the values in it (RFC 7143 section 6.1). Called by login.c, by the
 * negotiation of key_table.c and by the Text phase of both ends. */
#include "common/iscsi/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/bytes.h"

int keys_next(const char *text, size_t length, size_t *offset, struct key_pair *ret)
{
	const char *pair, *end, *equals;

	while (*offset < length && text[*offset] == '\0')
		++*offset;
	if (*offset == length)
		return 0;
	pair = text + *offset;
	end = memchr(pair, '\0', length - *offset);
	if (!end)
		return -EPROTO;
	equals = memchr(pair, '=', (size_t)(end - pair));
	if (!equals || equals == pair || equals - pair > ISCSI_KEY_NAME_MAX)
		return -EPROTO;
	memcpy(ret->key, pair, (size_t)(equals - pair));
	ret->key[equals - pair] = '\0';
	ret->value = equals + 1;
	*offset = (size_t)(end + 1 - text);
	return 1;
}

int keys_put(struct bytes_writer *w, const char *key, const char *value)
{
	size_t name = strlen(key), text = strlen(value);
	uint8_t *p;

	if (name + text + 2 > w->size - w->used)
		return -ENOSPC;
	p = bytes_reserve(w, name + text + 2);
	/* '=' follows. NOLINTNEXTLINE(bugprone-not-null-terminated-result): no string ends here */
	memcpy(p, key, name);
	p[name] = '=';
	memcpy(p + name + 1, value, text + 1);
	return 0;
}

int keys_put_number(struct bytes_writer *w, const char *key, uint32_t value)
{
	char text[11];

	snprintf(text, sizeof(text), "%u", value);
	return keys_put(w, key, text);
}

static int digit_value(char c, unsigned base)
{
	int v = c >= '0' && c <= '9'   ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;

	return v < (int)base ? v : -1;
}

int keys_number(const char *text, uint32_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned base = hex ? 16 : 10;
	uint64_t value = 0;

	if (hex)
		text += 2;
	if (!*text)
		return -EPROTO;
	for (; *text; text++) {
		int v = digit_value(*text, base);

		if (v < 0)
			return -EPROTO;
		value = value * base + (unsigned)v;
		if (value > UINT32_MAX)
			return -ERANGE;
	}
	*ret = (uint32_t)value;
	return 0;
}

int keys_list_next(const char *list, size_t *offset, char *ret, size_t size)
{
	const char *entry = list + *offset;
	size_t length;

	/* The step behind the last entry went over its NUL: nothing is to be read there. */
	if (*offset && entry[-1] == '\0')
		return 0;
	length = strcspn(entry, ",");
	if (length == 0 || length >= size)
		return -EPROTO;
	memcpy(ret, entry, length);
	ret[length] = '\0';
	*offset += length + 1;
	return 1;
}
