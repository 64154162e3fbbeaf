/* Exit statuses of iseradm, which are those that iserd answers with. Numbers are iscsiadm(8)'s
 * wherever it documents one for the situation, since scripts compare with them; what it has no
 * number for is STATUS_FAILED. This is the only table: the help, the manual and the tests follow
 * it. The daemons themselves and isertadm end with those of common/base/options.h. */
#pragma once

#define STATUS_TABLE(ROW)                                                                          \
	ROW(STATUS_OK, 0, "it worked")                                                             \
	ROW(STATUS_FAILED, 1, "it failed for a reason that has no number of its own")              \
	ROW(STATUS_NO_SESSION, 2, "there is no session with that number")                          \
	ROW(STATUS_NO_MEMORY, 3, "no memory, or no descriptor")                                    \
	ROW(STATUS_UNREACHABLE, 4, "the portal cannot be connected to, or hung up")                \
	ROW(STATUS_LOGIN, 5, "the login failed, and may succeed later")                            \
	ROW(STATUS_DATABASE, 6, "a record cannot be read or written")                              \
	ROW(STATUS_USAGE, 7, "the command line, a value or a file is wrong")                       \
	ROW(STATUS_TIMED_OUT, 8, "connecting and logging in took too long")                        \
	ROW(STATUS_LOGOUT, 10, "the logout failed")                                                \
	ROW(STATUS_NO_ANSWER, 11, "the target did not answer a request in time")                   \
	ROW(STATUS_NO_TRANSPORT, 12, "nothing here carries that transport")                        \
	ROW(STATUS_ACCESS, 13, "permission is missing")                                            \
	ROW(STATUS_EXISTS, 15, "there is a session, or a record, already")                         \
	ROW(STATUS_DAEMON_LOST, 18, "iserd went away before it answered")                          \
	ROW(STATUS_LOGIN_FATAL, 19, "the target refuses the login, and will the next time")        \
	ROW(STATUS_NO_DAEMON, 20, "iserd does not run, and cannot be started")                     \
	ROW(STATUS_NOT_FOUND, 21, "there is no such record, session, target or LUN")               \
	ROW(STATUS_AUTH, 24, "authentication failed, or the access list refuses")                  \
	ROW(STATUS_UNSUPPORTED, 27, "a mode or an operation of iscsiadm that iseradm has not")     \
	ROW(STATUS_BUSY, 28, "a device is in use")                                                 \
	ROW(STATUS_AGAIN, 29, "something is under way; it may succeed later")                      \
	ROW(STATUS_DISCOVERY_TYPE, 30, "a type of discovery that there is not")                    \
	ROW(STATUS_NOT_CONNECTED, 32, "the session is not connected now")

#define STATUS_ENUM_ROW(name, number, text) name = (number),

enum ini_status {
	STATUS_TABLE(STATUS_ENUM_ROW)
};
