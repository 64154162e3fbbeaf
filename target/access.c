/* Who may log in to a target, and which LUNs it sees there. Used by login_policy.c, text.c and
 * session_luns.c, under the target set's lock. */
#include <fnmatch.h>

#include "target/target_set.h"

const struct config_initiator *access_find(
	const struct config_target *t, const char *initiator, bool *ret_open)
{
	*ret_open = t->initiators.count == 0;
	for (size_t i = 0; i < t->initiators.count; i++) {
		const struct config_initiator *entry =
			&config_item(t->initiators, struct config_initiator, i);

		/* Names are compared without case: RFC 3722 maps them to lower case. */
		if (fnmatch(entry->name, initiator, FNM_CASEFOLD) == 0)
			return entry;
	}
	return NULL;
}

bool access_shows(const struct config_initiator *i, uint16_t lun)
{
	if (!i || !i->luns.count)
		return true;
	for (size_t k = 0; k < i->luns.count; k++)
		if (config_item(i->luns, struct config_number, k).number == lun)
			return true;
	return false;
}
