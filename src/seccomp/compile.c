/* SPDX-License-Identifier: Apache-2.0
 *
 * See compile.h. A part of a profile that cannot be honoured is refused with a sentence and never skipped in
 * silence, except for what container engines skip too: calls that this libseccomp does not know, and rules
 * for capabilities that no process has here. This module must never make a program that permits calls of a
 * foreign architecture.
 */
#include "seccomp/compile.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

enum {
        ARGUMENTS = 6,
        PROLOGUE = 3, /* instructions of write_prologue() */
};

struct compiler {
        const char *name; /* of the profile, for messages */
        bool must_start_programs;
        uint32_t architecture;
        scmp_filter_ctx filter;
        uint32_t default_action;
        int newest;       /* the highest call number that the profile names */
        bool can_execute; /* as far as rules without `args` tell */
        bool can_exit;
        struct error *error;
};

/* The names in the container engines' `arches`, of the architectures on which hutch is likely to run. */
static const struct {
        uint32_t token;
        const char *name;
} engine_names[] = {
    {SCMP_ARCH_X86_64, "amd64"},      {SCMP_ARCH_X86, "x86"},         {SCMP_ARCH_AARCH64, "arm64"},
    {SCMP_ARCH_ARM, "arm"},           {SCMP_ARCH_RISCV64, "riscv64"}, {SCMP_ARCH_PPC64, "ppc64"},
    {SCMP_ARCH_PPC64LE, "ppc64le"},   {SCMP_ARCH_S390X, "s390x"},     {SCMP_ARCH_MIPS64, "mips64"},
    {SCMP_ARCH_MIPSEL64, "mipsel64"},
};

static const char *const operators[] = {
    [SCMP_CMP_NE] = "SCMP_CMP_NE",
    [SCMP_CMP_LT] = "SCMP_CMP_LT",
    [SCMP_CMP_LE] = "SCMP_CMP_LE",
    [SCMP_CMP_EQ] = "SCMP_CMP_EQ",
    [SCMP_CMP_GE] = "SCMP_CMP_GE",
    [SCMP_CMP_GT] = "SCMP_CMP_GT",
    [SCMP_CMP_MASKED_EQ] = "SCMP_CMP_MASKED_EQ",
};

/* Every refusal has the same form: the name of the profile, and what is wrong. */
#define refuse_profile(compiler, format, ...)                                                                \
        error_set((compiler)->error, EXIT_SETUP, "seccomp profile %s" format, (compiler)->name, ##__VA_ARGS__)

/* Steps through the items of a list, or of nothing. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define foreach(item, list) for (const cJSON *item = (list) ? (list)->child : NULL; item; item = item->next)

static bool is_member(const char *wanted, const cJSON *list)
{
        foreach (item, list)
                if (cJSON_IsString(item) && strcmp(item->valuestring, wanted) == 0)
                        return true;
        return false;
}

/* True when `list` is absent (or null, as some engines write it) or an array of strings. */
static bool is_string_list(const cJSON *list)
{
        if (list && !cJSON_IsNull(list) && !cJSON_IsArray(list))
                return false;
        foreach (item, list)
                if (!cJSON_IsString(item))
                        return false;
        return true;
}

/* Makes a string of a profile printable. */
static const char *quote(char out[64], const char *text)
{
        return error_quote(out, 64, text, strlen(text));
}

static bool read_number(const struct compiler *compiler, const cJSON *object, const char *key, double highest,
                        uint64_t *value)
{
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

        if (!item)
                return true;
        /* The range is checked before the cast, which is defined only within it. cJSON reads numbers as
         * doubles, which are exact up to 2^53; a larger one could change, so it is refused. */
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > highest ||
            item->valuedouble != (double)(uint64_t)item->valuedouble)
                return refuse_profile(compiler, ": \"%s\" must be a whole number from 0 to %.0f", key,
                                      highest);
        *value = (uint64_t)item->valuedouble;
        return true;
}

