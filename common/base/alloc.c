/* The heap's one door: calloc and its kin, counted, with an n-th failure for tests. Called on
 * set-up paths everywhere. The counters are atomic since loops on several threads allocate. */
#include "common/base/alloc.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong asked, live, fail_in;

/* Counts one allocation; false when it is the one that a test wants to fail. */
static bool alloc_admit(void)
{
	atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&fail_in, memory_order_relaxed) == 0, 1))
		return true;
	return atomic_fetch_sub(&fail_in, 1) != 1;
}

static void *alloc_counted(void *p)
{
	if (p)
		atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
	return p;
}

void *alloc_zeroed(size_t size)
{
	return alloc_array(1, size);
}

void *alloc_given_away(size_t size)
{
	return alloc_admit() ? calloc(1, size) : NULL;
}

void *alloc_array(size_t count, size_t size)
{
	if (!alloc_admit() || (size && count > SIZE_MAX / size))
		return NULL;
	/* calloc(0) may give NULL, which callers would take for "no memory". */
	return alloc_counted(calloc(count ? count : 1, size ? size : 1));
}

void *alloc_resize(void *old, size_t size)
{
	void *p;

	if (!alloc_admit())
		return NULL;
	p = realloc(old, size ? size : 1);
	return old ? p : alloc_counted(p);
}

void *alloc_aligned(size_t alignment, size_t size)
{
	void *p;

	if (!alloc_admit())
		return NULL;
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	if (posix_memalign(&p, alignment, size ? size : 1) != 0)
		return NULL;
	memset(p, 0, size);
	return alloc_counted(p);
}

char *alloc_string(const char *text)
{
	size_t size;
	char *copy;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	copy = alloc_zeroed(size);
	if (copy)
		memcpy(copy, text, size);
	return copy;
}

char *alloc_printf(const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return NULL;
	text = alloc_zeroed((size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

void alloc_free(void *p)
{
	if (p)
		atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
	free(p);
}

void alloc_fail_nth(unsigned long n)
{
	atomic_store(&fail_in, n);
}

unsigned long alloc_asked(void)
{
	return atomic_load(&asked);
}

unsigned long alloc_live(void)
{
	return atomic_load(&live);
}
