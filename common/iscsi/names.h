/* iSCSI names (RFC 7143 section 4.2.7) as people type them: in configuration files and on command
 * lines. What a peer sends is compared, not judged by this. No I/O. */
#pragma once

/* 0: a well-formed iqn., eui. or naa. name in the normal form of RFC 3722. -EINVAL: not; *why is
 * one static sentence that says what is wrong and what would be right. */
int iscsi_name_check(const char *name, const char **why);
/* The case mapping of RFC 3722 for ASCII, in place: what a person types in capitals names the same
 * node. */
void iscsi_name_lower(char *name);
