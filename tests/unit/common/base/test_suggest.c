/* The word that was probably meant (common/base/suggest.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/suggest.h"

static const char *nearest(const char *word)
{
	static const char *const words[] = {
		"login", "logout", "rescan", "discovery", "discoverydb", "node", "session"};
	struct suggestion s = suggestion(word);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		suggestion_consider(&s, words[i]);
	return s.best;
}

static void one_slip_of_the_finger(void **state)
{
	(void)state;
	assert_string_equal("login", nearest("logn"));	  /* left out */
	assert_string_equal("login", nearest("loggin"));  /* twice */
	assert_string_equal("login", nearest("logim"));	  /* another key */
	assert_string_equal("login", nearest("lgoin"));	  /* swapped */
	assert_string_equal("rescan", nearest("recsan")); /* swapped */
	assert_string_equal("session", nearest("sesion"));
}

static void beginning_of_a_word(void **state)
{
	(void)state;
	assert_string_equal("session", nearest("sess"));
	assert_string_equal("discovery", nearest("disc")); /* the first of two that are as near */
	assert_string_equal("rescan", nearest("re"));
}

static void another_word_is_no_slip(void **state)
{
	(void)state;
	assert_null(nearest("mount"));
	assert_null(nearest(""));
	assert_null(nearest("x"));
	assert_null(nearest("lo0k1ng"));
}

static void nearer_candidate_wins_whatever_the_order(void **state)
{
	struct suggestion s = suggestion("logaot");

	(void)state;
	suggestion_consider(&s, "login"); /* three letters differ: not near */
	assert_null(s.best);
	suggestion_consider(&s, "logbook"); /* two */
	assert_null(s.best);
	suggestion_consider(&s, "logoot");
	suggestion_consider(&s, "logarot");
	assert_string_equal("logoot", s.best);
	assert_int_equal(1, s.distance);
}

/* Words of any length come from outside; what is too long for the table gets no suggestion. */
static void word_longer_than_any_key_is_left_alone(void **state)
{
	char word[5000];

	(void)state;
	for (size_t n = 38; n < sizeof(word); n += n < 44 ? 1 : 991) {
		struct suggestion s;

		memset(word, 'a', n);
		word[n] = '\0';
		s = suggestion(word);
		suggestion_consider(&s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		assert_true(n <= 40 ? s.best != NULL : s.best == NULL);
		s = suggestion("login");
		suggestion_consider(&s, word);
		assert_null(s.best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slip_of_the_finger),
		cmocka_unit_test(beginning_of_a_word),
		cmocka_unit_test(another_word_is_no_slip),
		cmocka_unit_test(nearer_candidate_wins_whatever_the_order),
		cmocka_unit_test(word_longer_than_any_key_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
