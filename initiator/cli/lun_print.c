/* What -m lun found, copied or measured, for people. Called by mode_lun.c. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static unsigned long long number(struct json_object *o, const char *key)
{
	return (unsigned long long)field_number(o, key);
}

void print_lun_list(struct json_object *reply, FILE *out)
{
	for (size_t i = 0; i < field_count(reply, "luns"); i++) {
		struct json_object *l = field_item(reply, "luns", i);
		char size[32];

		fprintf(out, "Lun: %llu\t%s (%llu bytes), %llu-byte blocks%s, %s %s %s, %s\n",
			number(l, "lun"), bytes_text(field_number(l, "size"), size),
			number(l, "size"), number(l, "block_size"),
			field_flag(l, "readonly") ? ", read-only" : "", field_text(l, "vendor"),
			field_text(l, "product"), field_text(l, "revision"), field_text(l, "wwid"));
	}
}

void print_lun_copy(struct json_object *reply, FILE *out)
{
	const char *operation = field_text(reply, "operation");
	char bytes[32], zeroes[32];

	if (!strcmp(operation, "verify"))
		fprintf(out, "Lun: %llu is the same as the file: ", number(reply, "lun"));
	fprintf(out, "%s (%llu bytes) in %.2f s, %.0f MB/s",
		bytes_text(field_number(reply, "bytes"), bytes), number(reply, "bytes"),
		field_double(reply, "seconds"), field_double(reply, "mb_s"));
	if (field_number(reply, "zeroes"))
		fprintf(out, "; %s of it were zeroes, and not moved",
			bytes_text(field_number(reply, "zeroes"), zeroes));
	fputc('\n', out);
}

void print_lun_bench(struct json_object *reply, bool plain, FILE *out)
{
	if (plain) {
		fprintf(out, "IOPS %.0f  MB/s %.0f  p50 %.1f us  p99 %.1f us\n",
			field_double(reply, "iops"), field_double(reply, "mb_s"),
			field_double(reply, "p50_us"), field_double(reply, "p99_us"));
		return;
	}
	fprintf(out, "%s, %llu bytes, depth %llu: %llu I/Os in %.2f s\n", field_text(reply, "rw"),
		number(reply, "bs"), number(reply, "iodepth"), number(reply, "ios"),
		field_double(reply, "runtime_s"));
	fprintf(out, "  IOPS     %.0f\n  MB/s     %.1f\n", field_double(reply, "iops"),
		field_double(reply, "mb_s"));
	fprintf(out,
		"  latency  mean %.1f us, p50 %.1f, p90 %.1f, p99 %.1f, p99.9 %.1f, max %.1f\n",
		field_double(reply, "mean_us"), field_double(reply, "p50_us"),
		field_double(reply, "p90_us"), field_double(reply, "p99_us"),
		field_double(reply, "p999_us"), field_double(reply, "max_us"));
	fprintf(out, "  CPU      %.2f us per I/O (this side)\n",
		field_double(reply, "cpu_us_per_io"));
	if (field_number(reply, "errors"))
		fprintf(out, "  errors   %llu\n", number(reply, "errors"));
}
