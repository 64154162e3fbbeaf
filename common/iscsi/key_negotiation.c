/* The negotiation engine: RFC 7143 section 6.2 over the rows of key_table.c. Every rule that is not
 * said in a row is here, once, for both roles. Called by login_initiator.c and login_target.c. */
#include "common/iscsi/key_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/iscsi/login.h"

/* The names are so few because ours are: the longest is "None". */
#define LIST_ENTRY_MAX 64

/* ---- values in struct iscsi_params ---- */

static uint32_t field_get(const struct key_row *row, const struct iscsi_params *p, uint16_t field)
{
	const char *at = (const char *)p + field;
	uint32_t value;

	if (field == KEY_NO_FIELD)
		return row->standard;
	if (row->type == KEY_BOOLEAN)
		return *(const bool *)at;
	memcpy(&value, at, sizeof(value));
	return value;
}

static void field_set(
	const struct key_row *row, struct iscsi_params *p, uint16_t field, uint32_t value)
{
	char *at = (char *)p + field;

	if (field == KEY_NO_FIELD)
		return;
	if (row->type == KEY_BOOLEAN)
		*(bool *)at = value != 0;
	else
		memcpy(at, &value, sizeof(value));
}

void iscsi_params_default(struct iscsi_params *p)
{
	memset(p, 0, sizeof(*p));
	for (const struct key_row *row = key_table; row < key_table + KEY_COUNT; row++) {
		field_set(row, p, row->field, row->standard);
		field_set(row, p, row->peer_field, row->standard);
	}
}

void key_negotiation_init(
	struct key_negotiation *n, bool initiator, bool rdma, const struct iscsi_params *ours)
{
	memset(n, 0, sizeof(*n));
	n->initiator = initiator;
	n->rdma = rdma;
	n->leading = true;
	n->stage = KEY_IN_SECURITY;
	n->ours = *ours;
	iscsi_params_default(&n->outcome);
}

static uint8_t context_of(const struct key_negotiation *n)
{
	bool unsolicited = !n->outcome.initial_r2t || n->outcome.immediate_data;

	return (uint8_t)((n->discovery ? KEY_DISCOVERY : 0) | (n->rdma ? 0 : KEY_OVER_TCP) |
			 (n->rdma && !n->discovery ? KEY_OVER_ISER : 0) |
			 (unsolicited ? 0 : KEY_NO_UNSOLICITED));
}

/* ---- failure ---- */

/* What a peer sent goes into a log line: control characters and the bytes above ASCII do not. */
static void copy_printable(char *to, size_t size, const char *from)
{
	size_t i = 0;

	for (; from[i] && i + 1 < size; i++)
		to[i] = from[i] >= 0x20 && from[i] < 0x7f ? from[i] : '?';
	to[i] = '\0';
}

static unsigned fail(
	struct key_negotiation *n, const char *key, const char *value, const char *what)
{
	char name[ISCSI_KEY_NAME_MAX + 1], text[48];

	copy_printable(name, sizeof(name), key);
	copy_printable(text, sizeof(text), value);
	snprintf(n->why, sizeof(n->why), "%s=%s: %s", name, text, what);
	return LOGIN_INITIATOR_ERROR;
}

/* ---- reading ---- */

static bool is_constant(const char *value)
{
	return !strcmp(value, "NotUnderstood") || !strcmp(value, "Irrelevant") ||
	       !strcmp(value, "Reject");
}

static const char *what_is_wrong(
	const struct key_negotiation *n, enum key_id id, const struct key_pair *pair)
{
	const struct key_row *row = &key_table[id];
	size_t longest = row->type == KEY_TEXT && row->maximum ? row->maximum : ISCSI_VALUE_MAX;
	unsigned sender = n->initiator ? KEY_BY_TARGET : KEY_BY_INITIATOR;

	if (strlen(pair->value) > longest)
		return "the value is too long";
	/* A target that echoes what the initiator said of itself does no harm. */
	if (!(row->senders & sender) && !(n->initiator && row->result == KEY_OWN))
		return "this end of a session does not send this key";
	if (!(row->stages & n->stage))
		return "this key does not belong to this stage of the login";
	if (!n->leading && !n->initiator && (row->flags & KEY_LEADING))
		return "this key belongs to the leading login of a session alone";
	if (!(n->state[id] & KEY_SEEN))
		return NULL;
	if (!(row->flags & KEY_REPEATABLE) ||
		(n->text[id] && id != KEY_TARGET_ADDRESS && strcmp(n->text[id], pair->value)))
		return "the key came before in this login";
	return NULL;
}

