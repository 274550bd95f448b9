/* SPDX-License-Identifier: Apache-2.0
 *
 * get_host NAME…: resolves each name for both families, as any C library does it, and prints the first line
 * of what its web server answers. A test builds it against another C library.
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void get(const char *name)
{
        struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
        int error = getaddrinfo(name, "80", &hints, &found);
        if (error) {
                printf("%s: no address\n", name);
                return;
        }
        char text[512];
        int made = socket(found->ai_family, SOCK_STREAM, 0);
        int length = snprintf(text, sizeof(text), "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", name);
        ssize_t got = -1;
        if (connect(made, found->ai_addr, found->ai_addrlen) == 0 &&
            write(made, text, (size_t)length) == length)
                got = read(made, text, sizeof(text) - 1);
        text[got > 0 ? got : 0] = 0;
        printf("%s: %.*s\n", name, (int)strcspn(text, "\r\n"), text);
        close(made);
        freeaddrinfo(found);
}

int main(int count, char **names)
{
        for (int i = 1; i < count; i++)
                get(names[i]);
}
