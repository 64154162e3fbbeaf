/* The answer to SendTargets (RFC 7143 appendix C and section 13.8): TargetName and TargetAddress
 * pairs into a flat list. No I/O. Called by discovery.c and recovery.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/iscsi/keys.h"
#include "initiator/discovery.h"
#include "initiator/records.h"

/* A number of at most five digits, up to 65535; -1 for anything else. */
static long parse_u16(const char *text, size_t length)
{
	long value = 0;

	if (length == 0 || length > 5)
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value <= 65535 ? value : -1;
}

static bool host_char_allowed(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr(".-:%_", c));
}

static int copy_host(const char *host, size_t length, char ret_host[64])
{
	if (length == 0 || length >= 64 || host[0] == '-' || host[0] == '.')
		return -EINVAL;
	for (size_t i = 0; i < length; i++)
		if (!host_char_allowed(host[i]))
			return -EINVAL;
	memcpy(ret_host, host, length);
	ret_host[length] = 0;
	return 0;
}

/* What is behind the host: "[:port][,tpgt]". */
static int parse_rest(const char *rest, uint16_t *ret_port, uint16_t *ret_tpgt)
{
	long port = ADDRESS_DEFAULT_PORT, tpgt = 0;

	if (*rest == ':') {
		size_t digits = strcspn(++rest, ",");

		port = parse_u16(rest, digits);
		rest += digits;
	}
	if (*rest == ',') {
		rest++;
		tpgt = parse_u16(rest, strlen(rest));
		rest = "";
	}
	if (*rest || port <= 0 || tpgt < 0)
		return -EINVAL;
	*ret_port = (uint16_t)port;
	*ret_tpgt = (uint16_t)tpgt;
	return 0;
}

int discovery_parse_address(
	const char *text, char ret_host[64], uint16_t *ret_port, uint16_t *ret_tpgt)
{
	bool bracket = *text == '[';
	const char *start = text + bracket, *rest;
	size_t length = strcspn(start, bracket ? "]" : ":,");
	uint16_t port, tpgt;
	char host[64];

	rest = start + length;
	if (bracket && *rest++ != ']')
		return -EINVAL;
	if (copy_host(start, length, host) < 0 || parse_rest(rest, &port, &tpgt) < 0)
		return -EINVAL;
	memcpy(ret_host, host, sizeof(host));
	*ret_port = port;
	*ret_tpgt = tpgt;
	return 0;
}

struct parse {
	const struct discovery_entry *fallback;
	struct discovery_entry *entries;
	size_t max, count;
	bool truncated;
	char target[ISCSI_NAME_MAX + 1]; /* the last TargetName; empty: none yet */
	bool has_address;		 /* a TargetAddress came behind it */
};

static struct discovery_entry *parse_add(struct parse *p)
{
	struct discovery_entry *e;

	if (p->count == p->max) {
		p->truncated = true;
		return NULL;
	}
	e = &p->entries[p->count++];
	*e = *p->fallback;
	memcpy(e->target_name, p->target, sizeof(e->target_name));
	return e;
}

static void parse_target_end(struct parse *p)
{
	if (*p->target && !p->has_address)
		parse_add(p);
}

/* What is wrong with the pair, or NULL. A bad name hides the addresses behind it, too. */
static const char *parse_target(struct parse *p, const char *value)
{
	char why[RECORDS_WHY_SIZE];
	int r = records_check_name(value, why);

	parse_target_end(p);
	snprintf(p->target, sizeof(p->target), "%s", r < 0 ? "" : value);
	p->has_address = false;
	return r < 0 ? "a TargetName that is no iSCSI name" : NULL;
}

static const char *parse_address(struct parse *p, const char *value)
{
	struct discovery_entry *e, portal;

	if (!*p->target)
		return "a TargetAddress without a TargetName";
	memset(&portal, 0, sizeof(portal));
	p->has_address = true; /* a bad one does not mean "here" */
	if (discovery_parse_address(value, portal.address, &portal.port, &portal.tpgt) < 0)
		return "a TargetAddress that is no address";
	e = parse_add(p);
	if (e) {
		memcpy(e->address, portal.address, sizeof(e->address));
		e->port = portal.port;
		e->tpgt = portal.tpgt;
	}
	return NULL;
}

static const char *parse_pair(struct parse *p, const struct key_pair *pair)
{
	if (strcmp(pair->key, "TargetName") == 0)
		return parse_target(p, pair->value);
	if (strcmp(pair->key, "TargetAddress") == 0)
		return parse_address(p, pair->value);
	return NULL; /* TargetAlias and what others may add */
}

int discovery_parse(const char *text, size_t length, const struct discovery_entry *fallback,
	struct discovery_entry *entries, size_t max, size_t *ret_count, bool *ret_truncated,
	const char **ret_why)
{
	struct parse p = {.fallback = fallback, .entries = entries, .max = max};
	const char *wrong, *why = NULL;
	struct key_pair pair;
	size_t offset = 0;
	int r;

	while ((r = keys_next(text, length, &offset, &pair)) > 0) {
		wrong = parse_pair(&p, &pair);
		why = why ? why : wrong;
	}
	*ret_why = r < 0 ? "a text that is no list of key=value" : why;
	if (r < 0)
		return -EPROTO;
	parse_target_end(&p);
	*ret_count = p.count;
	*ret_truncated = p.truncated;
	return 0;
}
