/* A configuration's memory, and the files that configurations come from. Called by the daemon at
 * start and at SIGHUP. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "target/config_schema.h"

/* A configuration with every LUN of a hundred targets is a few megabytes. */
#define CONFIG_FILE_MAX (64u << 20)

/* ---- memory: blocks that live and die with the configuration ---- */

struct config_block {
	struct config_block *next;
	size_t size;
	max_align_t data[];
};

void *config_take(struct config_reader *r, size_t size)
{
	struct config_block *b = alloc_zeroed(sizeof(*b) + size);

	if (!b) {
		r->out_of_memory = true;
		return NULL;
	}
	b->size = size;
	b->next = r->config->blocks;
	r->config->blocks = b;
	return b->data;
}

const char *config_take_string(struct config_reader *r, const char *text, size_t length)
{
	char *copy = config_take(r, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

struct config *config_hold(struct config *c)
{
	atomic_fetch_add(&c->holders, 1);
	return c;
}

void config_release(struct config *c)
{
	struct config_block *b, *next;

	if (!c || atomic_fetch_sub(&c->holders, 1) > 1)
		return;
	for (b = c->blocks; b; b = next) {
		next = b->next;
		explicit_bzero(b->data, b->size); /* there are secrets in it */
		alloc_free(b);
	}
	alloc_free(c);
}

/* ---- files ---- */

static int read_all(int fd, char *text, size_t size, size_t *ret_length)
{
	size_t used = 0;
	ssize_t n = 0;

	while (used < size && (n = sys_read(fd, text + used, size - used)) > 0)
		used += (size_t)n;
	if (n < 0)
		return -errno;
	*ret_length = used;
	return 0;
}

static int read_file(int fd, const struct stat *st, char **ret_text, size_t *ret_length)
{
	char *text;
	int err;

	if (!S_ISREG(st->st_mode) || st->st_size > CONFIG_FILE_MAX)
		return -EFBIG;
	text = alloc_zeroed((size_t)st->st_size + 1);
	if (!text)
		return -ENOMEM;
	err = read_all(fd, text, (size_t)st->st_size, ret_length);
	if (err < 0)
		alloc_free(text);
	else
		*ret_text = text;
	return err;
}

static int open_file(const char *path, char **ret_text, size_t *ret_length, mode_t *ret_mode)
{
	struct stat st;
	int err, fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (sys_fstat(fd, &st) < 0) {
		err = -errno;
	} else {
		err = read_file(fd, &st, ret_text, ret_length);
		if (err == 0)
			*ret_mode = st.st_mode;
	}
	close(fd);
	return err;
}

static bool has_secrets(const char *text)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it has been read */
	return strstr(text, "secret:") != NULL;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return alloc_string(".");
	return alloc_printf("%.*s", (int)(slash == path ? 1 : slash - path), path);
}

int config_load(const char *path, struct config_report *report, struct config **ret)
{
	char *directory, *text = NULL;
	size_t length = 0;
	mode_t mode = 0;
	int err = open_file(path, &text, &length, &mode);

	if (err < 0) {
		config_report_add(report, false, path, 0, "cannot read it: %s",
			err == -EFBIG ? "a text file would be right" : strerror(-err));
		return err == -ENOMEM ? err : -EINVAL;
	}
	if ((mode & S_IROTH) && has_secrets(text))
		config_report_add(report, true, path, 0,
			"it has secrets and everyone may read it; chmod 600 would be right");
	directory = directory_of(path);
	err = directory ? config_parse(path, directory, text, length, report, ret) : -ENOMEM;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it has been read */
	explicit_bzero(text, length);
	alloc_free(text);
	alloc_free(directory);
	return err;
}
