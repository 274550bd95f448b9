/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-fetch: the program behind `hutch fetch`, with the same arguments. It is a separate program because
 * only it downloads: hutch starts a server without its code.
 */
#include "fetch/fetch.h"
#include "lib/messages.h"
#include "lib/standard_fds.h"
#include "ns/launch.h"
#include "options/help.h"

#include <unistd.h>

int main(int argc, char **argv)
{
        launch_remember_arguments(argc, argv, environ);
        const struct subcommand_row *row = subcommand_find("fetch");
        struct error error = {0};
        struct options options = {0};
        int status = 0;
        bool ready =
            standard_fds_settle(&error) && options_parse(&options, row->name, argc - 1, argv + 1, &error);
        messages_set_verbose(options.verbose);
        if (ready && options.help)
                status = help_print(help_write(row, stdout));
        else if (ready)
                status = fetch(&options, &error);
        if (error.status)
                status = help_complain(&error, row);
        options_free(&options);
        return status;
}
