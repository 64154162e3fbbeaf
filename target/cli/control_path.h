/* Where isertd and isertadm meet when nobody says otherwise. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONTROL_PATH_SIZE 108 /* sun_path */

/* $ISERTD_CONTROL; for root /run/iseran/isertd.sock; for others the same name under
 * $XDG_RUNTIME_DIR, or a directory of their own under /tmp. */
static inline void control_path_default(char out[CONTROL_PATH_SIZE])
{
	const char *set = getenv("ISERTD_CONTROL"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (set && set[0])
		snprintf(out, CONTROL_PATH_SIZE, "%s", set);
	else if (geteuid() == 0)
		snprintf(out, CONTROL_PATH_SIZE, "/run/iseran/isertd.sock");
	else if (runtime && runtime[0])
		snprintf(out, CONTROL_PATH_SIZE, "%s/iseran/isertd.sock", runtime);
	else
		snprintf(out, CONTROL_PATH_SIZE, "/tmp/iseran-%u/isertd.sock", (unsigned)geteuid());
}
