/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts on a terminal that the server shares with the user's shell, where what the server types would be a
 * command of the user's. Descriptor 0 is a terminal that `hutch prove` made for this.
 */
#include "prove/attempts.h"

#include "prove/target.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* The kernel uses the lower 32 bits of a request. A filter that compares more bits lets these through. */
#define ONE_ABOVE  (1L << 32)
#define SIGN_ABOVE LONG_MIN
#define ALL_ABOVE  (-(1L << 32))

static long raw_ioctl(unsigned long request, unsigned long argument)
{
        return syscall(SYS_ioctl, 0, request, argument);
}

/* Types a letter and looks whether it can be read. */
static enum outcome type(void)
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

static enum outcome keep_to_itself(void)
{
        int exclusive = 0;
        (void)raw_ioctl(TIOCEXCL, 0);
        (void)ioctl(0, TIOCGEXCL, &exclusive);
        if (exclusive && !target_is_inside())
                (void)ioctl(0, TIOCNXCL);
        return out_if(exclusive != 0);
}

static enum outcome line_discipline(void)
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

static enum outcome stop_output(void)
{
        long result = raw_ioctl(TCXONC, TCOOFF);
        (void)raw_ioctl(TCXONC, TCOON);
        return out_if(result == 0);
}

/* Makes the terminal the controlling one of another session. */
static enum outcome steal_terminal(void)
{
        if (setsid() < 0)
                return HELD;
        return out_if(raw_ioctl(TIOCSCTTY, 1) == 0);
}

/* Sets the mode that the terminal already has, so that nothing changes. */
static enum outcome open_to_all(void)
{
        struct stat status;
        return out_if(fstat(0, &status) == 0 && fchmod(0, status.st_mode & 0777) == 0);
}

/* Only a virtual console can paste. The driver of this terminal answers that it does not know the request,
 * which shows that the request reached it. */
static char paste[1] = {6}; /* asks for the state of the shift keys */
#define PASTE(request) REACH(SYS_ioctl, 0, request, POINTER(paste))

static const struct attempt rows[] = {
    {"tiocsti", "commands typed into your shell", AS_CALLER, type, NULL, TIOCSTI},
    {"tiocsti-bit-32", "the same with a bit above", AS_CALLER, type, NULL, TIOCSTI | ONE_ABOVE},
    {"tiocsti-bit-63", "the same with the highest bit", AS_CALLER, type, NULL, TIOCSTI | SIGN_ABOVE},
    {"tiocsti-all-bits", "the same with all bits above", AS_CALLER, type, NULL, TIOCSTI | ALL_ABOVE},
    {"tioclinux", "commands pasted into a console", AS_CALLER, PASTE(TIOCLINUX)},
    {"tioclinux-bit-32", "the same with a bit above", AS_CALLER, PASTE(TIOCLINUX | ONE_ABOVE)},
    {"tioclinux-bit-63", "the same with the highest bit", AS_CALLER, PASTE(TIOCLINUX | SIGN_ABOVE)},
    {"tioclinux-all-bits", "the same with all bits above", AS_CALLER, PASTE(TIOCLINUX | ALL_ABOVE)},
    {"console-keys", "the keys of a console", AS_CALLER, REACH(SYS_ioctl, 0, 0x4b44)},
    {"console-switch", "switching consoles", AS_CALLER, REACH(SYS_ioctl, 0, 0x5603)},
    {"tiocsetd", "another driver of the terminal", AS_CALLER, line_discipline, NULL, 27},
    {"tiocexcl", "locking you out of your terminal", AS_CALLER, keep_to_itself},
    {"tcxonc", "stopping your terminal's output", AS_CALLER, stop_output},
    {"terminal-mode", "your terminal open to every user", AS_CALLER, open_to_all},
    {"tiocsctty", "your session's terminal", AS_ROOT, steal_terminal},
    {"tioccons", "the machine's console messages", AS_ROOT, REACH(SYS_ioctl, 0, TIOCCONS)},
};
const struct attempt_group terminal_group = ATTEMPT_GROUP("terminal", rows);
