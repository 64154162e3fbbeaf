/* isertd: the target daemon. Reads the command line and the configuration, starts everything or
 * nothing, turns its loop until it is told to stop, and ends. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/control/service.h"
#include "target/daemon/daemon.h"

static void on_signal(void *arg, int number)
{
	struct daemon *d = arg;
	struct config_report report = {0};

	if (number == SIGHUP) {
		service_notify("RELOADING=1");
		daemon_reload(d, &report);
		config_report_free(&report);
		service_notify("READY=1");
	} else {
		service_notify("STOPPING=1");
		daemon_stop(d);
	}
}

static int load(struct daemon *d)
{
	struct config_report report = {.unnumbered = quick_wanted(&d->options)};
	int err = quick_wanted(&d->options) ? quick_config(&d->options, &report, &d->config)
					    : config_load(d->options.config, &report, &d->config);

	/* a daemon that waits for its first target, which a reload brings, is of use */
	if (err == 0 && !d->config->targets.count)
		config_report_add(&report, true, d->config->file, 0,
			"there are no targets: nothing is exported until some are added and "
			"isertadm reload reads them");
	daemon_print_report(&report);
	if (err < 0 && !report.errors)
		fprintf(stderr, "isertd: cannot read the configuration: %s\n", strerror(-err));
	config_report_free(&report);
	return err < 0 ? EXIT_USAGE : EXIT_OK;
}

static size_t count_luns(const struct config *c)
{
	size_t luns = 0;

	for (size_t i = 0; i < c->targets.count; i++)
		luns += config_item(c->targets, struct config_target, i).luns.count;
	return luns;
}

/* --check: the images too, which a start would open; also while a daemon has them open. */
static int check(struct daemon *d)
{
	struct config_report report = {.unnumbered = quick_wanted(&d->options)};
	struct target_set *set;
	int err = target_set_new(d->config, 1, store_look, &report, &set);

	daemon_print_report(&report);
	config_report_free(&report);
	if (err < 0)
		return EXIT_USAGE;
	target_set_free(set);
	printf("%s: no mistake found: targets %zu, LUNs %zu\n", d->config->file,
		d->config->targets.count, count_luns(d->config));
	return EXIT_OK;
}

static void set_log_level(const struct daemon *d)
{
	int level = d->options.log_level < 0 ? d->config->log_level : d->options.log_level;

	log_set_level((enum log_level)level);
}

static int run(struct daemon *d)
{
	int status, err = service_loop_new(NULL, on_signal, d, &d->loop);

	if (err < 0) {
		fprintf(stderr, "isertd: cannot make its loop: %s\n", strerror(-err));
		return EXIT_FAILED;
	}
	status = daemon_start(d);
	if (status != EXIT_OK)
		return status;
	service_notify("READY=1");
	loop_run(d->loop);
	if (!d->drained) {
		/* A backend still has requests: nothing that they point to may be freed. */
		fflush(NULL);
		_exit(EXIT_FAILED);
	}
	log_info("stop", "all is flushed and closed");
	return EXIT_OK;
}

static int print_keys(void)
{
	struct config_text text;

	if (config_help(&text) < 0)
		return EXIT_FAILED;
	fwrite(text.text, 1, text.length, stdout);
	alloc_free(text.text);
	return EXIT_OK;
}

static int serve(struct daemon *d)
{
	int status = load(d);

	if (status == EXIT_OK) {
		set_log_level(d);
		status = d->options.check ? check(d) : run(d);
	}
	daemon_free(d);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon d = {0};

	if (daemon_options_parse(&d.options, argc, argv) < 0)
		return EXIT_USAGE;
	if (d.options.help)
		daemon_options_help(stdout);
	else if (d.options.version)
		daemon_version(stdout);
	else if (d.options.keys)
		return print_keys();
	else
		return serve(&d);
	return EXIT_OK;
}
