/* A configuration without a file: --portal, --target and --lun become the text of one, so that it
 * is read, checked and complained about in the same way. Called by main.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "target/daemon/daemon.h"

static const char name[] = "command line";

bool quick_wanted(const struct daemon_options *o)
{
	return o->portals.count || o->targets.count || o->luns.count;
}

struct lun_words {
	unsigned long lun;
	const char *kind;
	size_t kind_length;
	const char *what;
};

static bool is_kind(const char *text, size_t length)
{
	static const char *const kinds[] = {"file", "memory", "null"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i]) == length && !strncmp(kinds[i], text, length))
			return true;
	return false;
}

/* "[N=]KIND=WHAT", with ':' also taken for the second '='. */
static int split_lun(const char *text, unsigned long next, struct lun_words *ret)
{
	char *end;

	ret->lun = next;
	if (isdigit((unsigned char)*text)) {
		ret->lun = strtoul(text, &end, 10);
		if (*end != '=')
			return -EINVAL;
		text = end + 1;
	}
	ret->kind = text;
	ret->kind_length = strcspn(text, "=:");
	if (!text[ret->kind_length] || !is_kind(text, ret->kind_length))
		return -EINVAL;
	ret->what = text + ret->kind_length + 1;
	return 0;
}

/* A double-quoted YAML scalar. A control character goes as its code: line ends would be folded, and
 * others are no YAML. */
static void put_quoted(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text)) {
			fprintf(f, "\\x%02x", (unsigned char)*text);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void put_lun(FILE *f, const struct lun_words *w)
{
	bool file = w->kind_length == 4 && !strncmp(w->kind, "file", 4);

	fprintf(f, "  - {lun: %lu, backend: \"%.*s\", %s: ", w->lun, (int)w->kind_length, w->kind,
		file ? "path" : "size");
	put_quoted(f, w->what);
	fputs("}\n", f);
}

static int put_luns(FILE *f, const struct option_list *luns, struct config_report *report)
{
	struct lun_words w = {0};
	unsigned long next = 0;

	for (size_t i = 0; i < luns->count; i++) {
		if (split_lun(luns->values[i], next, &w) < 0) {
			config_report_add(report, false, name, 0,
				"--lun: \"%s\" is not right; file=PATH, memory=SIZE or null=SIZE "
				"would be, or N=file=PATH",
				luns->values[i]);
			return -EINVAL;
		}
		put_lun(f, &w);
		next = w.lun + 1;
	}
	return 0;
}

static int put_config(FILE *f, const struct daemon_options *o, struct config_report *report)
{
	fprintf(f, "loops: %lu\n", o->loops);
	if (o->portals.count)
		fputs("portals:\n", f);
	for (size_t i = 0; i < o->portals.count; i++) {
		fputs("- ", f);
		put_quoted(f, o->portals.values[i]);
		fputc('\n', f);
	}
	fputs("targets:\n- name: ", f);
	put_quoted(f, o->targets.values[0]);
	fputs("\n  luns:\n", f);
	return put_luns(f, &o->luns, report);
}

static int complain(struct config_report *report, const char *what)
{
	config_report_add(report, false, name, 0, "%s", what);
	return -EINVAL;
}

int quick_config(const struct daemon_options *o, struct config_report *report, struct config **ret)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f;
	int err;

	if (o->targets.count != 1)
		return complain(report,
			o->targets.count ? "--target: one target can be given here; more need "
					   "a file (--config)"
					 : "--target is missing; name the target, such as "
					   "iqn.2026-01.org.example:disk");
	if (!o->luns.count)
		return complain(report, "--lun is missing; file=PATH, memory=SIZE or null=SIZE");
	f = open_memstream(&text, &length);
	if (!f)
		return -ENOMEM;
	err = put_config(f, o, report);
	if (fclose(f) && err == 0)
		err = -ENOMEM;
	if (err == 0)
		err = config_parse(name, NULL, text, length, report, ret);
	(free)(text); /* open_memstream()'s own */
	return err;
}
