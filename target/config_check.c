/* What a single row of the schema cannot say: names, secrets, and keys that depend on each other.
 * Called by config_read.c through the schemas, after the rows of a section are read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/bytes.h"
#include "common/iscsi/login.h"
#include "common/iscsi/names.h"
#include "target/config_schema.h"

/* RFC 7143 section 9.2.1: a secret of less than 96 bits should not be used. */
#define SECRET_LENGTH_MIN 12

void config_check_portal(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	const struct config_word *portal = section;
	const char *colon = portal->word ? strrchr(portal->word, ':') : NULL;
	unsigned long port;
	char *end;

	if (!colon || strchr(colon, ']') ||
		(strchr(portal->word, ':') != colon && *portal->word != '['))
		return; /* no port: an IPv6 address, or a host alone */
	port = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || *end || port > 65535)
		config_complain(r, mapping, "",
			"\"%s\" has no port from 0 to 65535 behind the colon", portal->word);
}

/* ---- secrets ---- */

static void check_secret_mode(
	struct config_reader *r, yaml_node_t *mapping, FILE *file, const char *path)
{
	struct stat st;

	if (fstat(fileno(file), &st) == 0 && (st.st_mode & S_IROTH))
		config_warn(r, mapping, "secret_file",
			"everyone may read %s; chmod 600 would be right", path);
}