static unsigned read_pair(
	struct key_negotiation *n, const struct key_pair *pair, struct bytes_writer *w)
{
	enum key_id id = key_find(pair->key);
	const char *wrong;

	if (id == KEY_COUNT) {
		if (!is_constant(pair->value) && keys_put(w, pair->key, "NotUnderstood"))
			w->overflow = true;
		return 0;
	}
	wrong = what_is_wrong(n, id, pair);
	if (wrong)
		return fail(n, pair->key, pair->value, wrong);
	if (!n->text[id])
		n->text[id] = pair->value;
	n->state[id] |= KEY_SEEN;
	return 0;
}

unsigned key_negotiation_read(
	struct key_negotiation *n, const char *text, size_t length, struct bytes_writer *w)
{
	struct key_pair pair;
	size_t offset = 0;
	unsigned status;
	int rc;

	memset(n->text, 0, sizeof(n->text));
	while ((rc = keys_next(text, length, &offset, &pair)) > 0) {
		status = read_pair(n, &pair, w);
		if (status)
			return status;
	}
	if (rc == 0)
		return 0;
	snprintf(n->why, sizeof(n->why),
		"the login text is not a row of key=value, each with its NUL");
	return LOGIN_INITIATOR_ERROR;
}

/* ---- values ---- */

static uint32_t combine(const struct key_row *row, uint32_t a, uint32_t b)
{
	switch (row->result) {
	case KEY_AND:
	case KEY_MIN:
		return min_u32(a, b); /* of 0 and 1 for a boolean */
	case KEY_OR:
	case KEY_MAX:
		return a > b ? a : b;
	default:
		return a & b;
	}
}

static int parse_boolean(const char *text, uint32_t *ret)
{
	bool yes = !strcmp(text, "Yes");

	if (!yes && strcmp(text, "No"))
		return -EPROTO;
	*ret = yes;
	return 0;
}

static int parse_number(const struct key_row *row, const char *text, uint32_t *ret)
{
	uint32_t value;

	if (keys_number(text, &value))
		return -EPROTO;
	if ((value < row->minimum || value > row->maximum) &&
		!(value == 0 && (row->flags & KEY_ZERO_ALLOWED)))
		return -ERANGE;
	*ret = value;
	return 0;
}

static uint32_t name_bit(const struct key_row *row, const char *name)
{
	for (unsigned i = 0; row->names[i]; i++)
		if (!strcmp(row->names[i], name))
			return 1u << i;
	return 0;
}

/* The first entry that is in `allowed`. */
static int parse_list(const struct key_row *row, const char *text, uint32_t allowed, uint32_t *ret)
{
	char entry[LIST_ENTRY_MAX];
	size_t offset = 0;
	int rc;

	while ((rc = keys_list_next(text, &offset, entry, sizeof(entry))) > 0) {
		uint32_t bit = name_bit(row, entry) & allowed;

		if (bit) {
			*ret = bit;
			return 0;
		}
	}
	return rc ? rc : -ENOENT;
}

static int parse(const struct key_row *row, const char *text, uint32_t allowed, uint32_t *ret)
{
	switch (row->type) {
	case KEY_BOOLEAN:
		return parse_boolean(text, ret);
	case KEY_NUMBER:
		return parse_number(row, text, ret);
	case KEY_LIST:
		return parse_list(row, text, allowed, ret);
	default:
		return -EPROTO;
	}
}

static unsigned name_count(const struct key_row *row)
{
	unsigned count = 0;

	while (row->names[count])
		count++;
	return count;
}

