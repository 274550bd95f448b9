/* SPDX-License-Identifier: Apache-2.0
 *
 * cmocka, and what it wants before it.
 */
#ifndef HUTCH_TESTS_UNIT_H
#define HUTCH_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#endif
