/* The rows of the configuration file: one per key. Whoever adds a key adds a row here and a field
 * in config.h; reading, defaults, complaints and the help all come from the row. */
#include <errno.h>

#include "target/config_schema.h"

static const char *const stores[] = {"file", "memory", "null", NULL};
static const char *const engines[] = {"auto", "io_uring", "threads", NULL};
static const char *const digests[] = {"optional", "none", "crc32c", NULL};
static const char *const crcs[] = {"auto", "off", "on", NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const algorithms[] = {"md5", "sha1", "sha256", "sha3-256", NULL};
static const char *const operations[] = {
	"any", "read", "write", "flush", "discard", "write_zeroes", NULL};
static const char *const errors[] = {"EIO", "ENOSPC", "EROFS", "ETIMEDOUT", "EBUSY", NULL};
static const int error_numbers[] = {EIO, ENOSPC, EROFS, ETIMEDOUT, EBUSY};

int config_fault_errno(int index)
{
	return error_numbers[index];
}

const char *config_fault_error_name(int index)
{
	return errors[index];
}

const char *config_fault_operation_name(int index)
{
	return operations[index];
}

#define AT(type, field) .offset = offsetof(struct type, field)

static const struct config_row word_rows[] = {
	{"word", CONFIG_STRING, AT(config_word, word), .required = true, .help = "a word"},
	{0},
};

static const struct config_schema portal_schema = {
	"portal", sizeof(struct config_word), word_rows, "word", config_check_portal};

static const struct config_row algorithm_rows[] = {
	{"word", CONFIG_STRING, AT(config_word, word), .required = true, .choices = algorithms,
		.help = "md5, sha1, sha256 or sha3-256"},
	{0},
};

static const struct config_schema algorithm_schema = {
	"algorithm", sizeof(struct config_word), algorithm_rows, "word", NULL};

static const struct config_row number_rows[] = {
	{"lun", CONFIG_UINT, AT(config_number, number), .required = true, .max = 16383,
		.help = "a LUN"},
	{0},
};

static const struct config_schema number_schema = {
	"lun", sizeof(struct config_number), number_rows, "lun", NULL};

static const struct config_row secret_rows[] = {
	{"name", CONFIG_STRING, AT(config_secret, name), .required = true,
		.help = "the name that the target answers with"},
	{"secret", CONFIG_STRING, AT(config_secret, secret),
		.help = "its secret, 12 characters or more"},
	{"secret_file", CONFIG_PATH, AT(config_secret, secret_file),
		.help = "file with the secret in its first line, instead of `secret`"},
	{0},
};

static const struct config_schema secret_schema = {
	"mutual", sizeof(struct config_secret), secret_rows, NULL, config_check_secret};

static const struct config_row chap_rows[] = {
	{"name", CONFIG_STRING, AT(config_chap, name), .required = true,
		.help = "the name that the initiator must give"},
	{"secret", CONFIG_STRING, AT(config_chap, secret),
		.help = "its secret, 12 characters or more"},
	{"secret_file", CONFIG_PATH, AT(config_chap, secret_file),
		.help = "file with the secret in its first line, instead of `secret`"},
	{"algorithms", CONFIG_LIST, AT(config_chap, algorithms), .schema = &algorithm_schema,
		.help = "allowed digests in order of preference; absent: all, sha256 first"},
	{"mutual", CONFIG_SECTION, AT(config_chap, mutual), .schema = &secret_schema,
		.help = "what the target proves to an initiator that asks"},
	{0},
};

static const struct config_schema chap_schema = {
	"chap", sizeof(struct config_chap), chap_rows, NULL, config_check_chap};

static const struct config_row initiator_rows[] = {
	{"name", CONFIG_STRING, AT(config_initiator, name), .required = true,
		.help = "an initiator's name; * and ? stand for any text and any character"},
	{"chap", CONFIG_SECTION, AT(config_initiator, chap), .schema = &chap_schema,
		.help = "instead of the target's"},
	{"luns", CONFIG_LIST, AT(config_initiator, luns), .schema = &number_schema,
		.help = "the LUNs that it may see; absent: all"},
	{0},
};

static const struct config_schema initiator_schema = {"initiator", sizeof(struct config_initiator),
	initiator_rows, "name", config_check_initiator};

static const struct config_row delay_rows[] = {
	{"read", CONFIG_TIME, AT(config_delay, read), .help = "added to each read, e.g. 5ms"},
	{"write", CONFIG_TIME, AT(config_delay, write), .help = "added to each write"},
	{"flush", CONFIG_TIME, AT(config_delay, flush), .help = "added to each flush"},
	{0},
};

static const struct config_schema delay_schema = {
	"delay", sizeof(struct config_delay), delay_rows, NULL, NULL};

static const struct config_row fault_rows[] = {
	{"operation", CONFIG_CHOICE, AT(config_fault, operation), "any", .choices = operations,
		.help = "which requests fail"},
	{"from", CONFIG_SIZE, AT(config_fault, from), .help = "first byte of the bad range"},
	{"to", CONFIG_SIZE, AT(config_fault, to),
		.help = "byte behind the bad range; absent: everywhere"},
	{"after", CONFIG_UINT, AT(config_fault, after), .max = UINT32_MAX,
		.help = "so many matching requests succeed first"},
	{"count", CONFIG_UINT, AT(config_fault, count), .max = UINT32_MAX,
		.help = "so many fail; 0: all from then on"},
	{"error", CONFIG_CHOICE, AT(config_fault, error), "EIO", .choices = errors,
		.help = "what they fail with"},
	{0},
};

static const struct config_schema fault_schema = {
	"fault", sizeof(struct config_fault), fault_rows, NULL, config_check_fault};

static const struct config_row lun_rows[] = {
	{"lun", CONFIG_UINT, AT(config_lun, lun), .required = true, .max = 16383,
		.help = "the logical unit number"},
	{"backend", CONFIG_CHOICE, AT(config_lun, backend), "file", .choices = stores,
		.help = "where the data is; null forgets it"},
	{"path", CONFIG_PATH, AT(config_lun, path),
		.help = "file: an existing image or a block device"},
	{"size", CONFIG_SIZE, AT(config_lun, size),
		.help = "memory, null: required. file: export only so much of it"},
	{"block_size", CONFIG_SIZE, AT(config_lun, block_size), .min = 512, .max = 4096,
		.help = "512 or 4096; absent: what the backend has, 512 for files"},
	{"direct", CONFIG_BOOL, AT(config_lun, direct), "false",
		.help = "file: bypass the page cache"},
	{"readonly", CONFIG_BOOL, AT(config_lun, readonly), "false", .help = "refuse writes"},
	{"write_cache", CONFIG_BOOL, AT(config_lun, write_cache), "true",
		.help = "true: durable after a flush or FUA; false: durable at every write"},
	{"thin", CONFIG_BOOL, AT(config_lun, thin), "true", .help = "offer UNMAP to initiators"},
	{"rotational", CONFIG_BOOL, AT(config_lun, rotational), "false",
		.help = "tell initiators that it is a spinning disk"},
	{"engine", CONFIG_CHOICE, AT(config_lun, engine), "auto", .choices = engines,
		.help = "file: how it is read; auto takes threads where io_uring is refused"},
	{"threads", CONFIG_UINT, AT(config_lun, threads), .max = 64,
		.help = "file: threads per loop with engine threads; 0: 4"},
	{"vendor", CONFIG_STRING, AT(config_lun, vendor), .max = 8, .help = "INQUIRY vendor"},
	{"product", CONFIG_STRING, AT(config_lun, product), .max = 16, .help = "INQUIRY product"},
	{"revision", CONFIG_STRING, AT(config_lun, revision), .max = 4,
		.help = "INQUIRY product revision"},
	{"serial", CONFIG_STRING, AT(config_lun, serial), .max = 63,
		.help = "unit serial number; absent: made from target name and LUN"},
	{"delay", CONFIG_SECTION, AT(config_lun, delay), .schema = &delay_schema,
		.help = "make it slow, for tests"},
	{"fault", CONFIG_LIST, AT(config_lun, faults), .schema = &fault_schema,
		.help = "make it fail, for tests; the first rule that matches counts"},
	{0},
};

static const struct config_schema lun_schema = {
	"lun", sizeof(struct config_lun), lun_rows, NULL, config_check_lun};

static const struct config_row target_rows[] = {
	{"name", CONFIG_STRING, AT(config_target, name), .required = true,
		.help = "iqn.YYYY-MM.reversed.domain:text, eui. or naa. name"},
	{"alias", CONFIG_STRING, AT(config_target, alias), .max = 255,
		.help = "a name for people, told to initiators"},
	{"chap", CONFIG_SECTION, AT(config_target, chap), .schema = &chap_schema,
		.help = "what every initiator must prove"},
	{"initiators", CONFIG_LIST, AT(config_target, initiators), .schema = &initiator_schema,
		.help = "who may log in; absent: everyone. The first entry that matches counts"},
	{"luns", CONFIG_LIST, AT(config_target, luns), .schema = &lun_schema,
		.help = "its logical units"},
	{0},
};

static const struct config_schema target_schema = {
	"target", sizeof(struct config_target), target_rows, NULL, config_check_target};

static const struct config_row discovery_rows[] = {
	{"chap", CONFIG_SECTION, AT(config_discovery, chap), .schema = &chap_schema,
		.help = "what an initiator must prove to see the list of targets"},
	{0},
};

static const struct config_schema discovery_schema = {
	"discovery", sizeof(struct config_discovery), discovery_rows, NULL, NULL};

#define SECOND 1000000000ull

static const struct config_row root_rows[] = {
	{"portals", CONFIG_LIST, AT(config, portals), .schema = &portal_schema,
		.help = "addresses to listen on: 192.0.2.1, [2001:db8::1]:3260, *:3260; default "
			"*:3260"},
	{"targets", CONFIG_LIST, AT(config, targets), .schema = &target_schema,
		.help = "what is exported"},
	{"discovery", CONFIG_SECTION, AT(config, discovery), .schema = &discovery_schema,
		.help = "who may see the list of targets"},
	{"loops", CONFIG_UINT, AT(config, loops), "0", .max = 256,
		.help = "threads that serve connections; 0: one per CPU"},
	{"busy_poll", CONFIG_TIME, AT(config, busy_poll_ns), "0", .max = SECOND / 10,
		.help = "poll so long before sleeping, e.g. 50us: less latency for more CPU"},
	{"arena_size", CONFIG_SIZE, AT(config, arena_size), "64M", .min = 16 << 20,
		.max = 1ull << 36, .help = "memory for data under way, per loop"},
	{"commands", CONFIG_UINT, AT(config, commands), "1024", .min = 16, .max = 65536,
		.help = "commands under way at a time, per loop"},
	{"queue_depth", CONFIG_UINT, AT(config, queue_depth), "128", .min = 1, .max = 1024,
		.help = "commands that one session may have under way"},
	{"max_sessions", CONFIG_UINT, AT(config, max_sessions), "1024", .min = 1, .max = 65000,
		.help = "sessions in all"},
	{"max_target_sessions", CONFIG_UINT, AT(config, max_target_sessions), "256", .min = 1,
		.max = 65000, .help = "sessions of one target"},
	{"max_logins", CONFIG_UINT, AT(config, max_logins), "128", .min = 1, .max = 65000,
		.help = "connections that may be in their login phase at a time"},
	{"login_timeout", CONFIG_TIME, AT(config, login_timeout_ns), "15s", .min = SECOND / 10,
		.max = 600 * SECOND, .help = "a login that takes longer is dropped"},
	{"ping_interval", CONFIG_TIME, AT(config, ping_interval_ns), "30s", .max = 3600 * SECOND,
		.help = "silence after which an initiator is pinged; 0: never"},
	{"ping_timeout", CONFIG_TIME, AT(config, ping_timeout_ns), "30s", .min = SECOND / 10,
		.max = 3600 * SECOND, .help = "an initiator that does not answer is dropped"},
	{"drain_timeout", CONFIG_TIME, AT(config, drain_timeout_ns), "10s", .max = 600 * SECOND,
		.help = "how long a stop waits for initiators and commands"},
	{"header_digest", CONFIG_CHOICE, AT(config, header_digest), "optional", .choices = digests,
		.help = "TCP: CRC32c of headers"},
	{"data_digest", CONFIG_CHOICE, AT(config, data_digest), "optional", .choices = digests,
		.help = "TCP: CRC32c of data"},
	{"immediate_data", CONFIG_BOOL, AT(config, immediate_data), "true",
		.help = "let small writes travel with their command"},
	{"max_burst", CONFIG_SIZE, AT(config, max_burst), "16776192", .min = 512, .max = 16777215,
		.help = "MaxBurstLength"},
	{"first_burst", CONFIG_SIZE, AT(config, first_burst), "256K", .min = 512, .max = 16777215,
		.help = "FirstBurstLength"},
	{"max_receive", CONFIG_SIZE, AT(config, max_receive), "256K", .min = 512, .max = 16777215,
		.help = "TCP: MaxRecvDataSegmentLength"},
	{"iser_receive", CONFIG_SIZE, AT(config, iser_receive), "8K", .min = 512, .max = 65536,
		.help = "iSER: TargetRecvDataSegmentLength, which bounds immediate data"},
	{"require_rdma_extensions", CONFIG_BOOL, AT(config, require_rdma_extensions), "false",
		.help = "iSER: refuse a login that does not offer RDMAExtensions=Yes"},
	{"remote_invalidate", CONFIG_BOOL, AT(config, remote_invalidate), "true",
		.help = "iSER: Send with Invalidate toward peers that allow it"},
	{"rdma", CONFIG_BOOL, AT(config, rdma), "true",
		.help = "iSER: listen on RDMA devices that hold a portal's address, too"},
	{"rdma_retry_count", CONFIG_UINT, AT(config, rdma_retry_count), "7", .min = 1, .max = 7,
		.help = "RDMA devices: how often a packet is sent again"},
	{"rdma_ack_timeout", CONFIG_TIME, AT(config, rdma_ack_timeout_ns), "0",
		.max = 8000000000000ull,
		.help = "RDMA devices: when it is sent again; 0: as the device has it"},
	{"rdma_rnr_timer", CONFIG_TIME, AT(config, rdma_rnr_timer_ns), "30ms", .max = 491520000,
		.help = "RDMA devices: what an initiator waits when no receive is posted"},
	{"crc", CONFIG_CHOICE, AT(config, crc), "auto", .choices = crcs,
		.help = "software iWARP: CRC; auto: off when both ends are on this host"},
	{"max_fpdu", CONFIG_SIZE, AT(config, max_fpdu), "0", .max = 65535,
		.help = "software iWARP: largest ULPDU sent, 128 or more; 0: 64 KiB"},
	{"congestion_control", CONFIG_STRING, AT(config, congestion_control), .max = 15,
		.help = "TCP congestion control; absent: the system's"},
	{"log_level", CONFIG_CHOICE, AT(config, log_level), "info", .choices = levels,
		.help = "what is logged"},
	{"control_socket", CONFIG_PATH, AT(config, control),
		.help = "where isertadm finds the daemon; default /run/iseran/isertd.sock"},
	{0},
};

const struct config_schema config_schema_root = {
	"configuration", sizeof(struct config), root_rows, NULL, config_check_root};
