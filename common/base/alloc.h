/* The one door to the heap, so that a test can count allocations and fail the n-th. Not for the
 * data path: what an I/O needs comes from pools (pool.h) made at start. */
#pragma once

#include <stddef.h>

/* `size` bytes, zeroed; NULL when there is no memory. Free with alloc_free(). */
void *alloc_zeroed(size_t size);
/* The same, for a library that will free() it: not among those that alloc_live() counts. */
void *alloc_given_away(size_t size);
/* `count` objects of `size` bytes, zeroed; NULL also when the product overflows. */
void *alloc_array(size_t count, size_t size);
/* As realloc(): `old` stays valid on failure. New bytes are not zeroed. */
void *alloc_resize(void *old, size_t size);
/* `size` bytes aligned to `alignment` (a power of two), zeroed. Free with alloc_free(). */
void *alloc_aligned(size_t alignment, size_t size);
/* A copy of `text`; NULL for NULL or when there is no memory. */
char *alloc_string(const char *text);
/* printf into a new string; NULL when there is no memory. */
char *alloc_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void alloc_free(void *p);

/* Tests: the n-th allocation from now on fails (1 = the next; 0 = none does). */
void alloc_fail_nth(unsigned long n);
/* Tests: the number of allocations asked for, and of those not yet freed. */
unsigned long alloc_asked(void);
unsigned long alloc_live(void);
