/* Stands in for OpenSSL's random source in the fuzz drivers: an input must do the same in every
 * run, CHAP challenges included. The executable's symbol goes before the library's. */
#include <openssl/rand.h>

#include "tests/fuzz/random.h"

static uint8_t next;

void fuzz_random_restart(void)
{
	next = 1;
}

int RAND_bytes(unsigned char *out, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = next++;
	return 1;
}
