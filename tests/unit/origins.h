/* SPDX-License-Identifier: Apache-2.0
 *
 * The origin of a mount by the text that hutch shows for it, so that the mounts of unit tests are short to
 * write.
 */
#ifndef HUTCH_TESTS_ORIGINS_H
#define HUTCH_TESTS_ORIGINS_H

#include "box/box.h"

static inline enum mount_origin origin_of(const char *why)
{
        static const struct {
                const char *start;
                enum mount_origin origin;
        } texts[] = {
            {"base", ORIGIN_BASE},         {"--persist", ORIGIN_PERSIST}, {"--", ORIGIN_OPTION},
            {"packages", ORIGIN_PACKAGES}, {"protected", ORIGIN_PROTECT}, {"holds", ORIGIN_PROTECT},
            {"socket", ORIGIN_SOCKET},
        };
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
                if (str_starts(why, texts[i].start))
                        return texts[i].origin;
        return ORIGIN_COMMAND;
}

#endif
