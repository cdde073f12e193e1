#include "transforms/passes.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <tuple>

#include "ir/registry/transformation.h"
#include "ir/text/parser.h"
#include "ir/verify/verify.h"
#include "transforms/alias.h"
#include "transforms/assume_signs.h"
#include "transforms/autocast.h"
#include "transforms/bin_sums.h"
#include "transforms/bind_calls.h"
#include "transforms/block_triangles.h"
#include "transforms/by_hand/by_hand.h"
#include "transforms/compute_constants.h"
#include "transforms/dead_code.h"
#include "transforms/dead_stores.h"
#include "transforms/denormals.h"
#include "transforms/eliminate_copies.h"
#include "transforms/expand_library_nodes.h"
#include "transforms/first_sums.h"
#include "transforms/fold_constants.h"
#include "transforms/fold_control.h"
#include "transforms/fold_scales.h"
#include "transforms/forward_operands.h"
#include "transforms/forward_quantised.h"
#include "transforms/forward_registers.h"
#include "transforms/fuse_call_epilogue.h"
#include "transforms/fuse_epilogue.h"
#include "transforms/fuse_maps.h"
#include "transforms/fuse_outer_loops.h"
#include "transforms/fuse_rows.h"
#include "transforms/fuse_states.h"
#include "transforms/hoist_calls.h"
#include "transforms/index_values.h"
#include "transforms/inline_nested.h"
#include "transforms/integer_products.h"
#include "transforms/layout/assign_layouts.h"
#include "transforms/layout/turn_arrays.h"
#include "transforms/layout/pack_constants.h"
#include "transforms/layout/split_constants.h"
#include "transforms/loop_to_map.h"
#include "transforms/one_sided_sigmoids.h"
#include "transforms/narrow_arrays.h"
#include "transforms/outline.h"
#include "transforms/parameters.h"
#include "transforms/phases.h"
#include "transforms/plan_memory.h"
#include "transforms/profile.h"
#include "transforms/replace.h"
#include "transforms/round_early.h"
#include "transforms/scalarize.h"
#include "transforms/separate_tiles.h"
#include "transforms/share_calls.h"
#include "transforms/share_kernels.h"
#include "transforms/share_layers.h"
#include "transforms/shorten_lifetimes.h"
#include "transforms/short_sums.h"
#include "transforms/split_live_ranges.h"
#include "transforms/unflatten.h"
#include "transforms/whole_parts.h"
#include "transforms/schedule/choose_schedule.h"

namespace headrace::transforms {
namespace {

std::string Option(const PassOptions& o, const std::string& name) {
  for (const auto& [key, value] : o)
    if (key == name) return value;
  return "";
}

Pass Make(std::string name, std::string doc, std::vector<std::string> options,
          std::function<Result<bool>(Program&, const PassOptions&, const Registry&)> run) {
  Pass p;
  p.name = std::move(name);
  p.doc = std::move(doc);
  p.options = std::move(options);
  p.run = std::move(run);
  return p;
}

// IR text, or the name of a file with it.
Result<Program> ReadProgram(const std::string& pass, const PassOptions& o, const std::string& option) {
  const std::string given = Option(o, option);
  if (given.empty()) return UsageError("E0357", pass + " needs " + option + "=FILE, or the IR text itself");
  std::string text = given, file = "<" + option + ">";
  if (given.find('{') == std::string::npos) {
    std::ifstream in(given);
    if (!in) return UsageError("E0357", pass + ": " + option + " '" + given + "' is neither IR text nor a file that can be read");
    std::stringstream all;
    all << in.rdbuf();
    text = all.str(), file = given;
  }
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text, file));
  HR_RETURN_IF_ERROR(Verify(p));
  return p;
}

Result<bool> RunReplace(Program& p, const PassOptions& o, const Registry& r) {
  HR_ASSIGN_OR_RETURN(Program pattern, ReadProgram("replace", o, "pattern"));
  HR_ASSIGN_OR_RETURN(Program replacement, ReadProgram("replace", o, "replacement"));
  HR_ASSIGN_OR_RETURN(int count, Replace(p, pattern, replacement, r));
  return count > 0;
}

std::vector<Name> NamesIn(const PassOptions& o, const std::string& option = "names") {
  std::stringstream words(Option(o, option));
  std::vector<Name> names;
  for (std::string word; words >> word;) names.push_back(Name(word));
  return names;
}

Result<bool> RunParameterToTransient(Program& p, const PassOptions& o, const Registry&) {
  const std::vector<Name> names = NamesIn(o);
  if (names.empty()) return UsageError("E0357", "parameter-to-transient needs names=\"Y Z\": which outputs");
  return ParameterToTransient(p, names);
}