static void put_list(struct bytes_writer *w, const struct key_row *row, uint32_t set)
{
	unsigned count = name_count(row);
	bool lowest_first = set >> count & 1;
	char text[LIST_ENTRY_MAX] = "";
	size_t used = 0;

	for (unsigned n = 0; n < count; n++) {
		unsigned i = lowest_first ? n : count - 1 - n;

		if (set >> i & 1)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
				used ? "," : "", row->names[i]);
	}
	if (keys_put(w, row->name, text))
		w->overflow = true;
}

static void put_text(struct bytes_writer *w, const struct key_row *row, const char *text)
{
	if (keys_put(w, row->name, text))
		w->overflow = true;
}

static void put_value(struct bytes_writer *w, const struct key_row *row, uint32_t value)
{
	if (row->type == KEY_LIST)
		put_list(w, row, value);
	else if (row->type == KEY_BOOLEAN)
		put_text(w, row, value ? "Yes" : "No");
	else if (keys_put_number(w, row->name, value))
		w->overflow = true;
}

/* ---- one key ---- */

static void agree(struct key_negotiation *n, enum key_id id, uint32_t value)
{
	field_set(&key_table[id], &n->outcome, key_table[id].field, value);
	n->state[id] |= KEY_AGREED;
}

static unsigned take_declaration(struct key_negotiation *n, enum key_id id)
{
	const struct key_row *row = &key_table[id];
	uint32_t value;

	n->state[id] |= KEY_AGREED;
	if ((row->irrelevant & context_of(n)) || is_constant(n->text[id]))
		return 0;
	if (parse(row, n->text[id], 0, &value))
		return fail(n, row->name, n->text[id], "this is not a value for this key");
	field_set(row, &n->outcome, row->peer_field, value);
	return 0;
}

/* The peer has not taken part in this key, so its default stands (section 6.2), and what we offered
 * restricts only what we do ourselves. */
static unsigned take_constant(struct key_negotiation *n, enum key_id id)
{
	const struct key_row *row = &key_table[id];
	uint32_t ours = field_get(row, &n->ours, row->field);
	uint32_t value =
		row->result == KEY_CHOOSE ? row->standard : combine(row, row->standard, ours);

	if (!strcmp(n->text[id], "Reject") && combine(row, row->standard, ours) != row->standard)
		return fail(n, row->name, n->text[id], "the peer refuses what we need");
	agree(n, id, value);
	return 0;
}

static unsigned take_answer(struct key_negotiation *n, enum key_id id)
{
	const struct key_row *row = &key_table[id];
	uint32_t ours = field_get(row, &n->ours, row->field), value;

	if (is_constant(n->text[id]))
		return take_constant(n, id);
	if (parse(row, n->text[id], ours, &value))
		return fail(n, row->name, n->text[id], "this is not an answer to what was offered");
	/* An answer is the result already: the function of it and our value changes nothing. */
	if (combine(row, value, ours) != value ||
		(row->type == KEY_LIST && strchr(n->text[id], ',')))
		return fail(n, row->name, n->text[id], "the answer is not what both ends can do");
	agree(n, id, value);
	return 0;
}

static unsigned give_answer(struct key_negotiation *n, enum key_id id, struct bytes_writer *w)
{
	const struct key_row *row = &key_table[id];
	uint32_t ours = field_get(row, &n->ours, row->field), value;

	n->state[id] |= KEY_AGREED;
	if (is_constant(n->text[id]))
		return fail(n, row->name, n->text[id], "an answer to what was not offered");
	if (row->result == KEY_REFUSE) {
		put_text(w, row, row->names[0]);
	} else if (row->irrelevant & context_of(n)) {
		put_text(w, row, "Irrelevant");
	} else if (n->rdma && (row->flags & KEY_NONE_OVER_RDMA)) {
		put_text(w, row, row->names[0]);
	} else if (parse(row, n->text[id], ours, &value)) {
		put_text(w, row, "Reject");
	} else {
		value = combine(row, value, ours);
		if (row->cap_field != KEY_NO_FIELD)
			value = min_u32(value, field_get(row, &n->outcome, row->cap_field));
		agree(n, id, value);
		put_value(w, row, value);
	}
	return 0;
}

