/* Completions of requests that are finished at once: they are delivered by a deferred call, since
 * nothing may complete from inside backend_submit(). For the stores of this room. */
#pragma once

#include "common/loop/loop.h"
#include "target/backend/backend.h"

/* One per channel. */
struct completions {
	struct loop *loop;
	struct loop_call call;
	struct list done; /* struct backend_request; backend_private[0] is the status */
};

void completions_init(struct completions *c, struct loop *l);
/* `r` will be done with `status` later in this turn. */
void completions_add(struct completions *c, struct backend_request *r, int status);