Result<bool> RunParameterInnermost(Program& p, const PassOptions& o, const Registry&) {
  const std::vector<Name> names = NamesIn(o);
  if (names.empty()) return UsageError("E0357", "parameter-innermost needs names=\"X Y\": which images");
  return ParameterInnermost(p, names);
}

Result<bool> RunAutocast(Program& p, const PassOptions& o, const Registry& r) {
  const std::string to = Option(o, "to");
  if (to != "bf16" && to != "f16") return UsageError("E0357", "autocast: to is bf16 or f16, not '" + to + "'");
  return Autocast(p, to == "f16" ? DType::kF16 : DType::kBF16, r);
}

Result<bool> RunDenormals(Program& p, const PassOptions& o, const Registry&) {
  const std::string mode = Option(o, "mode");
  if (!mode.empty() && mode != "flush" && mode != "keep")
    return UsageError("E0357", "denormals: mode is flush or keep, not '" + mode + "'");
  return MarkDenormals(p, mode == "keep");
}

Result<bool> RunInputToConstant(Program& p, const PassOptions& o, const Registry&) {
  const std::string name = Option(o, "name"), value = Option(o, "value");
  if (name.empty() || value.empty())
    return UsageError("E0357", "input-to-constant needs name=W and value=\"[1, 2]\", as a constant is written");
  return InputToConstant(p, Name(name), value);
}

Result<bool> RunConstantFolding(Program& p, const PassOptions& o, const Registry& r, const Ask& ask) {
  const std::string max = Option(o, "max-bytes");
  const int64_t bytes = max.empty() ? 1 << 16 : atoll(max.c_str());
  if (bytes < 1) return UsageError("E0357", "constant-folding: max-bytes must be at least 1, not '" + max + "'");
  return FoldConstants(p, bytes, r, ask);
}

Result<ExpandOptions> ExpansionOptions(const PassOptions& o) {
  ExpandOptions expand{Option(o, "only")};
  const std::string where = Option(o, "where");
  if (where == "maps") expand.where = ExpandOptions::kMaps;
  else if (where == "elementwise") expand.where = ExpandOptions::kElementwise;
  else if (!where.empty())
    return UsageError("E0357", "expand-library-nodes: where is maps or elementwise, not '" + where + "'");
  return expand;
}

// A number that an option gives; as it is where the option is not there.
Status CountOption(const std::string& pass, const PassOptions& o, const std::string& name, size_t* out) {
  const std::string text = Option(o, name);
  if (text.empty()) return {};
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (*end || value < 1) return UsageError("E0357", pass + ": " + name + " must be a number, at least 1, not '" + text + "'");
  *out = static_cast<size_t>(value);
  return {};
}

Result<FusionLimits> Limits(const PassOptions& o) {
  FusionLimits limits;
  const std::string max = Option(o, "max");
  if (!max.empty()) limits.max_statements = atoi(max.c_str());
  if (limits.max_statements < 1) return UsageError("E0357", "fuse-maps: max must be at least 1, not '" + max + "'");
  return limits;
}

Transformation MapFusion() {
  Transformation t;
  t.name = "fuse-maps", t.doc = "fuses maps that pass values element by element or row by row", t.options = {"max"};
  t.find = [](const Program& p, const PassOptions& o, const Registry&) -> Result<std::vector<Match>> {
    HR_ASSIGN_OR_RETURN(FusionLimits limits, Limits(o));
    return FindFusions(p, limits);
  };
  t.apply = [](Program& p, const Match& m, const PassOptions&, const Registry&) { return FuseAt(p, m); };
  t.run = [](Program& p, const PassOptions& o, const Registry&) -> Result<bool> {
    HR_ASSIGN_OR_RETURN(FusionLimits limits, Limits(o));
    return FuseMaps(p, limits);
  };
  return t;
}

Result<OuterLoopLimits> LoopLimits(const PassOptions& o) {
  OuterLoopLimits limits;
  HR_RETURN_IF_ERROR(CountOption("fuse-outer-loops", o, "bytes", &limits.least_bytes));
  HR_RETURN_IF_ERROR(CountOption("fuse-outer-loops", o, "operations", &limits.least_operations));
  return limits;
}

