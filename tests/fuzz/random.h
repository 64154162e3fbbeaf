/* The random source of the fuzz drivers, see random.c. */
#pragma once

#include <stdint.h>

/* The same bytes again: at the beginning of every input whose driver uses them. */
void fuzz_random_restart(void);
