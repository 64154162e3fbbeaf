/* Settings of records, by table: reading, checking and printing values. The tables are in
 * settings_table.c. Names and defaults are open-iscsi's, limits are RFC 7143 section 13's. Called
 * by records.c, and by iserd for `-o update`. */
#include "initiator/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/base/suggest.h"
#include "common/base/utf8.h"
#include "common/iscsi/login.h"

static const char *const yes_no[] = {"No", "Yes", NULL};

void records_say(char why[RECORDS_WHY_SIZE], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, RECORDS_WHY_SIZE, format, arguments);
	va_end(arguments);
	log_tame(why);
}

/* ---- CHAP algorithms ---- */

static const struct {
	const char *name;
	uint8_t number;
} algorithms[] = {
	{"MD5", CHAP_MD5},
	{"SHA1", CHAP_SHA1},
	{"SHA256", CHAP_SHA256},
	{"SHA3-256", CHAP_SHA3_256},
};

static uint8_t algorithm_number(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++)
		if (strlen(algorithms[i].name) == length &&
			strncasecmp(algorithms[i].name, name, length) == 0)
			return algorithms[i].number;
	return 0;
}

int settings_parse_algorithms(const char *text, uint8_t ret[5])
{
	uint8_t list[5] = {0};
	size_t count = 0;

	while (*text) {
		size_t length = strcspn(text, ",");
		uint8_t number = algorithm_number(text, length);

		if (!number || count == 4 || memchr(list, number, count))
			return -EINVAL;
		list[count++] = number;
		text += length;
		if (*text == ',' && !*++text)
			return -EINVAL;
	}
	memcpy(ret, list, sizeof(list));
	return 0;
}

/* ---- names ---- */

static bool name_char_allowed(unsigned char c)
{
	return isalnum(c) || strchr("-.:_", c) || c >= 0x80;
}

int records_check_name(const char *name, char why[RECORDS_WHY_SIZE])
{
	size_t length = strlen(name);
	const char *at = name;

	if (strncmp(name, "iqn.", 4) && strncmp(name, "eui.", 4) && strncmp(name, "naa.", 4)) {
		records_say(why,
			"\"%.64s\" is not an iSCSI name; one begins with iqn., eui. or naa., such "
			"as "
			"iqn.2026-11.org.example:disk1",
			name);
		return -EINVAL;
	}
	while (*at && name_char_allowed((unsigned char)*at))
		at++;
	if (*at || length > ISCSI_NAME_MAX || length < 5 || !utf8_valid(name)) {
		records_say(why,
			"\"%.64s\" is not an iSCSI name; at most %d letters, digits and - . : are "
			"right",
			name, ISCSI_NAME_MAX);
		return -EINVAL;
	}
	return 0;
}

/* ---- from text ---- */

static int refuse(
	const struct setting *row, const char *value, const char *right, char why[RECORDS_WHY_SIZE])
{
	if (row->secret)
		records_say(why, "%s: the value cannot be used; %s", row->name, right);
	else
		records_say(why, "%s: \"%.80s\" cannot be used; %s", row->name, value, right);
	return -EINVAL;
}

static bool printable(const char *value)
{
	for (const char *at = value; *at; at++)
		if (iscntrl((unsigned char)*at))
			return false;
	return utf8_valid(value);
}

/* A value stands on one line, and blanks around it are not part of it. */
static int set_text(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	size_t length = strlen(value);
	char right[64];

	if (length >= row->size) {
		snprintf(right, sizeof(right), "at most %zu bytes would be right", row->size - 1);
		return refuse(row, value, right, why);
	}
	if (!printable(value) || (length && (isblank((unsigned char)value[0]) ||
						    isblank((unsigned char)value[length - 1]))))
		return refuse(row, value,
			"one line of text without blanks at its ends would be right", why);
	memset(field, 0, row->size);
	memcpy(field, value, length);
	return 0;
}

static int set_word(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	if (value[0] == '.' || strpbrk(value, "/, \t"))
		return refuse(row, value, "a word without / and , would be right", why);
	return set_text(row, field, value, why);
}

static int set_name(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	char reason[RECORDS_WHY_SIZE];

	if (*value && records_check_name(value, reason) < 0) {
		records_say(why, "%s: %.400s", row->name, reason);
		return -EINVAL;
	}
	return set_text(row, field, value, why);
}

static int set_algorithms(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	uint8_t list[5];

	if (settings_parse_algorithms(value, list) < 0)
		return refuse(row, value,
			"a list of MD5, SHA1, SHA256, SHA3-256, such as SHA3-256,SHA256, would be "
			"right",
			why);
	return set_text(row, field, value, why);
}

/* -EINVAL for text that is no number, -ERANGE for one outside the row's range. */
static int parse_number(
	const struct setting *row, const char *value, int64_t *ret, char why[RECORDS_WHY_SIZE])
{
	char right[96], *end;
	long long number;

	snprintf(right, sizeof(right), "a number from %" PRId64 " to %" PRId64 " would be right",
		row->min, row->max);
	errno = 0;
	number = strtoll(value, &end, 10);
	if (end == value || *end || errno || isspace((unsigned char)value[0]))
		return refuse(row, value, right, why);
	if (number < row->min || number > row->max) {
		refuse(row, value, right, why);
		return -ERANGE;
	}
	*ret = number;
	return 0;
}

