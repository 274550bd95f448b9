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
        NOT_VALID = -1,
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
#define refuse_profile(compiler, ...) error_set((compiler)->error, EXIT_SETUP, "seccomp profile " __VA_ARGS__)

static bool is_member(const char *wanted, const cJSON *list)
{
        const cJSON *item;

        cJSON_ArrayForEach(item, list)
        {
                if (cJSON_IsString(item) && strcmp(item->valuestring, wanted) == 0)
                        return true;
        }
        return false;
}

/* True when `list` is absent (or null, as some engines write it) or an array of strings. */
static bool is_string_list(const cJSON *list)
{
        const cJSON *item;

        if (list && !cJSON_IsNull(list) && !cJSON_IsArray(list))
                return false;
        cJSON_ArrayForEach(item, list)
        {
                if (!cJSON_IsString(item))
                        return false;
        }
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
                return refuse_profile(compiler, "%s: \"%s\" must be a whole number from 0 to %.0f",
                                      compiler->name, key, highest);
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
                return refuse_profile(compiler, "%s: \"%s\" is missing or not a string", compiler->name, key);
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
                    "%s: %s needs another process that answers, which hutch does not have; use "
                    "SCMP_ACT_ERRNO",
                    compiler->name, item->valuestring);
        for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
                if (strcmp(item->valuestring, actions[i].name) == 0) {
                        *action = actions[i].action;
                        return true;
                }
        }
        return refuse_profile(compiler, "%s: unknown action \"%s\"", compiler->name,
                              quote(quoted, item->valuestring));
}

/* A condition of the engines, `includes` or `excludes`. */
struct condition {
        bool names_caps;
        bool names_arches;
        bool is_our_arch;
        bool names_kernel;
        bool is_our_kernel;
};

static const char *engine_name(uint32_t architecture)
{
        for (size_t i = 0; i < sizeof(engine_names) / sizeof(engine_names[0]); i++) {
                if (engine_names[i].token == architecture)
                        return engine_names[i].name;
        }
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

        *condition = (struct condition){0};
        if (!is_string_list(caps) || !is_string_list(arches))
                return refuse_profile(compiler,
                                      "%s: \"caps\" and \"arches\" in \"%s\" must be lists of strings",
                                      compiler->name, key);
        condition->names_caps = cJSON_GetArraySize(caps) > 0;
        condition->names_arches = cJSON_GetArraySize(arches) > 0;
        condition->is_our_arch = is_member(engine_name(compiler->architecture), arches);
        condition->names_kernel = kernel != NULL;
        if (kernel &&
            (!cJSON_IsString(kernel) || !read_kernel(kernel->valuestring, &condition->is_our_kernel)))
                return refuse_profile(compiler, "%s: \"minKernel\" must look like \"5.14\"", compiler->name);
        return true;
}

static bool judge_rule(const struct compiler *compiler, const cJSON *rule, bool *applies)
{
        struct condition includes;
        struct condition excludes;

        if (!read_condition(compiler, rule, "includes", &includes) ||
            !read_condition(compiler, rule, "excludes", &excludes))
                return false;
        *applies = !includes.names_caps && (!includes.names_arches || includes.is_our_arch) &&
                   (!includes.names_kernel || includes.is_our_kernel) && !excludes.is_our_arch &&
                   !excludes.is_our_kernel;
        return true;
}

/* Reads `args` of a rule and returns the number of comparisons, or NOT_VALID. There is at most one for each
 * argument: libseccomp joins them by "and" and refuses a second one. */
static int read_arguments(const struct compiler *compiler, const cJSON *rule, const char *call,
                          struct scmp_arg_cmp comparisons[ARGUMENTS])
{
        static const double exact = 9007199254740992; /* 2^53 */
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(rule, "args");
        const cJSON *item;
        char quoted[64];
        bool seen[ARGUMENTS] = {false};
        int count = 0;

        if (list && !cJSON_IsArray(list) && !cJSON_IsNull(list)) {
                refuse_profile(compiler, "%s: \"args\" of %s is not a list", compiler->name,
                               quote(quoted, call));
                return NOT_VALID;
        }
        cJSON_ArrayForEach(item, list)
        {
                const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "op");
                uint64_t index = UINT64_MAX;
                uint64_t value = 0;
                uint64_t second = 0;
                enum scmp_compare how = _SCMP_CMP_MIN;

