/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-fetch: the program behind `hutch fetch`, with the same arguments. It is a separate program because
 * only it downloads: hutch starts a server without its code.
 */
#include "fetch/fetch.h"
#include "lib/messages.h"
#include "lib/standard_fds.h"
#include "options/help.h"
#include "run/status_lines.h"

int main(int argc, char **argv)
{
        const struct subcommand_row *row = subcommand_find("fetch");
        struct error error = {0};
        struct options options = {0};
        int status = 0;
        /* First the options, because they may name a descriptor to keep. */
        bool ready = options_parse(&options, row->name, argc - 1, argv + 1, &error);
        ready &= standard_fds_settle(options.status_fd, &error);
        status_lines_begin(options.status_fd);
        messages_set_verbose(options.verbose);
        if (ready && options.help)
                status = help_print(help_write(row, stdout));
        else if (ready)
                status = fetch(&options, &error);
        if (error.status)
                status = help_complain(&error, row);
        status_lines_ended(status ? ENDING_FAILED : ENDING_EXITED, status, 0, 0, NULL);
        options_free(&options);
        return status;
}
