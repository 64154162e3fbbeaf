/* Whole sessions with an initiator, over iSER on software iWARP. The input is initiator_role.c's.
 */
#include "tests/fuzz/initiator_role.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	initiator_role_run(data, size, true);
	return 0;
}