/* The first line of the file, without its end. */
static const char *read_secret(struct config_reader *r, yaml_node_t *mapping, const char *path)
{
	char line[LOGIN_CHAP_SECRET_MAX + 2] = "";
	const char *secret;
	FILE *file = fopen(path, "re");

	if (!file) {
		config_complain(
			r, mapping, "secret_file", "cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	check_secret_mode(r, mapping, file, path);
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	secret = config_take_string(r, line, strcspn(line, "\r\n"));
	explicit_bzero(line, sizeof(line));
	return secret;
}

static void check_secret_length(struct config_reader *r, yaml_node_t *mapping, const char *secret)
{
	const char *key = config_has(r, mapping, "secret") ? "secret" : "secret_file";
	size_t length = strlen(secret);

	if (!length)
		config_complain(r, mapping, key, "the secret is empty; give 12 characters or more");
	else if (length > LOGIN_CHAP_SECRET_MAX)
		config_complain(r, mapping, key, "the secret is longer than %d characters",
			LOGIN_CHAP_SECRET_MAX);
	else if (length < SECRET_LENGTH_MIN)
		config_warn(r, mapping, key,
			"the secret has %zu characters; some initiators refuse less than 12",
			length);
}

static void take_secret(
	struct config_reader *r, yaml_node_t *mapping, const char **secret, const char *secret_file)
{
	bool have = config_has(r, mapping, "secret"), file = config_has(r, mapping, "secret_file");

	if (have && file)
		config_complain(
			r, mapping, "secret_file", "secret is there too; keep one of the two");
	else if (!have && !file)
		config_complain(r, mapping, "secret", "it is missing; give secret or secret_file");
	else if (file && secret_file)
		*secret = read_secret(r, mapping, secret_file);
	if (*secret)
		check_secret_length(r, mapping, *secret);
}

static void check_chap_name(struct config_reader *r, yaml_node_t *mapping, const char *name)
{
	if (name && strlen(name) > LOGIN_CHAP_NAME_MAX)
		config_complain(
			r, mapping, "name", "longer than %d characters", LOGIN_CHAP_NAME_MAX);
}

void config_check_secret(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	struct config_secret *s = section;

	check_chap_name(r, mapping, s->name);
	take_secret(r, mapping, &s->secret, s->secret_file);
}

static void check_algorithms(struct config_reader *r, const struct config_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct config_word *a = &config_item(*list, struct config_word, j);
			const struct config_word *b = &config_item(*list, struct config_word, i);

			if (a->word && b->word && !strcmp(a->word, b->word))
				config_complain_line(
					r, b->line, "algorithms", "%s is there twice", b->word);
		}
}

void config_check_chap(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	struct config_chap *c = section;

	check_chap_name(r, mapping, c->name);
	take_secret(r, mapping, &c->secret, c->secret_file);
	check_algorithms(r, &c->algorithms);
	if (c->mutual && c->secret && c->mutual->secret && !strcmp(c->secret, c->mutual->secret))
		config_complain(r, mapping, "mutual",
			"its secret is that of the initiator; each direction needs its own");
}

/* ---- logical units ---- */

#define FAULTS_MAX 16 /* struct fault_config's */

static bool holds_size(const struct config_lun *l)
{
	return l->size % (l->block_size ? l->block_size : 512) == 0;
}

static void check_file(struct config_reader *r, const struct config_lun *l, yaml_node_t *mapping)
{
	if (!l->path && !config_has(r, mapping, "path"))
		config_complain(r, mapping, "path",
			"it is missing; backend file needs the path of an image or a block device");
}

static void check_memory(struct config_reader *r, const struct config_lun *l, yaml_node_t *mapping)
{
	static const char *const of_files[] = {"path", "direct", "engine", "threads"};

	for (size_t i = 0; i < ARRAY_SIZE(of_files); i++)
		if (config_has(r, mapping, of_files[i]))
			config_complain(r, mapping, of_files[i],
				"only backend file has it; remove it, or say backend: file");
	if (!l->size && !config_has(r, mapping, "size"))
		config_complain(r, mapping, "size", "this backend needs one, such as 1G");
}

void config_check_lun(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	const struct config_lun *l = section;

	if (l->backend == CONFIG_STORE_FILE)
		check_file(r, l, mapping);
	else if (l->backend > CONFIG_STORE_FILE)
		check_memory(r, l, mapping);
	if (l->faults.count > FAULTS_MAX)
		config_complain(r, mapping, "fault", "more than %d rules", FAULTS_MAX);
	if (l->block_size && l->block_size != 512 && l->block_size != 4096)
		config_complain(r, mapping, "block_size", "512 or 4096 would be right");
	else if (!holds_size(l))
		config_complain(r, mapping, "size", "it is not a multiple of the block size %u",
			l->block_size ? (unsigned)l->block_size : 512);
}

void config_check_fault(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	const struct config_fault *f = section;

	if (f->to && f->to <= f->from)
		config_complain(r, mapping, "to", "it is not behind `from`");
}

/* ---- targets ---- */

void config_check_initiator(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	const struct config_initiator *i = section;
	const char *why;

	if (!i->name || strpbrk(i->name, "*?["))
		return;
	if (iscsi_name_check(i->name, &why) < 0)
		config_complain(r, mapping, mapping->type == YAML_SCALAR_NODE ? "" : "name",
			"\"%s\": %s", i->name, why);
}

static int compare_luns(const void *a, const void *b)
{
	const struct config_lun *x = a, *y = b;

	return x->lun < y->lun ? -1 : x->lun > y->lun ? 1 : x->line < y->line ? -1 : 1;
}

static void sort_luns(struct config_reader *r, struct config_target *t)
{
	struct config_lun *luns = t->luns.items;

	if (t->luns.count)
		qsort(luns, t->luns.count, sizeof(*luns), compare_luns);
	for (size_t i = 1; i < t->luns.count; i++)
		if (luns[i].lun == luns[i - 1].lun)
			config_complain_line(r, luns[i].line, "luns",
				"LUN %u is there twice, the first in line %u; each needs its own "
				"number",
				(unsigned)luns[i].lun, luns[i - 1].line);
	if (t->luns.count > 16384)
		config_complain_line(r, luns[0].line, "luns", "more than 16384");
}

static bool has_lun(const struct config_target *t, uint64_t lun)
{
	for (size_t i = 0; i < t->luns.count; i++)
		if (config_item(t->luns, struct config_lun, i).lun == lun)
			return true;
	return false;
}

static void check_visibility(struct config_reader *r, const struct config_target *t)
{
	for (size_t i = 0; i < t->initiators.count; i++) {
		const struct config_initiator *n =
			&config_item(t->initiators, struct config_initiator, i);

		for (size_t j = 0; j < n->luns.count; j++) {
			const struct config_number *l =
				&config_item(n->luns, struct config_number, j);

			if (!has_lun(t, l->number))
				config_complain_line(r, l->line, "initiators",
					"LUN %u is not among the target's luns",
					(unsigned)l->number);
		}
	}
}

void config_check_target(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	struct config_target *t = section;
	const char *why;

	if (t->name && iscsi_name_check(t->name, &why) < 0)
		config_complain(r, mapping, "name", "\"%s\": %s", t->name, why);
	if (config_has(r, mapping, "initiators") && !t->initiators.count)
		config_complain(r, mapping, "initiators",
			"an empty list lets nobody in; name initiators, or remove it to let "
			"everyone in");
	sort_luns(r, t);
	check_visibility(r, t);
}

/* ---- the whole ---- */

static void check_target_names(struct config_reader *r, const struct config *c)
{
	for (size_t i = 0; i < c->targets.count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct config_target *a =
				&config_item(c->targets, struct config_target, j);
			const struct config_target *b =
				&config_item(c->targets, struct config_target, i);

			if (a->name && b->name && !strcasecmp(a->name, b->name))
				config_complain_line(r, b->line, "targets",
					"%s is there twice, the first in line %u", b->name,
					a->line);
		}
}

/* A writable image behind two LUNs would be two disks that change under each other. */
static void check_path_twice(struct config_reader *r, const struct config_target *t,
	const struct config_lun *l, const struct config_target *u, const struct config_lun *m)
{
	if (!l->path || !m->path || strcmp(l->path, m->path) || (l->readonly && m->readonly))
		return;
	config_complain_line(r, l->line, "targets",
		"%s is LUN %u of %s in line %u too; give each its own image, or make both readonly",
		l->path, (unsigned)m->lun, t == u ? "this target" : u->name, m->line);
}

static void check_paths_before(struct config_reader *r, const struct config *c, size_t i, size_t k)
{
	const struct config_target *t = &config_item(c->targets, struct config_target, i);
	const struct config_lun *l = &config_item(t->luns, struct config_lun, k);

	for (size_t j = 0; j <= i; j++) {
		const struct config_target *u = &config_item(c->targets, struct config_target, j);

		for (size_t n = 0; n < (j == i ? k : u->luns.count); n++)
			check_path_twice(r, t, l, u, &config_item(u->luns, struct config_lun, n));
	}
}

static void check_paths(struct config_reader *r, const struct config *c)
{
	for (size_t i = 0; i < c->targets.count; i++)
		for (size_t k = 0; k < config_item(c->targets, struct config_target, i).luns.count;
			k++)
			check_paths_before(r, c, i, k);
}

/* The key to mend is the one that the file has. */
static void check_bursts(struct config_reader *r, const struct config *c, yaml_node_t *mapping)
{
	if (c->first_burst <= c->max_burst)
		return;
	if (config_has(r, mapping, "first_burst"))
		config_complain(r, mapping, "first_burst",
			"it is larger than max_burst (%llu bytes); no more than that would be "
			"right",
			(unsigned long long)c->max_burst);
	else
		config_complain(r, mapping, "max_burst",
			"it is smaller than first_burst, which is %llu bytes unless it is set; set "
			"first_burst to %llu or less, too",
			(unsigned long long)c->first_burst, (unsigned long long)c->max_burst);
}

void config_check_root(struct config_reader *r, void *section, yaml_node_t *mapping)
{
	struct config *c = section;

	if (c->max_fpdu && c->max_fpdu < 128)
		config_complain(r, mapping, "max_fpdu", "128 or more would be right, or 0");
	check_bursts(r, c, mapping);
	check_target_names(r, c);
	check_paths(r, c);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_faults(const struct config_list *a, const struct config_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct config_fault *x = &config_item(*a, struct config_fault, i);
		const struct config_fault *y = &config_item(*b, struct config_fault, i);

		if (x->operation != y->operation || x->from != y->from || x->to != y->to ||
			x->after != y->after || x->count != y->count || x->error != y->error)
			return false;
	}
	return true;
}

static bool same_delay(const struct config_delay *a, const struct config_delay *b)
{
	if (!a || !b)
		return a == b;
	return a->read == b->read && a->write == b->write && a->flush == b->flush;
}

static bool same_identity(const struct config_lun *a, const struct config_lun *b)
{
	return same_text(a->vendor, b->vendor) && same_text(a->product, b->product) &&
	       same_text(a->revision, b->revision) && same_text(a->serial, b->serial);
}

bool config_lun_equal(const struct config_lun *a, const struct config_lun *b)
{
	return a->lun == b->lun && a->backend == b->backend && same_text(a->path, b->path) &&
	       a->size == b->size && a->block_size == b->block_size && a->direct == b->direct &&
	       a->readonly == b->readonly && a->write_cache == b->write_cache &&
	       a->thin == b->thin && a->rotational == b->rotational && a->engine == b->engine &&
	       a->threads == b->threads && same_identity(a, b) && same_delay(a->delay, b->delay) &&
	       same_faults(&a->faults, &b->faults);
}
