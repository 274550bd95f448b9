/* SPDX-License-Identifier: Apache-2.0
 *
 * See tproxy.h. The rule in the language of nft(8):
 *
 *     table inet hutch {
 *             chain redirect {
 *                     type filter hook prerouting priority mangle
 *                     meta l4proto tcp tcp dport != 53 tproxy to :PORT accept
 *             }
 *     }
 */
#include "nat/tproxy.h"

#include "lib/fd.h"
#include "nat/netlink.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/in.h>

#define TABLE "hutch"
#define CHAIN "redirect"

enum { DNS_PORT = 53, DESTINATION_PORT_AT = 2, PRIORITY_MANGLE = -150 };

static struct nlmsghdr *add_message(struct netlink_batch *batch, uint16_t type, uint16_t flags)
{
        struct nlmsghdr *header = netlink_add(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags,
                                              sizeof(struct nfgenmsg), true);
        struct nfgenmsg *family = mnl_nlmsg_get_payload(header);
        family->nfgen_family = NFPROTO_INET;
        family->version = NFNETLINK_V0;
        return header;
}

/* Begins or ends a transaction: the kernel applies everything in between, or nothing. */
static void add_bracket(struct netlink_batch *batch, uint16_t type)
{
        struct nlmsghdr *header = netlink_add(batch, type, 0, sizeof(struct nfgenmsg), false);
        struct nfgenmsg *family = mnl_nlmsg_get_payload(header);
        family->res_id = htons(NFNL_SUBSYS_NFTABLES);
}

static void put_number(struct nlmsghdr *header, uint16_t type, uint32_t value)
{
        mnl_attr_put_u32(header, type, htonl(value));
}

/* An expression of the rule: the two nests around its attributes. */
struct expression {
        struct nlattr *element, *data;
};

static struct expression begin_expression(struct nlmsghdr *header, const char *name)
{
        struct expression begun = {.element = mnl_attr_nest_start(header, NFTA_LIST_ELEM)};
        mnl_attr_put_strz(header, NFTA_EXPR_NAME, name);
        begun.data = mnl_attr_nest_start(header, NFTA_EXPR_DATA);
        return begun;
}

static void end_expression(struct nlmsghdr *header, struct expression expression)
{
        mnl_attr_nest_end(header, expression.data);
        mnl_attr_nest_end(header, expression.element);
}

static void put_value(struct nlmsghdr *header, uint16_t type, const void *value, size_t size)
{
        struct nlattr *nest = mnl_attr_nest_start(header, type);
        mnl_attr_put(header, NFTA_DATA_VALUE, size, value);
        mnl_attr_nest_end(header, nest);
}

static void put_compare(struct nlmsghdr *header, uint32_t operation, const void *value, size_t size)
{
        struct expression compare = begin_expression(header, "cmp");
        put_number(header, NFTA_CMP_SREG, NFT_REG_1);
        put_number(header, NFTA_CMP_OP, operation);
        put_value(header, NFTA_CMP_DATA, value, size);
        end_expression(header, compare);
}

static void put_rule(struct nlmsghdr *header, uint16_t port)
{
        const uint8_t tcp = IPPROTO_TCP;
        const uint16_t dns = htons(DNS_PORT), to = htons(port);
        struct expression expression = begin_expression(header, "meta");
        put_number(header, NFTA_META_KEY, NFT_META_L4PROTO);
        put_number(header, NFTA_META_DREG, NFT_REG_1);
        end_expression(header, expression);
        put_compare(header, NFT_CMP_EQ, &tcp, sizeof(tcp));

        expression = begin_expression(header, "payload");
        put_number(header, NFTA_PAYLOAD_DREG, NFT_REG_1);
        put_number(header, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
        put_number(header, NFTA_PAYLOAD_OFFSET, DESTINATION_PORT_AT);
        put_number(header, NFTA_PAYLOAD_LEN, sizeof(dns));
        end_expression(header, expression);
        put_compare(header, NFT_CMP_NEQ, &dns, sizeof(dns));

        expression = begin_expression(header, "immediate");
        put_number(header, NFTA_IMMEDIATE_DREG, NFT_REG_1);
        put_value(header, NFTA_IMMEDIATE_DATA, &to, sizeof(to));
        end_expression(header, expression);

        expression = begin_expression(header, "tproxy");
        put_number(header, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
        put_number(header, NFTA_TPROXY_REG_PORT, NFT_REG_1);
        end_expression(header, expression);

        expression = begin_expression(header, "immediate");
        put_number(header, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
        struct nlattr *data = mnl_attr_nest_start(header, NFTA_IMMEDIATE_DATA);
        struct nlattr *verdict = mnl_attr_nest_start(header, NFTA_DATA_VERDICT);
        put_number(header, NFTA_VERDICT_CODE, NF_ACCEPT);
        mnl_attr_nest_end(header, verdict);
        mnl_attr_nest_end(header, data);
        end_expression(header, expression);
}

int tproxy_redirect(uint16_t port)
{
        autoclose int requests = netlink_open(NETLINK_NETFILTER);
        if (requests < 0)
                return requests;
        struct netlink_batch batch = {0};
        add_bracket(&batch, NFNL_MSG_BATCH_BEGIN);
        struct nlmsghdr *header = add_message(&batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
        mnl_attr_put_strz(header, NFTA_TABLE_NAME, TABLE);

        header = add_message(&batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
        mnl_attr_put_strz(header, NFTA_CHAIN_TABLE, TABLE);
        mnl_attr_put_strz(header, NFTA_CHAIN_NAME, CHAIN);
        mnl_attr_put_strz(header, NFTA_CHAIN_TYPE, "filter");
        struct nlattr *hook = mnl_attr_nest_start(header, NFTA_CHAIN_HOOK);
        put_number(header, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
        put_number(header, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY_MANGLE);
        mnl_attr_nest_end(header, hook);

        header = add_message(&batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
        mnl_attr_put_strz(header, NFTA_RULE_TABLE, TABLE);
        mnl_attr_put_strz(header, NFTA_RULE_CHAIN, CHAIN);
        struct nlattr *expressions = mnl_attr_nest_start(header, NFTA_RULE_EXPRESSIONS);
        put_rule(header, port);
        mnl_attr_nest_end(header, expressions);
        add_bracket(&batch, NFNL_MSG_BATCH_END);
        uint32_t failed;
        return netlink_run(requests, &batch, &failed);
}
