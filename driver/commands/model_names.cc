#include "driver/commands/model_names.h"

namespace headrace {
namespace {

constexpr const char* kModel = "model";

}  // namespace

void WriteModelNames(const ImportedModel& m, Program* p) {
  for (const auto& [name, original] : m.original_names) {
    const Container* c = p->Entry().Find(name);
    if (!c || c->kind == ContainerKind::kTransient) continue;  // of values inside, only the importer speaks
    p->MutableEntry().Mutable(name).origin = Origin(original, kModel);
  }
}

void ReadModelNames(ImportedModel* m) {
  const Sdfg& s = m->program.Entry();
  for (Name n : s.order)
    if (const Origin& o = s.Get(n).origin; o.pass() == Name(kModel)) m->original_names.emplace_back(n, o.Label());
}

}  // namespace headrace
