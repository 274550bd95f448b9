/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts on a terminal that the server shares with the user's shell, where what the server types would be a
 * command of the user's. Descriptor 0 is a terminal that `hutch prove` made for this.
 */
#include "prove/attempts.h"

#include "prove/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* The kernel uses the lower 32 bits of a request. A filter that compares more bits lets these through. */
#define ONE_ABOVE  (1UL << 32)
#define SIGN_ABOVE (1UL << 63)
#define ALL_ABOVE  (0xffffffffUL << 32)

static long raw_ioctl(unsigned long request, unsigned long argument)
{
        return syscall(SYS_ioctl, 0, request, argument);
}

/* Types a letter and looks whether it can be read. */
static enum outcome type(const struct attempt *attempt)
{
        struct termios modes;
        if (tcgetattr(0, &modes) < 0)
                return NOT_APPLICABLE;
        modes.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        (void)tcsetattr(0, TCSANOW, &modes);
        (void)tcflush(0, TCIFLUSH);
        (void)raw_ioctl((unsigned long)attempt->number, (uintptr_t) "x");
        struct pollfd ready = {.fd = 0, .events = POLLIN};
        return out_if(poll(&ready, 1, 0) == 1 && ready.revents & POLLIN);
}

/* Only a virtual console can paste. The driver of this terminal answers that it does not know the request,
 * which shows that the request reached it. */
static enum outcome paste(const struct attempt *attempt)
{
        char subcode = 6; /* asks for the state of the shift keys */
        return out_if_reached(raw_ioctl((unsigned long)attempt->number, (uintptr_t)&subcode));
}

static enum outcome keep_to_itself(const struct attempt *attempt)
{
        (void)attempt;
        int exclusive = 0;
        (void)raw_ioctl(TIOCEXCL, 0);
        (void)ioctl(0, TIOCGEXCL, &exclusive);
        if (exclusive && !target_is_inside())
                (void)ioctl(0, TIOCNXCL);
        return out_if(exclusive != 0);
}

static enum outcome line_discipline(const struct attempt *attempt)
{
        int wanted = (int)attempt->number, now = 0;
        (void)raw_ioctl(TIOCSETD, (uintptr_t)&wanted);
        (void)ioctl(0, TIOCGETD, &now);
        if (now == wanted) {
                int usual = 0;
                (void)ioctl(0, TIOCSETD, &usual);
        }
        return out_if(now == wanted);
}

static enum outcome stop_output(const struct attempt *attempt)
{
        long result = raw_ioctl(TCXONC, TCOOFF);
        (void)attempt;
        (void)raw_ioctl(TCXONC, TCOON);
        return out_if(result == 0);
}

/* Makes the terminal the controlling one of another session. */
static enum outcome steal_terminal(const struct attempt *attempt)
{
        (void)attempt;
        if (setsid() < 0)
                return HELD;
        return out_if(raw_ioctl(TIOCSCTTY, 1) == 0);
}

/* Sets the mode that the terminal already has, so that nothing changes. */
static enum outcome open_to_all(const struct attempt *attempt)
{
        struct stat status;
        (void)attempt;
        return out_if(fstat(0, &status) == 0 && fchmod(0, status.st_mode & 0777) == 0);
}

static enum outcome console_messages(const struct attempt *attempt)
{
        (void)attempt;
        return out_if_reached(raw_ioctl(TIOCCONS, 0));
}

static enum outcome console_keys(const struct attempt *attempt)
{
        return out_if_reached(raw_ioctl((unsigned long)attempt->number, 0));
}

static const struct attempt rows[] = {
    {"tiocsti", "commands typed into your shell", SHOW_AS_CALLER, type, NULL, TIOCSTI},
    {"tiocsti-bit-32", "the same with a bit above", SHOW_AS_CALLER, type, NULL, (long)(TIOCSTI | ONE_ABOVE)},
    {"tiocsti-bit-63", "the same with the highest bit", SHOW_AS_CALLER, type, NULL,
     (long)(TIOCSTI | SIGN_ABOVE)},
    {"tiocsti-all-bits", "the same with all bits above", SHOW_AS_CALLER, type, NULL,
     (long)(TIOCSTI | ALL_ABOVE)},
    {"tioclinux", "commands pasted into a console", SHOW_AS_CALLER, paste, NULL, TIOCLINUX},
    {"tioclinux-bit-32", "the same with a bit above", SHOW_AS_CALLER, paste, NULL,
     (long)(TIOCLINUX | ONE_ABOVE)},
    {"tioclinux-bit-63", "the same with the highest bit", SHOW_AS_CALLER, paste, NULL,
     (long)(TIOCLINUX | SIGN_ABOVE)},
    {"tioclinux-all-bits", "the same with all bits above", SHOW_AS_CALLER, paste, NULL,
     (long)(TIOCLINUX | ALL_ABOVE)},
    {"console-keys", "the keys of a console", SHOW_AS_CALLER, console_keys, NULL, 0x4b44},
    {"console-switch", "switching consoles", SHOW_AS_CALLER, console_keys, NULL, 0x5603},
    {"tiocsetd", "another driver of the terminal", SHOW_AS_CALLER, line_discipline, NULL, 27},
    {"tiocexcl", "locking you out of your terminal", SHOW_AS_CALLER, keep_to_itself, NULL, 0},
    {"tcxonc", "stopping your terminal's output", SHOW_AS_CALLER, stop_output, NULL, 0},
    {"terminal-mode", "your terminal open to every user", SHOW_AS_CALLER, open_to_all, NULL, 0},
    {"tiocsctty", "your session's terminal", SHOW_AS_ROOT, steal_terminal, NULL, 0},
    {"tioccons", "the machine's console messages", SHOW_AS_ROOT, console_messages, NULL, 0},
};
const struct attempt_group terminal_group = {
    .name = "terminal", .attempts = rows, .count = sizeof(rows) / sizeof(rows[0]), .terminal = true};
