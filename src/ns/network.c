/* SPDX-License-Identifier: Apache-2.0
 *
 * See network.h.
 *
 * A network namespace takes the kernel longer than everything else that a sandbox needs (0.8 of 1.4 ms of the
 * clone, measured). So a second task makes it while this one builds the root file system, and ends when the
 * namespace is open. The sandbox enters it before the server exists.
 *
 * Without a network rule the task makes two calls and shares this process's memory. With one it makes
 * hundreds of calls (nat/setup.c), handles those that fail, and is a process with separate memory.
 */
#include "ns/network.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/setup.h"
#include "ns/layers.h"
#include "policy/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STACK_SIZE = 16384 };

/* What the second task reports; in memory that both have. */
struct network_result {
        struct setup_failure failure; /* `error` 0: none */
        int namespace;                /* a descriptor: the tasks share one table of them */
};

static void hold_namespace(struct network_result *result)
{
        result->namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (result->namespace < 0)
                result->failure = (struct setup_failure){.what = "cannot hold the namespace", .error = errno};
}

/* The task without a network. It shares errno with this one and changes it only when it fails, which ends the
 * sandbox. */
static int make_namespace(void *result_)
{
        struct network_result *result = result_;
        if (unshare(CLONE_NEWNET) < 0)
                result->failure.error = errno;
        else
                hold_namespace(result);
        return 0;
}

static _Noreturn void make_gateway(const struct entering *entering)
{
        const struct network *network = &entering->box->network;
        struct network_result *result = entering->network_result;
        uint16_t host_ports[NETWORK_HOST_PORTS_MAX];
        for (size_t i = 0; i < network->host_port_count; i++)
                host_ports[i] = network->host_ports[i].inside;
        struct gateway_plan plan = {
            .tcp_ports = network->tcp_ports,
            .tcp_count = network->tcp_count,
            .every_port = network->every_port,
            .udp_ports = network->udp_ports,
            .udp_count = network->udp_count,
            .host_ports = host_ports,
            .host_port_count = network->host_port_count,
        };
        if (setup_gateway(&plan, entering->stdio.nat, &result->failure))
                hold_namespace(result);
        _exit(0);
}

static void begin_gateway(struct entering *entering)
{
        entering->network_result = mmap(NULL, sizeof(*entering->network_result), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (entering->network_result == MAP_FAILED)
                entering_fail(entering, STAGE_NETWORK, errno, NULL);
        /* As fork(2), but the child shares the table of descriptors. */
        long maker = syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
        if (maker == 0)
                make_gateway(entering);
        entering_check(entering, STAGE_NETWORK, NULL, maker);
        entering->network_maker = (pid_t)maker;
}

void network_begin(struct entering *entering)
{
        if (!layer_enabled(LAYER_NETWORK))
                return;
        if (entering->stdio.nat >= 0) {
                begin_gateway(entering);
                return;
        }
        static char stack[STACK_SIZE] __attribute__((aligned(16)));
        static struct network_result result;
        entering->network_result = &result;
        /* The task ends without a signal: pid 1 does not listen to any yet. */
        entering->network_maker =
            entering_check(entering, STAGE_NETWORK, NULL,
                           clone(make_namespace, stack + sizeof(stack), CLONE_VM | CLONE_FILES, &result));
}

void network_enter(struct entering *entering)
{
        if (!layer_enabled(LAYER_NETWORK))
                return;
        while (waitpid(entering->network_maker, NULL, __WALL) < 0)
                if (errno != EINTR)
                        entering_fail(entering, STAGE_NETWORK, errno, NULL);
        const struct network_result *result = entering->network_result;
        const struct setup_failure *failure = &result->failure;
        if (failure->error) {
                char *what = !failure->what  ? NULL
                             : failure->port ? str_format("(%s, port %u)", failure->what, failure->port)
                                             : str_format("(%s)", failure->what);
                entering_fail(entering, STAGE_NETWORK, failure->error, what);
        }
        if (result->namespace <= 0) /* something killed the task */
                entering_fail(entering, STAGE_NETWORK, ECHILD, NULL);
        entering_check(entering, STAGE_NETWORK, NULL, setns(result->namespace, CLONE_NEWNET));
        close(result->namespace);
        if (entering->stdio.nat >= 0) {
                close(entering->stdio.nat);
                return; /* setup_gateway() has brought the loopback up */
        }
        int error = setup_loopback();
        if (error < 0)
                entering_fail(entering, STAGE_NETWORK, -error, NULL);
}