unsigned key_negotiation_answer(struct key_negotiation *n, struct bytes_writer *w)
{
	unsigned status = 0;

	for (enum key_id id = 0; id < KEY_COUNT && !status; id++) {
		const struct key_row *row = &key_table[id];

		if (!n->text[id] || row->result == KEY_OWN)
			continue;
		if (row->result == KEY_DECLARE)
			status = take_declaration(n, id);
		else if (n->state[id] & KEY_SENT)
			status = take_answer(n, id);
		else
			status = give_answer(n, id, w);
	}
	return status;
}

/* ---- offering ---- */

void key_negotiation_declare(struct key_negotiation *n, enum key_id id, struct bytes_writer *w)
{
	const struct key_row *row = &key_table[id];

	n->state[id] |= KEY_SENT;
	/* Declared is in force; offered waits for the answer. But the iSER mover must post receives
	 * before the answer comes: what it then finds is the most that we may have to take. */
	if (row->field != row->peer_field &&
		(row->result == KEY_DECLARE || row->owner == KEY_OF_ISER_MOVER))
		field_set(row, &n->outcome, row->field, field_get(row, &n->ours, row->field));
	put_value(w, row, field_get(row, &n->ours, row->field));
}

/* The target does not volunteer what an initiator left alone: open-iscsi gives up at a key that it
 * does not expect. It must speak where the default would let the initiator
 * do what we do not allow. */
static bool must_restrict(const struct key_negotiation *n, const struct key_row *row)
{
	bool negotiated = row->result >= KEY_AND && row->result <= KEY_MAX;

	return !n->discovery && negotiated && row->owner == KEY_OF_SESSION &&
	       combine(row, row->standard, field_get(row, &n->ours, row->field)) != row->standard;
}

static bool is_to_offer(const struct key_negotiation *n, enum key_id id)
{
	const struct key_row *row = &key_table[id];

	if (n->state[id] || ((row->irrelevant | row->unoffered) & context_of(n)) ||
		(!n->leading && (row->flags & KEY_LEADING)))
		return false;
	return n->initiator ? (row->flags & KEY_OFFERED) != 0 : must_restrict(n, row);
}

bool key_negotiation_offer(struct key_negotiation *n, struct bytes_writer *w)
{
	bool any = false;

	for (enum key_id id = 0; id < KEY_COUNT; id++) {
		if (!is_to_offer(n, id))
			continue;
		key_negotiation_declare(n, id, w);
		any = true;
	}
	return any;
}

/* ---- the end ---- */

static bool is_open(const struct key_negotiation *n, enum key_id id)
{
	const struct key_row *row = &key_table[id];

	return (n->state[id] & KEY_SENT) && !(n->state[id] & KEY_AGREED) &&
	       row->result >= KEY_AND && row->result <= KEY_CHOOSE;
}

bool key_negotiation_open(const struct key_negotiation *n)
{
	for (enum key_id id = 0; id < KEY_COUNT; id++)
		if (is_open(n, id))
			return true;
	return false;
}

/* Offers that were never answered stand at what the default and our own value allow. */
static void settle_unanswered(struct key_negotiation *n)
{
	for (enum key_id id = 0; id < KEY_COUNT; id++) {
		const struct key_row *row = &key_table[id];

		if (is_open(n, id) && row->result != KEY_CHOOSE)
			agree(n, id,
				combine(row, row->standard, field_get(row, &n->ours, row->field)));
	}
}

void key_negotiation_derive(struct key_negotiation *n)
{
	struct iscsi_params *p = &n->outcome;
	uint32_t initiator = p->initiator_recv_data_segment_length;
	uint32_t target = p->target_recv_data_segment_length;

	if (!n->rdma)
		return;
	p->header_digest = p->data_digest = ISCSI_DIGEST_NONE;
	p->max_recv_data_segment_length = n->initiator ? initiator : target;
	p->peer_max_recv_data_segment_length = n->initiator ? target : initiator;
}

void key_negotiation_finish(struct key_negotiation *n)
{
	struct iscsi_params *p = &n->outcome;

	settle_unanswered(n);
	p->first_burst_length = min_u32(p->first_burst_length, p->max_burst_length);
	key_negotiation_derive(n);
}
