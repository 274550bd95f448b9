/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows of UDP: one for each pair of a socket of the sandbox and a destination, with a host socket of its own,
 * ended by silence. Datagrams are never kept: while a destination is being found, only the first few are.
 */
#include "nat/nat.h"
