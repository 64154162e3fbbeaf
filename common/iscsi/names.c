/* iSCSI names: RFC 7143 sections 4.2.7.1-4.2.7.6, RFC 3722. Called by the target's configuration
 * and by iseradm. */
#include "common/iscsi/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/utf8.h"
#include "common/iscsi/keys.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static const char *check_iqn_characters(const char *name)
{
	for (; *name; name++) {
		if (*name >= 'A' && *name <= 'Z')
			return "capital letters are not allowed in an iqn. name: write it in lower "
			       "case";
		if (*name == '_')
			return "'_' is not allowed in an iqn. name: use '-', '.' or ':'";
		/* Bytes of UTF-8 above ASCII are stringprep's matter (RFC 3722), not ours. */
		if (!((unsigned char)*name >= 0x80 || is_digit(*name) || strchr("-.:", *name) ||
			    (*name >= 'a' && *name <= 'z')))
			return "an iqn. name has only letters, digits, '-', '.' and ':'";
	}
	return NULL;
}

/* iqn.yyyy-mm.reversed-domain[:whatever] (section 4.2.7.4). */
static const char *check_iqn(const char *rest)
{
	static const char form[] = "0000-00.";
	int month;

	for (size_t i = 0; form[i]; i++)
		if (form[i] == '0' ? !is_digit(rest[i]) : rest[i] != form[i])
			return "an iqn. name begins with a year and a month, as in "
			       "iqn.2026-01.org.example:disk1";
	month = (rest[5] - '0') * 10 + rest[6] - '0';
	if (month < 1 || month > 12)
		return "the month in an iqn. name is 01 to 12, as in iqn.2026-01.org.example:disk1";
	rest += sizeof(form) - 1;
	if (!*rest || *rest == ':' || *rest == '.')
		return "a domain, reversed, is missing behind the date, as in "
		       "iqn.2026-01.org.example:disk1";
	return check_iqn_characters(rest);
}

static const char *check_digits(const char *rest, size_t one, size_t other, const char *why)
{
	size_t n = 0;

	while (is_hex(rest[n]))
		n++;
	return !rest[n] && (n == one || n == other) ? NULL : why;
}

/* 16 hexadecimal digits (section 4.2.7.5). */
static const char *check_eui(const char *rest)
{
	return check_digits(rest, 16, 16, "an eui. name has 16 hexadecimal digits");
}

/* 16 or 32 hexadecimal digits (section 4.2.7.6). */
static const char *check_naa(const char *rest)
{
	return check_digits(rest, 16, 32, "a naa. name has 16 or 32 hexadecimal digits");
}

static const struct name_form {
	char prefix[5];
	const char *(*check)(const char *rest);
} name_forms[] = {
	{"iqn.", check_iqn},
	{"eui.", check_eui},
	{"naa.", check_naa},
};

static const char *check(const char *name)
{
	if (strlen(name) > ISCSI_NAME_MAX)
		return "a name has at most 223 bytes";
	if (!utf8_valid(name))
		return "it is not UTF-8";
	for (size_t i = 0; i < ARRAY_SIZE(name_forms); i++)
		if (!strncmp(name, name_forms[i].prefix, 4))
			return name_forms[i].check(name + 4);
	return "a name begins with iqn., eui. or naa., as in iqn.2026-01.org.example:disk1";
}

int iscsi_name_check(const char *name, const char **why)
{
	const char *wrong = check(name);

	if (!wrong)
		return 0;
	*why = wrong;
	return -EINVAL;
}

void iscsi_name_lower(char *name)
{
	for (; *name; name++)
		if (*name >= 'A' && *name <= 'Z')
			*name = (char)(*name - 'A' + 'a');
}
