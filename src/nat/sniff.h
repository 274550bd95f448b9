/* SPDX-License-Identifier: Apache-2.0
 *
 * What the first bytes of a client say about the host that it wants.
 */
#ifndef HUTCH_NAT_SNIFF_H
#define HUTCH_NAT_SNIFF_H

enum sniff {
        SNIFF_MORE,    /* undecided: wait for more bytes */
        SNIFF_OTHER,   /* another protocol */
        SNIFF_NAME,    /* they name a host */
        SNIFF_NO_NAME, /* they are complete and name no host */
        SNIFF_BAD,     /* they are of this protocol, but malformed or ambiguous: refuse the flow */
};

#endif