Transformation OuterLoopFusion() {
  Transformation t = FromSteps(
      "fuse-outer-loops",
      "puts neighbouring maps into one loop around them, so that arrays between them hold one iteration's part: where it saves `bytes` at "
      "least, and each has `operations` in an iteration", {"bytes", "operations"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(const OuterLoopLimits limits, LoopLimits(o));
        return FuseOuterLoopsAt(p, limits, ask);
      },
      Asking::kAsksFirst);
  t.run = [](Program& p, const PassOptions& o, const Registry&) -> Result<bool> {
    HR_ASSIGN_OR_RETURN(const OuterLoopLimits limits, LoopLimits(o));
    return FuseOuterLoops(p, limits);
  };
  return t;
}

Transformation RowFusion() {
  return FromSteps(
      "fuse-rows",
      "lets statements that walk a matrix of `bytes` and `rows` or more row by row walk it once, where what a row uses stays within `near` "
      "bytes: what is summed over the rows is so in about `parts` parts", {"bytes", "rows", "near", "parts"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        RowLimits limits;
        HR_RETURN_IF_ERROR(CountOption("fuse-rows", o, "bytes", &limits.bytes));
        HR_RETURN_IF_ERROR(CountOption("fuse-rows", o, "rows", &limits.rows));
        HR_RETURN_IF_ERROR(CountOption("fuse-rows", o, "near", &limits.row_bytes));
        HR_RETURN_IF_ERROR(CountOption("fuse-rows", o, "parts", &limits.parts));
        return FuseRows(p, limits, ask);
      });
}

Result<schedule::Device> DeviceOf(const PassOptions& o) {
  const std::string device = Option(o, "device");
  return schedule::FindDevice(device.empty() ? "cpu" : device);
}

// The text of a plan, or a file's name.
Result<Plan> PlanOf(const PassOptions& o) {
  const std::string given = Option(o, "plan");
  if (given.empty() || given.find_first_of(" \n") != given.npos) return ParsePlan(given);
  std::ifstream in(given);
  if (!in) return UsageError("E0357", "choose-schedule: plan '" + given + "' is neither a plan's text nor a file that can be read");
  std::stringstream all;
  all << in.rdbuf();
  return ParsePlan(all.str(), given);
}

Transformation EpilogueFusion() {
  Transformation t;
  t.name = "fuse-epilogue", t.doc = "computes products with what they start at and what becomes of them", t.options = {"device"};
  t.find = [](const Program& p, const PassOptions& o, const Registry&) -> Result<std::vector<Match>> {
    HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
    return FindFusions(p, ProductFusion(p, d));
  };
  t.apply = [](Program& p, const Match& m, const PassOptions&, const Registry&) { return FuseAt(p, m); };
  t.run = [](Program& p, const PassOptions& o, const Registry&) -> Result<bool> {
    HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
    return FuseEpilogue(p, d);
  };
  return t;
}

