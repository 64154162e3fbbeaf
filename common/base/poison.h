/* Memory that must not be touched: AddressSanitizer tells who does, other builds do nothing. For
 * pools, whose free objects it cannot know. */
#pragma once

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#endif

#ifdef POISONS
#include <sanitizer/asan_interface.h>
#endif

static inline void poison(void *p, size_t size)
{
#ifdef POISONS
	__asan_poison_memory_region(p, size);
#else
	(void)p, (void)size;
#endif
}

static inline void unpoison(void *p, size_t size)
{
#ifdef POISONS
	__asan_unpoison_memory_region(p, size);
#else
	(void)p, (void)size;
#endif
}
