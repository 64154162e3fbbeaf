/* Whole sessions with an initiator, over iSCSI/TCP. The input is initiator_role.c's. */
#include "tests/fuzz/initiator_role.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	initiator_role_run(data, size, false);
	return 0;
}
