/* Whole sessions with a target, over iSCSI/TCP. The input is target_role.c's. */
#include "tests/fuzz/target_role.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	target_role_run(data, size, false);
	return 0;
}
