// One plugin per -DBAD_…: each is wrong in one way (tests/plugins/plugins_test.py builds them).
#include <stdexcept>

#include "headrace_plugin.h"

#ifndef BAD_MAGIC
#define BAD_MAGIC HEADRACE_PLUGIN_MAGIC
#endif
#ifndef BAD_MAJOR
#define BAD_MAJOR HEADRACE_ABI_MAJOR
#endif
#ifndef BAD_MINOR
#define BAD_MINOR HEADRACE_ABI_MINOR
#endif
#ifndef BAD_TOOLCHAIN
#define BAD_TOOLCHAIN nullptr
#endif
#ifndef BAD_NAME
#define BAD_NAME "bad"
#endif

extern "C" {
#ifndef BAD_NO_INFO
HEADRACE_EXPORT extern const hr_plugin_info headrace_plugin_info;
const hr_plugin_info headrace_plugin_info = {sizeof(hr_plugin_info), BAD_MAGIC, BAD_MAJOR, BAD_MINOR, BAD_NAME, "1",
                                             BAD_TOOLCHAIN};
#endif

#ifdef BAD_UNDEFINED
void no_library_has_this(void);
#endif

#ifndef BAD_NO_ENTRY
HEADRACE_EXPORT int32_t headrace_plugin_v1(const hr_host* host) {
#ifdef BAD_UNDEFINED
  no_library_has_this();
#endif
#ifdef BAD_THROWS
  throw std::runtime_error("out of coffee");
#endif
#ifdef BAD_RETURNS
  return BAD_RETURNS;
#endif
#ifdef BAD_THROWS_NUMBER
  throw 42;
#endif
#ifdef BAD_EXPAND
  hr_implementation fails{};
  fails.struct_size = sizeof fails, fails.domain = "bad", fails.op = "Twice", fails.name = "fails",
  fails.until_version = 1 << 30;
  fails.expand = [](void*, const hr_node*, [[maybe_unused]] const hr_writer* out, const hr_writer* error) {
#ifdef BAD_EXPAND_THROWS
    throw std::runtime_error("out of coffee");
#endif
#ifdef BAD_EXPAND_TEXT
    out->put(out->ctx, BAD_EXPAND_TEXT);
    return 0;
#endif
    error->put(error->ctx, "out of coffee");
    return 1;
  };
  if (host->add_implementation(host->ctx, &fails) != 0) return 1;
#endif
  hr_op op{};
  op.struct_size = sizeof op;
#ifndef BAD_DOMAIN
#define BAD_DOMAIN "bad"
#endif
#ifndef BAD_OP
#define BAD_OP "Twice"
#endif
  op.domain = BAD_DOMAIN, op.op = BAD_OP, op.doc = "Registered by two plugins.";
#ifdef BAD_FORM
  op.pure = "Y = X +";
#else
  op.pure = "Y = X * 2";
#endif
#ifdef BAD_RESERVED
  op.domain = "grad";
  hr_signature s{};
  s.struct_size = sizeof s, s.domain = "grad", s.op = "Conv", s.doc = "";
  if (host->add_signature(host->ctx, &s) != 0) return 1;
#endif
  return host->add_op(host->ctx, &op);
}
#endif
}
