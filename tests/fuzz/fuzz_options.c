/* Command lines (common/base/options.c, suggest.c, size.c) and addresses (common/loop/address.c).
 * Input: words, each ended by NUL. */
#include <arpa/inet.h>

#include "common/base/options.h"
#include "common/loop/address.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 32

static int run(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

static const struct verb_row verbs[] = {
	{"show", run, "shows"},
	{"sessions", run, "lists"},
	{"stop", run, "stops"},
	{NULL, NULL, NULL},
};

static void try_parse(int argc, char **argv, FILE *errors)
{
	static const char *const words[] = {"none", "crc32c", "optional", NULL};
	struct option_list list = {.count = 0};
	const char *text = NULL;
	unsigned long number = 5;
	uint64_t bytes = 0;
	bool flag = false;
	int choice = 0, operands = -1, r;
	const struct option_row rows[] = {
		{.name = "verbose", .letter = 'v', .kind = OPTION_FLAG, .target = &flag},
		{.name = "file",
			.letter = 'f',
			.kind = OPTION_STRING,
			.target = &text,
			.argument = "FILE"},
		{.name = "lun",
			.letter = 'l',
			.kind = OPTION_LIST,
			.target = &list,
			.argument = "LUN"},
		{.name = "loops",
			.letter = 'n',
			.kind = OPTION_UINT,
			.target = &number,
			.argument = "N",
			.min = 1,
			.max = 64},
		{.name = "size",
			.letter = 's',
			.kind = OPTION_SIZE,
			.target = &bytes,
			.argument = "BYTES"},
		{.name = "digest",
			.letter = 'd',
			.kind = OPTION_CHOICE,
			.target = &choice,
			.argument = "WORD",
			.choices = words},
		{.name = NULL},
	};

	r = options_parse("fuzz", rows, argc, argv, &operands, errors);
	FUZZ_CHECK(number >= 1 && number <= 64 && choice >= 0 && choice < 3);
	FUZZ_CHECK(list.count <= ARRAY_SIZE(list.values));
	if (r == 0) {
		FUZZ_CHECK(operands >= 0 && operands < argc);
		for (int i = 1; i <= operands; i++)
			FUZZ_CHECK(argv[i] != NULL);
	}
}

/* Names would be asked of the network: only what begins like a number or a bracket is parsed, and
 * has a host that is an address. */
static bool numeric(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t length = colon && !strchr(colon + 1, ':') ? (size_t)(colon - text) : strlen(text);
	char host[64] = "";
	struct in6_addr a;

	if (text[0] == '[') {
		length = strcspn(++text, "]");
	} else if (text[0] == '*') {
		return true;
	}
	if (length >= sizeof(host))
		return false;
	memcpy(host, text, length);
	return inet_pton(AF_INET, host, &a) == 1 || inet_pton(AF_INET6, host, &a) == 1;
}

static void try_word(const char *word, FILE *errors)
{
	char text[ADDRESS_TEXT_SIZE];
	struct address a, again;
	const char *why = NULL;
	uint64_t bytes;

	size_parse(word, &bytes);
	verbs_find("fuzz", verbs, word, errors);
	/* Names would be asked of the network. */
	if (!numeric(word) || address_parse(word, ADDRESS_DEFAULT_PORT, &a, &why) < 0)
		return;
	address_print(&a, text);
	FUZZ_CHECK(address_parse(text, 0, &again, &why) == 0 && address_equal(&a, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)fuzz_copy(data, size, true), *argv[WORDS_MAX + 1] = {"fuzz"};
	char *at = text;
	static FILE *errors;
	int argc = 1;

	if (!errors)
		errors = fopen("/dev/null", "w");
	while (argc < WORDS_MAX && at < text + size) {
		argv[argc++] = at;
		at += strlen(at) + 1;
	}
	for (int i = 1; i < argc; i++)
		try_word(argv[i], errors);
	try_parse(argc, argv, errors);
	free(text);
	return 0;
}
