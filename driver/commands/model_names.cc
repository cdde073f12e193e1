#include "driver/commands/model_names.h"

namespace headrace {
namespace {

constexpr const char* kModel = "model";

}  // namespace

void WriteModelNames(const ImportedModel& m, Program* p) {
  for (const auto& [name, original] : m.original_names) {
    if (!p->Entry().Find(name)) continue;
    Origin& origin = p->MutableEntry().Mutable(name).origin;
    origin.source = Name(original);
    origin.pass = Name(kModel);
  }
}

void ReadModelNames(ImportedModel* m) {
  const Sdfg& s = m->program.Entry();
  for (Name n : s.order)
    if (const Origin& o = s.Get(n).origin; o.pass == Name(kModel)) m->original_names.emplace_back(n, o.source.str());
}

}  // namespace headrace