                if (!read_number(compiler, item, "index", ARGUMENTS - 1, &index) ||
                    !read_number(compiler, item, "value", exact, &value) ||
                    !read_number(compiler, item, "valueTwo", exact, &second))
                        return NOT_VALID;
                if (index == UINT64_MAX) {
                        refuse_profile(compiler, "%s: a comparison for %s has no \"index\"", compiler->name,
                                       quote(quoted, call));
                        return NOT_VALID;
                }
                if (seen[index]) {
                        refuse_profile(compiler,
                                       "%s: one rule for %s compares argument %d twice; write two rules",
                                       compiler->name, quote(quoted, call), (int)index);
                        return NOT_VALID;
                }
                for (size_t i = SCMP_CMP_NE; i < sizeof(operators) / sizeof(operators[0]); i++) {
                        if (cJSON_IsString(name) && strcmp(name->valuestring, operators[i]) == 0)
                                how = (enum scmp_compare)i;
                }
                if (how == _SCMP_CMP_MIN) {
                        refuse_profile(compiler, "%s: a comparison for %s has an unknown \"op\"",
                                       compiler->name, quote(quoted, call));
                        return NOT_VALID;
                }
                seen[index] = true;
                comparisons[count++] = (struct scmp_arg_cmp){
                    .arg = (unsigned)index, .op = how, .datum_a = value, .datum_b = second};
        }
        return count;
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
        int status;

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
        status = seccomp_rule_add_array(compiler->filter, action, number, count, comparisons);
        if (status < 0)
                return refuse_profile(compiler, "%s: libseccomp refuses the rule for %s: %s", compiler->name,
                                      quote(quoted, call), strerror(-status));
        return true;
}

static bool add_rule(struct compiler *compiler, const cJSON *rule, const cJSON *replaced)
{
        const cJSON *names = cJSON_GetObjectItemCaseSensitive(rule, "names");
        const cJSON *first = cJSON_GetArrayItem(names, 0);
        const cJSON *name;
        struct scmp_arg_cmp comparisons[ARGUMENTS];
        uint32_t action = SCMP_ACT_ERRNO(EPERM);
        bool applies = false;
        int count;

        if (!cJSON_IsArray(names) || !is_string_list(names) || !first)
                return refuse_profile(compiler, "%s: every rule needs \"names\", a list of calls",
                                      compiler->name);
        if (!read_action(compiler, rule, "action", "errnoRet", &action) ||
            !judge_rule(compiler, rule, &applies))
                return false;
        count = read_arguments(compiler, rule, first->valuestring, comparisons);
        if (count == NOT_VALID)
                return false;
        cJSON_ArrayForEach(name, names)
        {
                if (applies && !is_member(name->valuestring, replaced) &&
                    !add_call(compiler, name->valuestring, action, comparisons, (unsigned)count))
                        return false;
        }
        return true;
}

/* Adds the rules of `root`, but none for the calls in `replaced` (a list of strings, or NULL). */
static bool add_rules(struct compiler *compiler, const cJSON *root, const cJSON *replaced)
{
        const cJSON *rules = cJSON_GetObjectItemCaseSensitive(root, "syscalls");
        const cJSON *rule;

        if (rules && !cJSON_IsArray(rules))
                return refuse_profile(compiler, "%s: \"syscalls\" is not a list", compiler->name);
        cJSON_ArrayForEach(rule, rules)
        {
                if (!add_rule(compiler, rule, replaced))
                        return false;
        }
        return true;
}

/* All calls that the rules of `root` name, as one list; NULL without memory. */
static cJSON *collect_names(const cJSON *root)
{
        const cJSON *rule;
        const cJSON *name;
        cJSON *all = cJSON_CreateArray();

        cJSON_ArrayForEach(rule, cJSON_GetObjectItemCaseSensitive(root, "syscalls"))
        {
                cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(rule, "names"))
                {
                        if (cJSON_IsString(name))
                                cJSON_AddItemToArray(all, cJSON_CreateString(name->valuestring));
                }
        }
        return all;
}

