/* `iseradm -m lun -o reset`: LOGICAL UNIT RESET (SAM-5 section 7.9), which ends every command of
 * the LUN, whoever sent it. Called by job_run.c through the table of operations. */
#include <string.h>

#include "initiator/daemon/job.h"

static void reset_told(void *arg, int response)
{
	struct job *j = arg;
	struct json_object *result;

	if (response != ISCSI_TMF_COMPLETE) {
		job_fail(j, STATUS_FAILED, "LUN %llu was not reset: %s %d",
			(unsigned long long)j->options.lun,
			response < 0 ? "no answer," : "the target answers", response);
		return;
	}
	result = json_object_new_object();
	put_text(result, "operation", j->operation->name);
	put_number(result, "lun", j->options.lun);
	job_finish(j, result);
}

void job_reset_start(struct job *j)
{
	int r = ini_session_reset_lun(j->session, (uint16_t)j->options.lun, reset_told, j);

	if (r < 0)
		job_fail(j, STATUS_FAILED, "LUN %llu was not reset: %s",
			(unsigned long long)j->options.lun, strerrordesc_np(-r));
}
