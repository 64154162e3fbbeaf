/* What there is at the path of a file store (target/backend/file_probe.c), and the line for
 * whatever is wrong with it. */
#include "tests/unit/target/backend/file_store.h"

static void story_info(struct fixture *f)
{
	const struct backend_info *info = &f->backend->info;

	assert_int_equal(SIZE, info->size);
	assert_int_equal(512, info->block_size);
	assert_int_equal(4096, info->physical_block_size);
	assert_int_equal(f->config.write_cache, info->volatile_cache);
	assert_false(info->readonly);
}

static void store_knows_what_it_is(void **state)
{
	with_every_engine(state, story_info);
}

static void assert_refused(struct fixture *f, int error, const char *word)
{
	f->why[0] = '\0';
	assert_int_equal(-error, open_all(f));
	assert_null(f->backend);
	if (!strstr(f->why, word))
		fail_msg("'%s' is not in: %s", word, f->why);
	if (!strstr(f->why, f->config.path))
		fail_msg("the path is not in: %s", f->why);
}

static void wrong_paths_are_refused_with_a_line(void **state)
{
	struct fixture *f = *state;

	f->config.path = "/no/such/file";
	assert_refused(f, ENOENT, "no such file");
	f->config.path = "/etc/passwd/x";
	assert_refused(f, ENOTDIR, "not a directory");
	f->config.path = "/tmp";
	assert_refused(f, EISDIR, "is a directory");
	f->config.path = "/dev/null";
	assert_refused(f, EINVAL, "neither a regular file nor a block device");
}

static void wrong_sizes_are_refused_with_a_line(void **state)
{
	struct fixture *f = *state;

	f->config.size = SIZE + 512;
	assert_refused(f, EINVAL, "too short");
	f->config.size = 1000;
	assert_refused(f, EINVAL, "multiple of the block size");
	f->config.size = 0;
	f->config.block_size = 1024;
	assert_refused(f, EINVAL, "block size of 1024");
	f->config.block_size = 4096;
	assert_int_equal(0, truncate(f->path, SIZE + 512));
	assert_refused(f, EINVAL, "multiple of the block size");
	assert_int_equal(0, truncate(f->path, 0));
	assert_refused(f, EINVAL, "empty");
}

static void part_of_a_file_may_be_exported(void **state)
{
	struct fixture *f = *state;

	f->config.size = SIZE / 2;
	f->config.block_size = 4096;
	assert_int_equal(0, open_all(f));
	assert_int_equal(SIZE / 2, f->backend->info.size);
	assert_int_equal(4096, f->backend->info.block_size);
}

static void file_has_one_writer_or_many_readers(void **state)
{
	struct fixture *f = *state;
	struct backend *second = NULL;
	char why[256];

	assert_int_equal(0, open_all(f));
	assert_int_equal(-EBUSY, file_backend_new(&f->config, &second, why, sizeof(why)));
	assert_non_null(strstr(why, "already in use"));
	f->config.readonly = true;
	assert_int_equal(-EBUSY, file_backend_new(&f->config, &second, why, sizeof(why)));
	close_all(f);
	assert_int_equal(0, open_all(f));
	assert_int_equal(0, file_backend_new(&f->config, &second, why, sizeof(why)));
	backend_free(second);
}

static void file_in_use_may_be_looked_at(void **state)
{
	struct fixture *f = *state;
	struct backend *second = NULL;
	char why[256];

	assert_int_equal(0, open_all(f));
	f->config.look = true;
	assert_int_equal(0, file_backend_new(&f->config, &second, why, sizeof(why)));
	assert_int_equal(f->backend->info.size, second->info.size);
	backend_free(second);
	f->config.look = false;
	/* Looking has not taken the file away from who has it. */
	assert_int_equal(-EBUSY, file_backend_new(&f->config, &second, why, sizeof(why)));
}

static void grown_file_is_noticed_on_refresh(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(0, open_all(f));
	assert_int_equal(0, truncate(f->path, 2 * SIZE + 100));
	assert_int_equal(0, f->backend->ops->refresh(f->backend));
	assert_int_equal(2 * SIZE, f->backend->info.size);
	close_all(f);
	f->config.size = SIZE;
	assert_int_equal(0, open_all(f));
	assert_int_equal(0, f->backend->ops->refresh(f->backend));
	assert_int_equal(SIZE, f->backend->info.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(store_knows_what_it_is),
		TEST(wrong_paths_are_refused_with_a_line),
		TEST(wrong_sizes_are_refused_with_a_line),
		TEST(part_of_a_file_may_be_exported),
		TEST(file_has_one_writer_or_many_readers),
		TEST(file_in_use_may_be_looked_at),
		TEST(grown_file_is_noticed_on_refresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
