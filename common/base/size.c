/* Byte sizes as people write them. Called by option tables and by the configuration readers. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/options.h"

/* How far to shift for a suffix, or -1. Powers of 1024: K, KiB and k mean the same. */
static int size_shift(const char *suffix)
{
	static const char letters[] = "KMGTP";
	const char *found;

	if (*suffix == '\0')
		return 0;
	found = strchr(letters, toupper((unsigned char)*suffix));
	if (!found || !*found)
		return -1;
	if (suffix[1] != '\0' && strcmp(suffix + 1, "iB") != 0)
		return -1;
	return 10 * (int)(found - letters + 1);
}

int size_parse(const char *text, uint64_t *ret_bytes)
{
	unsigned long long number;
	char *end;
	int shift;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno == ERANGE)
		return -ERANGE;
	shift = size_shift(end);
	if (shift < 0)
		return -EINVAL;
	if (number > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = (uint64_t)number << shift;
	return 0;
}