// Passes that do one thing at a place, and then the next.
Status RegisterSteps(Registry& r) {
  HR_RETURN_IF_ERROR(r.Add(MapFusion()));
  HR_RETURN_IF_ERROR(r.Add(EpilogueFusion()));
  using Plain = Result<bool> (*)(Program&, const Ask&);
  const std::tuple<const char*, const char*, Plain> plain[] = {
      {"fuse-states", "merges states that follow each other", FuseStates},
      {"loop-to-map", "makes maps of loops whose iterations don't need each other, statement by statement", LoopToMap},
      {"accumulate", "what a statement adds to an element in place it accumulates", Accumulate},
      {"fold-control", "removes branches, loops and maps that sizes decide", FoldControl},
      {"eliminate-dead-code", "removes statements whose results nobody reads, and unused containers",
       EliminateDeadCode},
      {"eliminate-dead-stores", "removes statements whose results are overwritten before anybody reads them", EliminateDeadStores},
      {"eliminate-copies", "forwards whole copies; copies that only change the shape become views", EliminateCopies},
      {"scalarize", "turns arrays that live within one iteration into registers", Scalarize},
      {"localize-rows", "arrays of which each iteration has a row of its own become a row of each worker", LocalizeRows},
      {"split-live-ranges", "what a loop sets in each iteration before it reads it has a name of its own there", SplitLiveRanges},
      {"bin-sums", "sums over intervals of values, one for each iteration: the interval of each element, and what it adds there", BinSums},
      {"forward-index-values", "computes elements that are cheap functions of their indices where they are read", ForwardIndexValues},
      {"write-out-short-sums", "sums of products over very few terms become one statement a term, element by element", WriteOutShortSums},
      {"store-first-sums", "stores what is added to zeros, once to each element, and the zeros not", StoreFirstSums},
      {"unflatten", "maps over elements one after the other go by the dimensions of what is around them", Unflatten},
      {"round-early", "arrays of f32 that are only read rounded to f16 or bf16 hold what is rounded", RoundEarly},
      {"narrow-arrays", "arrays of f32 that hold only what was f16 or bf16 hold that", NarrowArrays},
      {"split-phases", "writes what is computed in phases where it belongs, each phase by a statement of its own", SplitPhases},
      {"hoist-calls", "computes calls that take long before a map, once for the indices that decide on them", HoistCalls},
      {"block-triangles", "sums of products over triangles by blocks of rows: rectangles and small triangles", BlockTriangles},
      {"share-calls", "lets both sides of a choice share a call; squares become products", ShareCalls},
      {"one-sided-sigmoids", "computes sigmoids in f32 by one exponential of one sign, where denormals are zero", OneSidedSigmoids},
      {"separate-tiles", "lets code around tiles of registers be apart from the rest of a kernel, where compilers keep them there", SeparateTiles},
      {"whole-parts", "parts of ranges that their length divides have no end but their own", WholeParts},
      {"share-kernels", "makes one kernel of scheduled ones that differ in numbers only, which their calls give", ShareKernels},
      {"fold-scales", "gives what is rounded to 8 bits one scale, of integers and constants", FoldScales},
      {"forward-quantised", "moves what is dequantised, moved and quantised again as it is", ForwardQuantised},
      {"forward-registers", "makes maps of one statement of those that hold elements in registers for it", ForwardRegisters},
  };
  for (const auto& [name, doc, run] : plain)
    HR_RETURN_IF_ERROR(r.Add(FromSteps(name, doc, {}, [run = run](Program& p, const PassOptions&, const Registry&, const Ask& ask) {
      return run(p, ask);
    })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "alias", "lets elementwise statements and calls write over an input that is not used any more", {},
      [](Program& p, const PassOptions&, const Registry& reg, const Ask& ask) { return Alias(p, reg, ask); })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "shorten-lifetimes", "moves statements to where fewer bytes are in use at once, such as updates right behind their gradients", {},
      [](Program& p, const PassOptions&, const Registry&, const Ask& ask) { return ShortenLifetimes(p, {}, ask); })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "fuse-call-epilogue", "puts elementwise statements into the call before them, where its function takes an epilogue", {},
      [](Program& p, const PassOptions&, const Registry& reg, const Ask& ask) { return FuseCallEpilogue(p, reg, ask); })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "expand-library-nodes", "replaces library nodes by their implementation's expansion, inlined", {"only", "where"},
      [](Program& p, const PassOptions& o, const Registry& reg, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(ExpandOptions expand, ExpansionOptions(o));
        return ExpandLibraryNodes(p, reg, expand, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "assign-layouts", "puts the channels of images innermost in memory where sums over them gain from it", {"device"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        const std::string device = Option(o, "device");
        HR_ASSIGN_OR_RETURN(schedule::Device d, schedule::FindDevice(device.empty() ? "cpu" : device));
        return AssignLayouts(p, d, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "turn-arrays", "puts the dimension innermost in memory along which loops' statements walk an array", {"device"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
        return TurnArrays(p, d, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "forward-operands", "computes what one product reads, and is cheap, where the product lays its operands out", {"device"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
        return ForwardOperands(p, d, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "integer-products", "sums products of quantised operands as integers", {"device"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
        return IntegerProducts(p, d, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "split-constants", "makes several of a constant that is read at known places of its first dimension, as weights of two directions are",
      {}, [](Program& p, const PassOptions&, const Registry&, const Ask& ask) -> Result<bool> { return SplitConstants(p, ask); })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "pack-constants", "packs constants as the tiles of products read them", {"device"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
        return PackConstants(p, d, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(OuterLoopFusion()));
  HR_RETURN_IF_ERROR(r.Add(RowFusion()));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "outline", "makes kernels of statements: each distinct one once, called where it stood; with a device, of loops of small ones, too",
      {"device"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        if (Option(o, "device").empty()) return Outline(p, ask);
        HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
        return Outline(p, ask, {d.chunk_operations, d.block_threads < 2});
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "choose-schedule", "gives kernels the loops, parts and lanes that a device description asks for, and a `plan` for those it names",
      {"device", "plan"}, [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        HR_ASSIGN_OR_RETURN(const schedule::Device d, DeviceOf(o));
        HR_ASSIGN_OR_RETURN(const Plan plan, PlanOf(o));
        return ChooseSchedule(p, d, ask, plan);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "share-layers", "makes one SDFG of layers of equal statements, of `least` or more, and calls it for each", {"least"},
      [](Program& p, const PassOptions& o, const Registry& reg, const Ask& ask) -> Result<bool> {
        LayerOptions layers;
        HR_RETURN_IF_ERROR(CountOption("share-layers", o, "least", &layers.least));
        return ShareLayers(p, reg, layers, ask);
      })));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "inline-nested",
      "inlines calls at state level; everywhere=true: in maps, and of parts of arrays; keep=N: but not what is called more than once "
      "and has more than N statements; leave=\"F G\": but not these", {"everywhere", "keep", "leave"},
      [](Program& p, const PassOptions& o, const Registry&, const Ask& ask) -> Result<bool> {
        InlineOptions inlining;
        inlining.everywhere = Option(o, "everywhere") == "true";
        inlining.leave = NamesIn(o, "leave");
        HR_RETURN_IF_ERROR(CountOption("inline-nested", o, "keep", &inlining.max_statements));
        return InlineNested(p, inlining, ask);
      },
      Asking::kAsksFirst)));
  HR_RETURN_IF_ERROR(r.Add(FromSteps(
      "compute-constants",
      "computes arrays that take long and depend on no argument when the program is compiled: of `bytes` at most, all of a program of `all`",
      {"bytes", "all"}, [](Program& p, const PassOptions& o, const Registry& reg, const Ask& ask) -> Result<bool> {
        ConstantLimits limits;
        HR_RETURN_IF_ERROR(CountOption("compute-constants", o, "bytes", &limits.array_bytes));
        HR_RETURN_IF_ERROR(CountOption("compute-constants", o, "all", &limits.program_bytes));
        return ComputeConstants(p, limits, reg, ask);
      })));
  return r.Add(FromSteps("constant-folding", "computes library nodes of constants, where a result has at most `max-bytes`",
                         {"max-bytes"}, RunConstantFolding));
}

}  // namespace

Status RegisterAll(Registry& r) {
  HR_RETURN_IF_ERROR(RegisterSteps(r));
  HR_RETURN_IF_ERROR(by_hand::RegisterAll(r));
  HR_RETURN_IF_ERROR(r.Add(Make("denormals", "marks what takes denormal floats for zero (all without f64); mode=keep: nothing does",
                                {"mode"}, RunDenormals)));
  HR_RETURN_IF_ERROR(r.Add(Make("autocast", "computes products in f16 or bf16, `to`, and what needs range or precision in f32", {"to"},
                                RunAutocast)));
  HR_RETURN_IF_ERROR(r.Add(Make("replace", "puts a call of `replacement` wherever library nodes compute `pattern`; both are files or IR text",
                                {"pattern", "replacement"}, RunReplace)));
  HR_RETURN_IF_ERROR(r.Add(
      Make("parameter-to-transient", "outputs, `names`, that the caller no longer gets", {"names"}, RunParameterToTransient)));
  HR_RETURN_IF_ERROR(r.Add(Make("parameter-innermost", "images, `names`, that the caller gives and gets with their channels innermost",
                                {"names"}, RunParameterInnermost)));
  HR_RETURN_IF_ERROR(r.Add(Make("input-to-constant", "makes the `value` of the input `name` a part of the program",
                                {"name", "value"}, RunInputToConstant)));
  HR_RETURN_IF_ERROR(r.Add(Make("assume-signs", "says of which symbols nothing shows that they are 0 or more", {},
                                [](Program& p, const PassOptions&, const Registry&) { return Result<bool>(AssumeSigns(p)); })));
  HR_RETURN_IF_ERROR(r.Add(Make("plan-memory", "gives transients their places in one arena, from lifetimes", {},
                                [](Program& p, const PassOptions&, const Registry&) { return PlanMemory(p); })));
  HR_RETURN_IF_ERROR(r.Add(Make("bind-calls", "gives calls the layouts of operands and the scratch that their functions ask for", {},
                                [](Program& p, const PassOptions&, const Registry& reg) { return BindCalls(p, reg); })));
  HR_RETURN_IF_ERROR(AddClock(r));
  HR_RETURN_IF_ERROR(r.Add(Make("profile", "adds a parameter with the time, operations and bytes of each statement", {},
                                [](Program& p, const PassOptions&, const Registry&) { return Profile(p); })));
  for (int i = 0; i < kPipelineCount; ++i) {
    Pipeline p;
    p.name = kPipelines[i].name;
    p.text = kPipelines[i].text;
    HR_RETURN_IF_ERROR(r.Add(std::move(p)));
  }
  return {};
}

}  // namespace headrace::transforms
