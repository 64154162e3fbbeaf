/* One line per event, on stderr (systemd's journal takes the priority prefix when the stream is
 * connected to it). Level 1 rooms (scsi, iscsi, iwarp) do not log: they return what is wrong. */
#pragma once

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Sets what is written: `level` and more urgent. The default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
/* "error", "warning", "info", "debug"; -EINVAL for another word. */
int log_level_parse(const char *word, enum log_level *ret_level);
bool log_enabled(enum log_level level);
/* Tests: lines go to `sink` instead of stderr; NULL restores stderr. */
void log_set_sink(void (*sink)(void *arg, enum log_level level, const char *line), void *arg);

/* `room` is a short word such as "portal"; the line becomes "room: text". */
void log_line(enum log_level level, const char *room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Makes a line of texts that come from elsewhere (a peer, a file): control characters, which would
 * break it or colour the terminal, and bytes that are no UTF-8 become '?'. Log lines go through it.
 */
void log_tame(char *line);

#define log_error(room, ...) log_line(LOG_LEVEL_ERROR, room, __VA_ARGS__)
#define log_warning(room, ...) log_line(LOG_LEVEL_WARNING, room, __VA_ARGS__)
#define log_info(room, ...) log_line(LOG_LEVEL_INFO, room, __VA_ARGS__)
#define log_debug(room, ...)                                                                       \
	do {                                                                                       \
		if (log_enabled(LOG_LEVEL_DEBUG))                                                  \
			log_line(LOG_LEVEL_DEBUG, room, __VA_ARGS__);                              \
	} while (0)
