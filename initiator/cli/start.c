/* Starts iserd where it does not run: the one that lies beside this tool, else one in $PATH. It
 * gets a session of its own, so that the terminal's signals do not reach it, and a log file in the
 * runtime directory. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/control/control.h"
#include "initiator/cli/iseradm.h"

#define WAIT_MS 5000
#define STEP_MS 20
#define WHY_SIZE 512

/* The directory, and those above it. */
static int make_directories(const char *path)
{
	char upper[TOOL_PATH_SIZE];

	snprintf(upper, sizeof(upper), "%s", path);
	for (char *slash = strchr(upper + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(upper, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(upper, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_log(const struct tool_options *o, char path[TOOL_PATH_SIZE])
{
	int rc = make_directories(tool_runtime_dir(o)), fd;

	snprintf(path, TOOL_PATH_SIZE, "%s/iserd.log", tool_runtime_dir(o));
	if (rc < 0)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	return fd < 0 ? -errno : fd;
}

static void run_beside(char *const arguments[])
{
	char path[TOOL_PATH_SIZE];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);

	if (n <= 0)
		return;
	path[n] = '\0';
	dirname(path);
	strncat(path, "/iserd", sizeof(path) - strlen(path) - 1);
	execv(path, arguments);
}

/* The child: never returns. */
static void run_iserd(const struct tool_options *o, int log)
{
	char *const arguments[] = {"iserd", "--state-dir", (char *)tool_state_dir(o),
		"--runtime-dir", (char *)tool_runtime_dir(o), NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(null, STDIN_FILENO);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	run_beside(arguments);
	execvp("iserd", arguments);
	dprintf(STDERR_FILENO, "iserd: cannot be run: %s\n", strerror(errno));
	_exit(127);
}

/* What the daemon wrote last says why it ended. */
static void last_line(const char *path, char out[WHY_SIZE])
{
	char text[WHY_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
	ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, from);
	char *line;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	line = strrchr(text, '\n');
	snprintf(out, WHY_SIZE, "%s", line ? line + 1 : text);
}

static bool answers(const char *socket_path)
{
	struct control_client *c = NULL;

	if (control_connect(socket_path, &c) < 0)
		return false;
	control_disconnect(c);
	return true;
}

static int wait_for_socket(pid_t child, const char *socket_path, const char *log_path)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
	char why[WHY_SIZE];

	for (int waited = 0; waited < WAIT_MS; waited += STEP_MS) {
		if (answers(socket_path))
			return STATUS_OK;
		if (waitpid(child, NULL, WNOHANG) == child) {
			if (answers(socket_path)) /* another one was faster */
				return STATUS_OK;
			last_line(log_path, why);
			if (!*why)
				snprintf(why, sizeof(why), "it left no word in %.200s", log_path);
			return tool_fail(STATUS_NO_DAEMON, "iserd does not start: %s",
				!strncmp(why, "iserd: ", 7) ? why + 7 : why);
		}
		nanosleep(&step, NULL);
	}
	return tool_fail(STATUS_NO_DAEMON, "iserd does not answer within %d s; see %s",
		WAIT_MS / 1000, log_path);
}

int start_iserd(const struct tool_options *o, const char *socket_path)
{
	char log_path[TOOL_PATH_SIZE];
	int log = open_log(o, log_path);
	pid_t child;

	if (log < 0)
		return tool_fail(log == -EACCES || log == -EPERM ? STATUS_ACCESS : STATUS_NO_DAEMON,
			"iserd does not run, and cannot be started: %s: %s%s", log_path,
			strerror(-log), log == -EACCES ? "; try as root" : "");
	child = fork();
	if (child == 0)
		run_iserd(o, log);
	close(log);
	if (child < 0)
		return tool_fail(STATUS_NO_DAEMON, "iserd does not run, and cannot be started: %s",
			strerror(errno));
	return wait_for_socket(child, socket_path, log_path);
}