/* True for the names of the OCI runtime specification, whether this libseccomp knows them or not. */
static bool is_architecture(const char *name)
{
        static const char *const names[] = {
            "X86",         "X86_64",   "X32",         "ARM",   "AARCH64", "MIPS", "MIPS64",   "MIPS64N32",
            "MIPSEL",      "MIPSEL64", "PPC",         "PPC64", "PPC64LE", "S390", "S390X",    "PARISC",
            "MIPSEL64N32", "RISCV64",  "LOONGARCH64", "M68K",  "SH",      "SHEB", "PARISC64",
        };
        static const char prefix[] = "SCMP_ARCH_";
        if (strncmp(name, prefix, strlen(prefix)) != 0)
                return false;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (strcmp(name + strlen(prefix), names[i]) == 0)
                        return true;
        return false;
}

/* Checks the form of `architectures`. The list changes nothing: the native architecture is always filtered,
 * and all others have no calls. */
static bool check_architectures(const struct compiler *compiler, const cJSON *root)
{
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "architectures");
        const cJSON *item;

        if (!is_string_list(list))
                return refuse_profile(compiler, "%s: \"architectures\" must be a list of strings",
                                      compiler->name);
        cJSON_ArrayForEach(item, list)
        {
                char quoted[64];
                if (!is_architecture(item->valuestring))
                        return refuse_profile(compiler, "%s: unknown architecture \"%s\"", compiler->name,
                                              quote(quoted, item->valuestring));
        }
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
        if (status < 0)
                return refuse_profile(compiler,
                                      "%s: libseccomp cannot make a filter for this architecture: %s",
                                      compiler->name, strerror(-status));
        return true;
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
        struct sock_filter *code;
        ssize_t size = -errno;
        size_t count;

        if (fd >= 0) {
                /* All versions of libseccomp can export to a descriptor, and only newer ones to memory. */
                int status = seccomp_export_bpf(compiler->filter, fd);
                size = status < 0 ? status : lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
                if (size == 0)
                        size = fd_read_all(fd, BPF_MAXINSNS * sizeof(*code), &exported);
        }
        count = size < 0 ? 0 : (size_t)size / sizeof(*code);
        if (size == -EFBIG || before + count > BPF_MAXINSNS)
                return refuse_profile(
                    compiler,
                    "%s: more than the %d instructions that the kernel accepts; use fewer rules with "
                    "\"args\"",
                    compiler->name, BPF_MAXINSNS);
        if (!exported || count == 0)
                return refuse_profile(compiler, "%s: cannot export the program from libseccomp: %s",
                                      compiler->name, strerror((int)-size));
        code = malloc((before + count) * sizeof(*code));
        if (!code)
                return refuse_profile(compiler, "%s: %s", compiler->name, strerror(ENOMEM));
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
        return refuse_profile(compiler, "%s does not permit %s, so no program could run under it",
                              compiler->name, compiler->can_execute ? "exit_group" : "execve");
}

static bool compile(struct compiler *compiler, const cJSON *root, const cJSON *changes, const cJSON *replaced,
                    struct seccomp_program *program)
{
        if (!cJSON_IsObject(root))
                return refuse_profile(compiler, "%s is not a JSON object", compiler->name);
        if (!read_action(compiler, root, "defaultAction", "defaultErrnoRet", &compiler->default_action) ||
            !check_architectures(compiler, root) || !start_filter(compiler))
                return false;
        compiler->can_execute = compiler->can_exit = is_permission(compiler->default_action);
        return add_rules(compiler, root, replaced) && add_rules(compiler, changes, NULL) &&
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
        cJSON *replaced = collect_names(changes_root);
        bool done;

        if (!root || (changes && !changes_root))
                done =
                    refuse_profile(&compiler, "%s is not valid JSON", root ? changes->name : profile->name);
        else
                done = compile(&compiler, root, changes_root, replaced, program);
        if (compiler.filter)
                seccomp_release(compiler.filter);
        cJSON_Delete(replaced);
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
