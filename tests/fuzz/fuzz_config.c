/* The configuration file of isertd (target/config*.c): YAML, and complaints about it.
 * Input: the file. */
#include "target/config.h"
#include "tests/fuzz/fuzz.h"

/* One line per complaint, for a person. */
static void check_report(const struct config_report *r, int result)
{
	/* There is an end to what a file of nothing but mistakes can print. */
	FUZZ_CHECK(r->count == r->errors + r->warnings || r->incomplete);
	FUZZ_CHECK(r->count <= 200 && r->count <= r->errors + r->warnings);
	FUZZ_CHECK((result == 0) == (r->errors == 0));
	for (size_t i = 0; i < r->count; i++)
		for (const char *c = r->lines[i]; *c; c++)
			FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_config(const struct config *c)
{
	for (size_t i = 0; i < c->targets.count; i++) {
		const struct config_target *t = &config_item(c->targets, struct config_target, i);

		FUZZ_CHECK(t->name && strlen(t->name) <= 223);
		for (size_t j = 0; j < t->luns.count; j++) {
			const struct config_lun *l = &config_item(t->luns, struct config_lun, j);

			FUZZ_CHECK(l->lun < 16384);
			FUZZ_CHECK(j == 0 || (l - 1)->lun < l->lun);
			FUZZ_CHECK(config_lun_equal(l, l));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)fuzz_copy(data, size, false);
	struct config_report report = {0};
	struct config *c = NULL;
	int r = config_parse("fuzz.yaml", "/nonexistent", text, size, &report, &c);

	check_report(&report, r);
	if (r == 0)
		check_config(c);
	config_release(c);
	config_report_free(&report);
	free(text);
	FUZZ_CHECK(alloc_live() == 0);
	return 0;
}
