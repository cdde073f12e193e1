// Single steps on programs: where transformations match, and transformations that Python registers.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "ir/registry/transformation.h"
#include "python/extension/bindings.h"
#include "python/extension/callbacks.h"

namespace headrace::python {
namespace {

using Strings = std::vector<std::string>;
using FoundMatch = std::tuple<std::string, std::string, Strings, bool, std::string>;  // transformation, place, what, advised, note
using GivenMatch = std::tuple<std::string, bool, std::string>;                        // place, advised, note

std::vector<FoundMatch> Matches(const Program& p, const Strings& names, const PassOptions& options) {
  std::vector<FoundMatch> all;
  for (const Transformation* t : Checked(TransformationsOf(Plugins(), names)))
    for (const Match& m : Checked(t->find(p, options, Plugins())))
      all.emplace_back(t->name, PlaceText(p, m), ThingsAt(p, m), m.advised, m.note);
  return all;
}

Strings Names() {
  Strings all;
  for (const Transformation* t : Plugins().Transformations()) all.push_back(t->name);
  return all;
}

// find(program) -> [(place, advised, note)]; apply(program, place) -> program.
void AddTransformation(const std::string& plugin, const std::string& name, const std::string& doc, nb::object find, nb::object apply) {
  Transformation t;
  t.name = name, t.doc = doc, t.plugin = plugin;
  const std::string what = "transformation '" + name + "'";
  t.find = [what, find = Held(find)](const Program& p, const PassOptions&, const Registry&) -> Result<std::vector<Match>> {
    std::vector<GivenMatch> given;
    {
      nb::gil_scoped_acquire gil;
      try {
        given = nb::cast<std::vector<GivenMatch>>(find.get()(p));
      } catch (nb::python_error& e) {
        return Raised(e, what);
      }
    }
    std::vector<Match> found;
    for (const auto& [place, advised, note] : given) {
      HR_ASSIGN_OR_RETURN(Match m, ParsePlace(p, place));
      m.advised = advised, m.note = note;
      found.push_back(std::move(m));
    }
    return found;
  };
  t.apply = [what, apply = Held(apply)](Program& p, const Match& m, const PassOptions&, const Registry&) -> Status {
    nb::gil_scoped_acquire gil;
    try {
      p = nb::cast<Program>(apply.get()(p, PlaceText(p, m)));
    } catch (nb::python_error& e) {
      return Raised(e, what);
    }
    return {};
  };
  Registry& r = Plugins();
  r.Withdraw(plugin);
  Check(r.Add(std::move(t)));
}

}  // namespace

void BindTransformations(nb::module_& m) {
  m.def("matches", &Matches, nb::arg("program"), nb::arg("transformations"), nb::arg("options"),
        "(transformation, place, what stands there, advised, note) of each place");
  m.def("transformations", &Names);
  m.def("add_transformation", &AddTransformation, nb::arg("plugin"), nb::arg("name"), nb::arg("doc"), nb::arg("find"), nb::arg("apply"));
}

}  // namespace headrace::python
