/* A main() for any fuzz driver where there is no libFuzzer: runs every file of the directories (and
 * every file) that are named, and prints one line of TAP. An input that breaks something ends the
 * process, by the sanitizer or by FUZZ_CHECK, behind a line that names the file.
 *   fuzz_NAME [CORPUS...]; without arguments tests/fuzz/corpus/NAME */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX (1024 * 1024)

static unsigned long inputs;

static void fail(const char *path, const char *what)
{
	printf("1..1\nnot ok 1 - %s: %s\n", path, what);
	exit(1);
}

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(INPUT_MAX);
	size_t n;

	if (!f || !data)
		fail(path, strerror(errno));
	n = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	/* For whoever reads the log of a process that did not come back. */
	printf("# %s\n", path);
	fflush(stdout);
	data = realloc(data, n ? n : 1);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	inputs++;
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void run_path(const char *path)
{
	struct dirent **names;
	struct stat s;
	char file[4096];
	int n;

	if (stat(path, &s) < 0)
		fail(path, strerror(errno));
	if (!S_ISDIR(s.st_mode)) {
		run_file(path);
		return;
	}
	n = scandir(path, &names, visible, alphasort);
	if (n < 0)
		fail(path, strerror(errno));
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		run_path(file);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	const char *prefix = "fuzz_";
	char corpus[4096];

	if (!strncmp(name, prefix, strlen(prefix)))
		name += strlen(prefix);
	snprintf(corpus, sizeof(corpus), "tests/fuzz/corpus/%s", name);
	if (argc < 2)
		run_path(corpus);
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("1..1\nok 1 - %s: %lu inputs replayed\n", name, inputs);
	return 0;
}
