/* Big-endian (and the few little-endian) fields of wire formats, and bounded cursors over byte
 * ranges. Every decoder of the project reads through these. libc only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline uint16_t get_be16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t get_be24(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}

static inline uint32_t get_be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t get_be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline uint32_t get_le32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void put_be16(void *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be24(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)(v >> 16);
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)v;
}

static inline void put_be32(void *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be64(void *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_le32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bytes.h swaps for little-endian hosts");

static inline size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A range that is read from front to back. A read past the end returns 0, moves nothing and sets
 * `short_read`, so that a decoder may read a whole layout and test once. */
struct bytes_reader {
	const uint8_t *at;
	size_t left;
	bool short_read;
};

static inline struct bytes_reader bytes_reader(const void *data, size_t length)
{
	return (struct bytes_reader){.at = data, .left = length};
}

/* The next n bytes, or NULL (and short_read) if there are fewer. */
static inline const uint8_t *bytes_read(struct bytes_reader *r, size_t n)
{
	const uint8_t *p = r->at;

	if (n > r->left) {
		r->short_read = true;
		return NULL;
	}
	r->at += n;
	r->left -= n;
	return p;
}

static inline uint8_t bytes_read_u8(struct bytes_reader *r)
{
	const uint8_t *p = bytes_read(r, 1);

	return p ? *p : 0;
}

static inline uint16_t bytes_read_be16(struct bytes_reader *r)
{
	const uint8_t *p = bytes_read(r, 2);

	return p ? get_be16(p) : 0;
}

static inline uint32_t bytes_read_be32(struct bytes_reader *r)
{
	const uint8_t *p = bytes_read(r, 4);

	return p ? get_be32(p) : 0;
}

static inline uint64_t bytes_read_be64(struct bytes_reader *r)
{
	const uint8_t *p = bytes_read(r, 8);

	return p ? get_be64(p) : 0;
}

/* A range that is written from front to back. A write past the end writes nothing and sets
 * `overflow`; `used` counts what was written. */
struct bytes_writer {
	uint8_t *start;
	size_t used, size;
	bool overflow;
};

static inline struct bytes_writer bytes_writer(void *data, size_t size)
{
	return (struct bytes_writer){.start = data, .size = size};
}

/* Room for n bytes to be filled by the caller, or NULL (and overflow). */
static inline uint8_t *bytes_reserve(struct bytes_writer *w, size_t n)
{
	uint8_t *p = w->start + w->used;

	if (n > w->size - w->used) {
		w->overflow = true;
		return NULL;
	}
	w->used += n;
	return p;
}

static inline void bytes_write(struct bytes_writer *w, const void *data, size_t n)
{
	uint8_t *p = bytes_reserve(w, n);

	if (p && n)
		memcpy(p, data, n);
}

static inline void bytes_write_u8(struct bytes_writer *w, uint8_t v)
{
	bytes_write(w, &v, 1);
}

static inline void bytes_write_be16(struct bytes_writer *w, uint16_t v)
{
	uint8_t *p = bytes_reserve(w, 2);

	if (p)
		put_be16(p, v);
}

static inline void bytes_write_be32(struct bytes_writer *w, uint32_t v)
{
	uint8_t *p = bytes_reserve(w, 4);

	if (p)
		put_be32(p, v);
}

static inline void bytes_write_be64(struct bytes_writer *w, uint64_t v)
{
	uint8_t *p = bytes_reserve(w, 8);

	if (p)
		put_be64(p, v);
}
