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
    /* Public certificate authorities. Never /etc/ssl itself, which holds private keys. */
    "/etc/ssl/certs",         /* Debian and most others */
    "/etc/ssl/cert.pem",      /* Arch, Alpine */
    "/etc/ssl/ca-bundle.pem", /* openSUSE */
    "/etc/pki/tls/certs",     /* Fedora */
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted", /* Arch */
    NULL,
};

static void add_file(struct box *box, const char *destination, char *content)
{
        struct mount mount = {
            .kind = MOUNT_FILE,
            .destination = str_copy(destination),
            .content = content,
            .origin = ORIGIN_BASE,
            .why = str_copy("base"),
        };
        box_add_mount(box, &mount);
}

void etc_add_files(struct box *box)
{
        /* The format of passwd cannot hold these two characters; $HOME still names the real path. */
        const char *home = strpbrk(box->home, ":\n") ? "/tmp" : box->home;
        /* The sandbox maps one id, so that files of every other account of the host, root's too, show as
         * owned by 65534. */
        add_file(box, "/etc/passwd",
                 str_format("root:x:0:0:root:/:/usr/sbin/nologin\n"
                            "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" BOX_USER ":x:%u:%u:" BOX_USER
                            ":%s:/bin/sh\n",
                            BOX_ID, BOX_ID, home));
        add_file(box, "/etc/group", str_format("root:x:0:\nnogroup:x:65534:\n" BOX_USER ":x:%u:\n", BOX_ID));
        /* Git refuses repositories of other accounts, because their configuration can make it run programs.
         * Here such a program is confined, and the user chose to grant the directory. */
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
