/* Intrusive doubly linked list. A node that is in no list is linked to itself after
 * list_init(); list_remove() leaves it so, which makes a second removal harmless. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/bytes.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_insert_before(struct list *at, struct list *node)
{
	node->next = at;
	node->prev = at->prev;
	at->prev->next = node;
	at->prev = node;
}

static inline void list_append(struct list *head, struct list *node)
{
	list_insert_before(head, node);
}

static inline void list_prepend(struct list *head, struct list *node)
{
	list_insert_before(head->next, node);
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* The first node, taken out; NULL if there is none. */
static inline struct list *list_pop(struct list *head)
{
	struct list *node = head->next;

	if (node == head)
		return NULL;
	list_remove(node);
	return node;
}

/* Moves every node of `from` behind the last of `to`; `from` is empty afterwards. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)

#define list_for_each(var, head, member)                                                           \
	for (var = list_entry((head)->next, __typeof__(*var), member); &var->member != (head);     \
		var = list_entry(var->member.next, __typeof__(*var), member))

/* As list_for_each, but the body may remove (or free) `var`. */
#define list_for_each_safe(var, tmp, head, member)                                                 \
	for (var = list_entry((head)->next, __typeof__(*var), member),                             \
	    tmp = list_entry(var->member.next, __typeof__(*var), member);                          \
		&var->member != (head);                                                            \
		var = tmp, tmp = list_entry(tmp->member.next, __typeof__(*tmp), member))