/* Reads an action and, where it is ERRNO, its number: `errno_key` of the same object, else EPERM. */
static bool read_action(const struct compiler *compiler, const cJSON *object, const char *key,
                        const char *errno_key, uint32_t *action)
{
        static const struct {
                const char *name;
                uint32_t action;
        } actions[] = {
            {"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
            {"SCMP_ACT_LOG", SCMP_ACT_LOG},
            {"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
            {"SCMP_ACT_KILL", SCMP_ACT_KILL_THREAD}, /* as in the OCI specification and the engines */
            {"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
            {"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
        };
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
        char quoted[64];

        if (!cJSON_IsString(item))
                return refuse_profile(compiler, ": \"%s\" is missing or not a string", key);
        if (strcmp(item->valuestring, "SCMP_ACT_ERRNO") == 0) {
                uint64_t number = EPERM;
                if (!read_number(compiler, object, errno_key, 4095, &number))
                        return false;
                *action = SCMP_ACT_ERRNO((uint16_t)number);
                return true;
        }
        if (strcmp(item->valuestring, "SCMP_ACT_TRACE") == 0 ||
            strcmp(item->valuestring, "SCMP_ACT_NOTIFY") == 0)
                return refuse_profile(
                    compiler,
                    ": %s needs another process that answers, which hutch does not have; use "
                    "SCMP_ACT_ERRNO",
                    item->valuestring);
        for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
                if (strcmp(item->valuestring, actions[i].name) == 0) {
                        *action = actions[i].action;
                        return true;
                }
        return refuse_profile(compiler, ": unknown action \"%s\"", quote(quoted, item->valuestring));
}

/* A condition of the engines, `includes` or `excludes`. */
struct condition {
        bool names_caps;
        enum { ANY, OTHERS, OURS } architecture, kernel; /* which it names */
};

static const char *engine_name(uint32_t architecture)
{
        for (size_t i = 0; i < sizeof(engine_names) / sizeof(engine_names[0]); i++)
                if (engine_names[i].token == architecture)
                        return engine_names[i].name;
        return "";
}

/* Sets *is_reached to whether the running kernel is `wanted` or newer. False when `wanted` is not a version.
 */
static bool read_kernel(const char *wanted, bool *is_reached)
{
        struct utsname machine;
        uint64_t least[2];

        if (!str_read_release(wanted, least) || uname(&machine) < 0)
                return false;
        *is_reached = str_is_release(machine.release, least[0], least[1]);
        return true;
}

static bool read_condition(const struct compiler *compiler, const cJSON *rule, const char *key,
                           struct condition *condition)
{
        const cJSON *object = cJSON_GetObjectItemCaseSensitive(rule, key);
        const cJSON *caps = cJSON_GetObjectItemCaseSensitive(object, "caps");
        const cJSON *arches = cJSON_GetObjectItemCaseSensitive(object, "arches");
        const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(object, "minKernel");

        bool is_ours = false;
        if (!is_string_list(caps) || !is_string_list(arches))
                return refuse_profile(compiler,
                                      ": \"caps\" and \"arches\" in \"%s\" must be lists of strings", key);
        if (kernel && (!cJSON_IsString(kernel) || !read_kernel(kernel->valuestring, &is_ours)))
                return refuse_profile(compiler, ": \"minKernel\" must look like \"5.14\"");
        *condition = (struct condition){
            .names_caps = cJSON_GetArraySize(caps) > 0,
            .architecture = is_member(engine_name(compiler->architecture), arches) ? OURS
                            : cJSON_GetArraySize(arches) > 0                       ? OTHERS
                                                                                   : ANY,
            .kernel = is_ours  ? OURS
                      : kernel ? OTHERS
                               : ANY,
        };
        return true;
}

static bool judge_rule(const struct compiler *compiler, const cJSON *rule, bool *applies)
{
        struct condition includes, excludes;
        if (!read_condition(compiler, rule, "includes", &includes) ||
            !read_condition(compiler, rule, "excludes", &excludes))
                return false;
        *applies = !includes.names_caps && includes.architecture != OTHERS && includes.kernel != OTHERS &&
                   excludes.architecture != OURS && excludes.kernel != OURS;
        return true;
}

/* Reads `args` of a rule. There is at most one comparison for each argument: libseccomp joins them by "and"
 * and refuses a second one. */
static bool read_arguments(const struct compiler *compiler, const cJSON *rule, const char *call,
                           struct scmp_arg_cmp comparisons[ARGUMENTS], unsigned *count)
{
        static const double exact = 9007199254740992; /* 2^53 */
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(rule, "args");
        char quoted[64];
        bool seen[ARGUMENTS] = {false};

        *count = 0;
        quote(quoted, call);
        if (list && !cJSON_IsArray(list) && !cJSON_IsNull(list))
                return refuse_profile(compiler, ": \"args\" of %s is not a list", quoted);
        foreach (item, list) {
                const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "op");
                uint64_t index = UINT64_MAX, value = 0, second = 0;
                enum scmp_compare how = _SCMP_CMP_MIN;

                if (!read_number(compiler, item, "index", ARGUMENTS - 1, &index) ||
                    !read_number(compiler, item, "value", exact, &value) ||
                    !read_number(compiler, item, "valueTwo", exact, &second))
                        return false;
                if (index == UINT64_MAX)
                        return refuse_profile(compiler, ": a comparison for %s has no \"index\"", quoted);
                if (seen[index])
                        return refuse_profile(compiler,
                                              ": one rule for %s compares argument %d twice; write two rules",
                                              quoted, (int)index);
                for (size_t i = SCMP_CMP_NE; i < sizeof(operators) / sizeof(operators[0]); i++)
                        if (cJSON_IsString(name) && strcmp(name->valuestring, operators[i]) == 0)
                                how = (enum scmp_compare)i;
                if (how == _SCMP_CMP_MIN)
                        return refuse_profile(compiler, ": a comparison for %s has an unknown \"op\"",
                                              quoted);
                seen[index] = true;
                comparisons[(*count)++] = (struct scmp_arg_cmp){
                    .arg = (unsigned)index, .op = how, .datum_a = value, .datum_b = second};
        }
        return true;
}

static bool is_permission(uint32_t action)
{
        return action == SCMP_ACT_ALLOW || action == SCMP_ACT_LOG;
}

static bool add_call(struct compiler *compiler, const char *call, uint32_t action,
                     const struct scmp_arg_cmp *comparisons, unsigned count)
{
        int number = seccomp_syscall_resolve_name(call);
        int real_number = seccomp_syscall_resolve_name_arch(compiler->architecture, call);
        char quoted[64];

        if (number == __NR_SCMP_ERROR)
                return true;
        if (real_number > compiler->newest)
                compiler->newest = real_number;
        if (is_permission(action) || count == 0) {
                if (strcmp(call, "execve") == 0)
                        compiler->can_execute = is_permission(action);
                if (strcmp(call, "exit_group") == 0)
                        compiler->can_exit = is_permission(action);
        }
        if (action == compiler->default_action) /* libseccomp refuses such a rule */
                return true;
        int status = seccomp_rule_add_array(compiler->filter, action, number, count, comparisons);
        return status >= 0 || refuse_profile(compiler, ": libseccomp refuses the rule for %s: %s",
                                             quote(quoted, call), strerror(-status));
}

static const cJSON *rules_of(const cJSON *root)
{
        return cJSON_GetObjectItemCaseSensitive(root, "syscalls");
}

/* True when a rule of `root` (or NULL) names the call. */
static bool names_call(const cJSON *root, const char *call)
{
        foreach (rule, rules_of(root))
                if (is_member(call, cJSON_GetObjectItemCaseSensitive(rule, "names")))
                        return true;
        return false;
}

static bool add_rule(struct compiler *compiler, const cJSON *rule, const cJSON *changes)
{
        const cJSON *names = cJSON_GetObjectItemCaseSensitive(rule, "names");
        struct scmp_arg_cmp comparisons[ARGUMENTS];
        uint32_t action = SCMP_ACT_ERRNO(EPERM);
        bool applies = false;
        unsigned count;

        if (!cJSON_IsArray(names) || !is_string_list(names) || !names->child)
                return refuse_profile(compiler, ": every rule needs \"names\", a list of calls");
        if (!read_action(compiler, rule, "action", "errnoRet", &action) ||
            !judge_rule(compiler, rule, &applies) ||
            !read_arguments(compiler, rule, names->child->valuestring, comparisons, &count))
                return false;
        foreach (name, names)
                if (applies && !names_call(changes, name->valuestring) &&
                    !add_call(compiler, name->valuestring, action, comparisons, count))
                        return false;
        return true;
}

/* Adds the rules of `root`, but none for the calls that `changes` (or NULL) names. */
static bool add_rules(struct compiler *compiler, const cJSON *root, const cJSON *changes)
{
        const cJSON *rules = rules_of(root);

        if (rules && !cJSON_IsArray(rules))
                return refuse_profile(compiler, ": \"syscalls\" is not a list");
        foreach (rule, rules)
                if (!add_rule(compiler, rule, changes))
                        return false;
        return true;
}

/* True for the names of the OCI runtime specification, whether this libseccomp knows them or not. */
static bool is_architecture(const char *name)
{
        static const char names[] = "X86 X86_64 X32 ARM AARCH64 MIPS MIPS64 MIPS64N32 MIPSEL MIPSEL64 "
                                    "MIPSEL64N32 PPC PPC64 PPC64LE S390 "
                                    "S390X PARISC PARISC64 RISCV64 LOONGARCH64 M68K SH SHEB";
        static const char prefix[] = "SCMP_ARCH_";
        const char *rest = name + strlen(prefix);
        return str_starts(name, prefix) && str_words_have(names, rest, strlen(rest));
}

/* Checks the form of `architectures`. The list changes nothing: the native architecture is always filtered,
 * and all others have no calls. */
static bool check_architectures(const struct compiler *compiler, const cJSON *root)
{
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "architectures");
        char quoted[64];

        if (!is_string_list(list))
                return refuse_profile(compiler, ": \"architectures\" must be a list of strings");
        foreach (item, list)
                if (!is_architecture(item->valuestring))
                        return refuse_profile(compiler, ": unknown architecture \"%s\"",
                                              quote(quoted, item->valuestring));
        return true;
}

static bool start_filter(struct compiler *compiler)
{
        scmp_filter_ctx filter = seccomp_init(compiler->default_action);
        int status = filter ? 0 : -ENOMEM;

        compiler->filter = filter;
        /* Added before the native one is removed, so that libseccomp refuses an architecture of the other
         * byte order: it would export the program in that order. */
        if (status == 0 && compiler->architecture != seccomp_arch_native()) {
                status = seccomp_arch_add(filter, compiler->architecture);
                if (status == 0)
                        status = seccomp_arch_remove(filter, SCMP_ARCH_NATIVE);
        }
        if (status == 0)
                status = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
        /* 2: a binary tree instead of one comparison after the other. The kernel runs a new program once for
         * every call number, for its cache of calls that are always allowed, so this shortens loading too. */
        if (status == 0)
                status = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        return status >= 0 ||
               refuse_profile(compiler, ": libseccomp cannot make a filter for this architecture: %s",
                              strerror(-status));
}

/* A profile knows the calls of its time. A newer call must get ENOSYS; after any other error a libc that
 * tries it first does not fall back to the old call that the profile permits. (Calls of x32 or of a foreign
 * architecture with a high number get ENOSYS here, as they would from libseccomp's program.) */
static size_t write_prologue(const struct compiler *compiler, struct sock_filter prologue[PROLOGUE])
{
        if (is_permission(compiler->default_action) || compiler->default_action == SCMP_ACT_ERRNO(ENOSYS))
                return 0;
        prologue[0] =
            (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        prologue[1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (unsigned)compiler->newest, 0, 1);
        prologue[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
        return PROLOGUE;
}

static bool export_program(const struct compiler *compiler, struct seccomp_program *program)
{
        struct sock_filter prologue[PROLOGUE];
        size_t before = write_prologue(compiler, prologue);
        autoclose int fd = memfd_create("seccomp", MFD_CLOEXEC);
        autofree char *exported = NULL;
        ssize_t size = -errno;

        if (fd >= 0) {
                /* All versions of libseccomp can export to a descriptor, and only newer ones to memory. */
                int status = seccomp_export_bpf(compiler->filter, fd);
                size = status < 0 ? status : lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
                if (size == 0)
                        size = fd_read_all(fd, BPF_MAXINSNS * sizeof(*prologue), &exported);
        }
        size_t count = size < 0 ? 0 : (size_t)size / sizeof(*prologue);
        if (size == -EFBIG || before + count > BPF_MAXINSNS)
                return refuse_profile(
                    compiler,
                    ": more than the %d instructions that the kernel accepts; use fewer rules with "
                    "\"args\"",
                    BPF_MAXINSNS);
        if (!exported || count == 0)
                return refuse_profile(compiler, ": cannot export the program from libseccomp: %s",
                                      strerror((int)-size));
        struct sock_filter *code = malloc((before + count) * sizeof(*code));
        if (!code)
                return refuse_profile(compiler, ": %s", strerror(ENOMEM));
        memcpy(code, prologue, before * sizeof(*code));
        memcpy(code + before, exported, count * sizeof(*code));
        *program =
            (struct seccomp_program){.code = code, .length = (unsigned short)(before + count), .owned = true};
        return true;
}

/* A server's profile is loaded before its program is executed, so it must permit execve. */
static bool check_start(const struct compiler *compiler)
{
        if (compiler->can_execute && compiler->can_exit)
                return true;
        return refuse_profile(compiler, " does not permit %s, so no program could run under it",
                              compiler->can_execute ? "exit_group" : "execve");
}

/* `changes` may be NULL. */
static bool compile(struct compiler *compiler, const cJSON *root, const cJSON *changes,
                    struct seccomp_program *program)
{
        if (!cJSON_IsObject(root))
                return refuse_profile(compiler, " is not a JSON object");
        if (!read_action(compiler, root, "defaultAction", "defaultErrnoRet", &compiler->default_action) ||
            !check_architectures(compiler, root) || !start_filter(compiler))
                return false;
        compiler->can_execute = compiler->can_exit = is_permission(compiler->default_action);
        return add_rules(compiler, root, changes) && add_rules(compiler, changes, NULL) &&
               (!compiler->must_start_programs || check_start(compiler)) && export_program(compiler, program);
}

/* Parses the text; NULL unless it is one JSON value and nothing else. */
static cJSON *parse(const struct seccomp_source *source)
{
        const char *end = NULL;
        cJSON *root = cJSON_ParseWithLengthOpts(source->json, source->length, &end, false);
        const char *limit = source->json + source->length;

        while (root && end < limit && strchr(" \t\r\n", *end) && *end != '\0')
                end++;
        if (root && end != limit) {
                cJSON_Delete(root);
                return NULL;
        }
        return root;
}

bool seccomp_compile_for(uint32_t architecture, const struct seccomp_source *profile,
                         const struct seccomp_source *changes, struct seccomp_program *program,
                         struct error *error)
{
        struct compiler compiler = {.name = profile->name,
                                    .must_start_programs = profile->must_start_programs,
                                    .architecture = architecture,
                                    .error = error};
        cJSON *root = parse(profile);
        cJSON *changes_root = changes ? parse(changes) : NULL;
        bool valid = root && (!changes || changes_root);
        bool done = valid ? compile(&compiler, root, changes_root, program)
                          : error_set(error, EXIT_SETUP, "seccomp profile %s is not valid JSON",
                                      root && changes ? changes->name : profile->name);
        if (compiler.filter)
                seccomp_release(compiler.filter);
        cJSON_Delete(changes_root);
        cJSON_Delete(root);
        return done;
}

bool seccomp_compile(const char *name, const char *json, size_t length, struct seccomp_program *program,
                     struct error *error)
{
        const struct seccomp_source profile = {
            .name = name, .json = json, .length = length, .must_start_programs = true};

        return seccomp_compile_for(seccomp_arch_native(), &profile, NULL, program, error);
}
