/* Log lines: formatted into one buffer and written by one call, so that lines of several threads
 * do not mix. Called by every room of level 2 and above. */
#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/utf8.h"

/* The longest line: room, an iSCSI name (223 bytes, RFC 7143 section 4.2.7.1) or two, and words. */
#define LOG_LINE_MAX 1024

typedef void log_sink(void *arg, enum log_level level, const char *line);

static const char *const level_words[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* sd-daemon(3): what the journal strips from the front of a line and takes as its priority. */
static const char *const journal_prefixes[] = {
	[LOG_LEVEL_ERROR] = "<3>",
	[LOG_LEVEL_WARNING] = "<4>",
	[LOG_LEVEL_INFO] = "<6>",
	[LOG_LEVEL_DEBUG] = "<7>",
};

static atomic_int current_level = LOG_LEVEL_INFO;
static _Atomic(log_sink *) current_sink;
static _Atomic(void *) current_sink_arg;

void log_set_level(enum log_level level)
{
	atomic_store(&current_level, (int)level);
}

int log_level_parse(const char *word, enum log_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_words); i++)
		if (strcmp(word, level_words[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	return -EINVAL;
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

void log_set_sink(void (*sink)(void *arg, enum log_level level, const char *line), void *arg)
{
	atomic_store(&current_sink_arg, arg);
	atomic_store(&current_sink, sink);
}

/* systemd puts device:inode of the journal's socket into JOURNAL_STREAM (systemd.exec(5)). */
static bool log_is_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_tame(char *line)
{
	utf8_tame(line, strlen(line));
	for (char *c = line; *c; c++)
		for (size_t n = utf8_control_length(c); n; n--)
			c[n - 1] = '?';
}

static void log_write(enum log_level level, const char *line)
{
	char out[LOG_LINE_MAX + 8];
	int length = snprintf(out, sizeof(out), "%s%s\n",
		log_is_to_journal() ? journal_prefixes[level] : "", line);

	/* Nobody is left to be told that stderr is gone. */
	if (length > 0 && write(STDERR_FILENO, out, (size_t)length) < 0)
		return;
}

void log_line(enum log_level level, const char *room, const char *format, ...)
{
	log_sink *sink = atomic_load(&current_sink);
	char line[LOG_LINE_MAX];
	int saved_errno = errno;
	va_list args;
	int used;

	if (!log_enabled(level))
		return;
	used = snprintf(line, sizeof(line), "%s: ", room);
	if (used < 0 || (size_t)used >= sizeof(line))
		used = 0;
	va_start(args, format);
	vsnprintf(line + used, sizeof(line) - (size_t)used, format, args);
	va_end(args);
	log_tame(line);
	if (sink)
		sink(atomic_load(&current_sink_arg), level, line);
	else
		log_write(level, line);
	errno = saved_errno;
}
