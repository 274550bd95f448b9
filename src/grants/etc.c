/* SPDX-License-Identifier: Apache-2.0
 *
 * See etc.h.
 */
#include "grants/etc.h"

#include "policy/network.h"

const char *const etc_host_paths[] = {
    "/etc/ld.so.cache",  /* without it the loader searches every library directory of the machine */
    "/etc/alternatives", /* Debian's links from /usr/bin to the chosen program */
    "/etc/localtime",
    /* Public certificate authorities: Debian and most others; Fedora; Arch. Never /etc/ssl itself, which
     * holds private keys. */
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",      /* Arch, Alpine */
    "/etc/ssl/ca-bundle.pem", /* openSUSE */
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
    NULL,
};

static void add_file(struct box *box, const char *destination, char *content)
{
        struct mount mount = {
            .kind = MOUNT_FILE,
            .destination = str_copy(destination),
            .content = content,
            .why = str_copy("base"),
        };
        box_add_mount(box, &mount);
}

void etc_add_files(struct box *box)
{
        /* What the format of passwd cannot hold is no home for it; $HOME still says the truth. */
        const char *home = strpbrk(box->home, ":\n") ? "/tmp" : box->home;
        /* Files of the host's root, and of every other account, show as owned by nobody: the sandbox maps no
         * id but its own. */
        add_file(box, "/etc/passwd",
                 str_format("root:x:0:0:root:/:/usr/sbin/nologin\n"
                            "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" BOX_USER ":x:%u:%u:" BOX_USER
                            ":%s:/bin/sh\n",
                            BOX_ID, BOX_ID, home));
        add_file(box, "/etc/group", str_format("root:x:0:\nnogroup:x:65534:\n" BOX_USER ":x:%u:\n", BOX_ID));
        /* Git refuses the configuration of repositories that belong to another account, for fear of what it
         * would run; what it runs in here is confined. Granting the directory was the person's word for it.
         */
        add_file(box, "/etc/gitconfig", str_copy("[safe]\n\tdirectory = *\n"));
        add_file(box, "/etc/hosts",
                 str_copy("127.0.0.1 localhost " BOX_HOST "\n::1 localhost ip6-localhost\n"));
        add_file(box, "/etc/hostname", str_copy(BOX_HOST "\n"));
        add_file(box, "/etc/resolv.conf",
                 str_copy(box_has_network(box) ? "nameserver " NETWORK_GATEWAY4 "\n" : "# no network\n"));
        add_file(box, "/etc/nsswitch.conf",
                 str_copy("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
                          "protocols: files\nservices: files\nethers: files\nrpc: files\n"));
}
