/* The file that a copy reads or writes: whole transfers at an offset, holes, and the end. Regular
 * files and block devices only, so that nothing waits for a person. Called by job_copy.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the descriptor stands, as a shell's redirection left it; and how many bytes follow. */
int job_file_extent(int fd, uint64_t *ret_start, uint64_t *ret_length);
/* `length` bytes at `at`; what is behind the end reads as zeroes. 0 or negative errno. */
int job_file_read(int fd, void *data, size_t length, uint64_t at);
int job_file_write(int fd, const void *data, size_t length, uint64_t at);
/* Bytes of hole at `at`, `most` at most; 0: there are data (or it cannot be told). */
uint64_t job_file_hole(int fd, uint64_t at, uint64_t most);
/* Empties a regular file behind `at`. */
int job_file_truncate(int fd, uint64_t at);
/* A regular file ends at `end`, so that what was left out reads as zeroes. */
int job_file_finish(int fd, uint64_t end);
/* True for a regular file whose bytes behind `at` are not there yet: zeroes need not be written. */
bool job_file_may_skip(int fd, uint64_t at);
bool job_is_zero(const void *data, size_t length);