static int set_uint(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	int64_t number;
	int r = parse_number(row, value, &number, why);

	if (r == 0)
		*(uint32_t *)field = (uint32_t)number;
	return r;
}

static int set_int(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	int64_t number;
	int r = parse_number(row, value, &number, why);

	if (r == 0)
		*(int32_t *)field = (int32_t)number;
	return r;
}

static int find_word(const struct setting *row, const char *const *words, const char *value,
	uint32_t *ret, char why[RECORDS_WHY_SIZE])
{
	char right[160] = "one of";
	size_t used = strlen(right);

	for (uint32_t i = 0; words[i]; i++) {
		if (strcasecmp(words[i], value) == 0) {
			*ret = i;
			return 0;
		}
		used += (size_t)snprintf(
			right + used, sizeof(right) - used, "%s %s", i ? " |" : "", words[i]);
	}
	snprintf(right + used, sizeof(right) - used, " would be right");
	return refuse(row, value, right, why);
}

static int set_bool(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	uint32_t index;
	int r = find_word(row, yes_no, value, &index, why);

	if (r == 0)
		*(bool *)field = index == 1;
	return r;
}

static int set_choice(
	const struct setting *row, void *field, const char *value, char why[RECORDS_WHY_SIZE])
{
	return find_word(row, row->words, value, field, why);
}

/* ---- to text ---- */

static void get_text(const struct setting *row, const void *field, char *out)
{
	snprintf(out, SETTING_VALUE_SIZE, "%.*s", (int)row->size, (const char *)field);
}

static void get_uint(const struct setting *row, const void *field, char *out)
{
	(void)row;
	snprintf(out, SETTING_VALUE_SIZE, "%u", *(const uint32_t *)field);
}

static void get_int(const struct setting *row, const void *field, char *out)
{
	(void)row;
	snprintf(out, SETTING_VALUE_SIZE, "%d", *(const int32_t *)field);
}

static void get_bool(const struct setting *row, const void *field, char *out)
{
	(void)row;
	snprintf(out, SETTING_VALUE_SIZE, "%s", yes_no[*(const bool *)field]);
}

static void get_choice(const struct setting *row, const void *field, char *out)
{
	snprintf(out, SETTING_VALUE_SIZE, "%s", row->words[*(const uint32_t *)field]);
}

static const struct {
	int (*set)(const struct setting *row, void *field, const char *value, char *why);
	void (*get)(const struct setting *row, const void *field, char *out);
} kinds[] = {
	[SETTING_TEXT] = {set_text, get_text},
	[SETTING_WORD] = {set_word, get_text},
	[SETTING_ISCSI_NAME] = {set_name, get_text},
	[SETTING_ALGORITHMS] = {set_algorithms, get_text},
	[SETTING_UINT] = {set_uint, get_uint},
	[SETTING_INT] = {set_int, get_int},
	[SETTING_BOOL] = {set_bool, get_bool},
	[SETTING_CHOICE] = {set_choice, get_choice},
};

int setting_set(
	const struct setting *row, void *record, const char *value, char why[RECORDS_WHY_SIZE])
{
	if (strcmp(value, "<empty>") == 0)
		value = "";
	return kinds[row->kind].set(row, (char *)record + row->offset, value, why);
}

void setting_get(const struct setting *row, const void *record, char out[SETTING_VALUE_SIZE])
{
	kinds[row->kind].get(row, (const char *)record + row->offset, out);
}

/* ---- tables ---- */

void settings_default(const struct settings_table *t, void *record)
{
	char why[RECORDS_WHY_SIZE];

	for (size_t i = 0; i < t->count; i++)
		setting_set(&t->rows[i], record, t->rows[i].initial, why);
}

const struct setting *settings_find(const struct settings_table *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	return NULL;
}

bool settings_passed_over(const struct settings_table *t, const char *name)
{
	for (const char *const *p = t->passed_over; *p; p++) {
		size_t length = strlen(*p);
		bool family = (*p)[length - 1] == '*';

		if (family ? strncmp(*p, name, length - 1) == 0 : strcmp(*p, name) == 0)
			return true;
	}
	return false;
}

int settings_set(const struct settings_table *t, void *record, const char *name, const char *value,
	char why[RECORDS_WHY_SIZE])
{
	const struct setting *row = settings_find(t, name);
	struct suggestion near = suggestion(name);

	if (row)
		return setting_set(row, record, value, why);
	for (size_t i = 0; i < t->count; i++)
		suggestion_consider(&near, t->rows[i].name);
	records_say(why, "\"%.80s\" is no setting of a %s%s%s%s", name, t->title,
		near.best ? "; " : "", near.best ? near.best : "",
		near.best ? " is probably meant" : "");
	return -ENOENT;
}
