/* SPDX-License-Identifier: Apache-2.0
 *
 * See scripts.h.
 */
#include "command/scripts.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <fcntl.h>
#include <unistd.h>

enum { SCRIPT_MAX = 16 * 1024 };

bool script_read_line(const char *file, struct script_line *line)
{
        /* O_NONBLOCK: the file may be a fifo that nobody writes. */
        autoclose int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        ssize_t length = fd < 0 ? -1 : pread(fd, line->text, SCRIPT_LINE_MAX, 0);
        if (length < 2 || line->text[0] != '#' || line->text[1] != '!')
                return false;
        line->text[length] = 0;
        line->text[strcspn(line->text, "\r\n")] = 0;
        line->interpreter = line->text + 2 + strspn(line->text + 2, " \t");
        line->words = line->interpreter + strcspn(line->interpreter, " \t");
        if (*line->words)
                *line->words++ = 0;
        return line->interpreter[0] != 0;
}

char *script_read_node_program(const char *file)
{
        static const char start[] = "exec node ", directory[] = "\"$basedir/";
        autofree char *text = NULL;
        if (fd_read_file(file, SCRIPT_MAX, &text) < 0 || !str_starts(text, "#!") ||
            !strstr(text, "\nbasedir="))
                return NULL;
        char *program = strstr(text, start);
        program = program ? program + strlen(start) + strspn(program + strlen(start), " ") : NULL;
        if (!program || !str_starts(program, directory))
                return NULL;
        program += strlen(directory);
        size_t length = strcspn(program, "\"\n");
        return length > 0 && program[length] == '"' ? str_copy_n(program, length) : NULL;
}
