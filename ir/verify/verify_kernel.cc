// Schedules: where each kind of map may stand, and what it may hold.
#include <algorithm>
#include <set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/threads.h"
#include "ir/graph/homes.h"
#include "ir/text/printer.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

constexpr int64_t kMostRegisterBytes = 1 << 20;
constexpr int64_t kMostUnrolled = UINT16_MAX - 1;  // what compilers take

class Schedules {
 public:
  Schedules(const Sdfg& s, Report* r) : s_(s), r_(r) {}

  void Run() {
    for (BlockId b : s_.body) {
      const Control& c = s_.blocks[b].control;
      if (const auto* state = std::get_if<State>(&c)) List(state->statements);
      else if (const auto* let = std::get_if<Assign>(&c)) lets_.push_back({let->symbol, Substitute(let->value, lets_)});
      else Wrong({}, "a kernel is a list of statements", "let stands before them");
    }
    int64_t bytes = 0;
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      if (c.kind == ContainerKind::kView) View(c);
      if (c.storage == Storage::kRegister) Register(c, &bytes);
    }
  }

 private:
  // Of a thread's stack.
  void Register(const Container& c, int64_t* bytes) {
    int64_t count = ByteSize(c.dtype);
    for (const Expr& d : c.shape) {
      const auto size = AsInt(d);
      if (!size) return Wrong({}, "register " + Quoted(c.name) + " has no fixed size", "declare it @worker");
      count = *size > 0 && count > kMostRegisterBytes / *size ? kMostRegisterBytes + 1 : count * *size;
    }
    const bool before = *bytes > kMostRegisterBytes;
    *bytes = std::min(*bytes, kMostRegisterBytes) + count;
    if (before || *bytes <= kMostRegisterBytes) return;
    Wrong({}, "registers up to " + Quoted(c.name) + " take more than " + std::to_string(kMostRegisterBytes) + " bytes, as much as threads have for them",
          "declare it @worker");
  }

  void View(const Container& c) {
    const Container* base = s_.Find(c.base);
    if (!base || LiesInside(s_, c)) return;
    Diagnostic& d = r_->Add("E0256", "view " + Quoted(c.name) + " is not shown to lie in " + Quoted(c.base), {}, c.name.str(),
                            "correct its offset, sizes or strides, or say what is known of them: assume …");
    d.expected = "elements 0 to " + ToString(MemoryExtent(*base)) + ", the end excluded";
  }

  void List(const std::vector<NodeId>& statements) {
    Statements(statements);
    const std::vector<Home> homes = HomesOf(s_, statements);
    for (const Home& h : homes)
      if (apart_.count(h.owner.value) > 0 && s_.Get(h.container).storage == Storage::kWorker)
        Wrong(h.first, Quoted(h.container) + " is @worker in a map @apart, which runs to its end",
              "there may be no memory for it: use it before the map, too");
    if (!grids_) return;
    for (Name n : SharedByThreads(s_, statements))
      if (s_.Get(n).storage == Storage::kRegister)
        Wrong({}, "register " + Quoted(n) + " is used by several threads of a block", "declare it @shared");
    for (const Home& h : homes)
      if (!h.owner.valid() && s_.Get(h.container).storage == Storage::kShared)
        Wrong(h.first, Quoted(h.container) + " is @shared by several grids", "declare it @worker");
  }

  void Statements(const std::vector<NodeId>& list) {
    for (NodeId n : list) {
      if (r_->Full()) return;
      Statement(n);
    }
  }

  void Statement(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      bool guarded = t->guarded;
      Visit(t->value, [&](const Expr& e) { return guarded |= e.Is(ExprKind::kRead) && e->has_default, !guarded; });
      if (guarded) Wrong(n, "`??` is left in a scheduled kernel", "compare the index: c ? X[i] : 0");
      return;
    }
    const bool apart = std::find(around_.begin(), around_.end(), Schedule::kApart) != around_.end();
    if (apart) apart_.insert(n.value);
    if (const auto* i = std::get_if<If>(&body)) {
      const bool data = !ReadContainers(i->condition).empty();
      if (data && lanes_ > 0) Wrong(n, "a condition on data where lanes run together", "choose with condition ? a : b");
      Statements(i->body);
      return Statements(i->otherwise);
    }
    if (const auto* k = std::get_if<Touch>(&body)) {
      if (k->kind == TouchKind::kPrefetch) return Prefetch(n, *k);
      if (lanes_ > 0) Wrong(n, "a check where lanes run together", "check in a loop of its own before the map");
      if (apart) Wrong(n, "a check in a map @apart, which runs to its end", "check before the map");
      return;
    }
    if (const auto* m = std::get_if<Map>(&body)) return MapNode(n, *m);
    if (body.index() != 0) Wrong(n, "a statement that a scheduled kernel can't hold", "call it from the program");
  }

  void Prefetch(NodeId n, const Touch& k) {
    if (lanes_ > 0) Wrong(n, "a prefetch where lanes run together", "prefetch before the map: what is near comes as a line of memory");
    if (s_.Get(RootOf(s_, k.container)).storage == Storage::kRegister) Wrong(n, "a prefetch of a register", "prefetch memory");
  }

  void MapNode(NodeId n, const Map& m) {
    const Schedule kind = m.schedule;
    const std::string word = "@" + std::string(ScheduleWord(kind));
    for (const Range& r : m.ranges) Step(n, r);
    switch (kind) {
      case Schedule::kDefault:
        return Wrong(n, "a map of a scheduled kernel does not say where its iterations run", "write for, or @parallel, @vector, @unroll …");
      case Schedule::kSequential: break;
      case Schedule::kParallel:
      case Schedule::kGrid:
        grids_ |= kind == Schedule::kGrid;
        if (!around_.empty()) Wrong(n, "a map " + word + " stands inside another map", "regions of threads are outermost");
        break;
      case Schedule::kBlock:
      case Schedule::kLane:
        if (std::find(around_.begin(), around_.end(), Schedule::kGrid) == around_.end())
          Wrong(n, "a map " + word + " stands outside of a map @grid", "blocks and lanes are of a grid");
        if (std::find(around_.begin(), around_.end(), kind) != around_.end() ||
            (kind == Schedule::kBlock && std::find(around_.begin(), around_.end(), Schedule::kLane) != around_.end()))
          Wrong(n, "a map " + word + " stands inside what one thread does", "threads of a block meet where all of them do");
        break;
      case Schedule::kVector: Vector(n, m); break;
      case Schedule::kStream: Stream(n, m); break;
      case Schedule::kUnroll:
        for (const Range& r : m.ranges)
          if (const auto begin = AsInt(r.begin), end = AsInt(r.end); !begin || !end)
            Wrong(n, "a map @unroll has no fixed number of iterations", "use for");
          else if (*end > kMostUnrolled + *begin)
            Wrong(n, "a map @unroll has more than " + std::to_string(kMostUnrolled) + " iterations to write out", "use for");
        break;
      case Schedule::kHalves: Halves(n, m); break;
      case Schedule::kApart:
        if (!m.ranges.empty()) Wrong(n, "a map @apart has ranges", "write for, and map @apart { … } in it");
        break;
    }
    if (kind == Schedule::kApart) apart_.insert(n.value);
    around_.push_back(kind);
    const bool lanes = kind == Schedule::kVector || kind == Schedule::kStream || kind == Schedule::kBlock || kind == Schedule::kLane;
    lanes_ += lanes;
    Statements(m.body);
    lanes_ -= lanes;
    around_.pop_back();
  }

  // Code counts up by a step that is a name.
  void Step(NodeId n, const Range& r) {
    if (!r.step || AsInt(r.step) || ProveLe(Expr(1), Substitute(r.step, lets_), s_.assumptions) == Truth::kYes) return;
    Wrong(n, "the step " + ToString(r.step) + " of index " + Quoted(r.index) + " is not shown to be 1 or more",
          "write max(1, " + ToString(r.step) + "), or say what is known: assume 1 <= …");
  }

  void Vector(NodeId n, const Map& m) {
    for (NodeId c : m.body)
      if (!std::holds_alternative<Tasklet>(s_.nodes[c].body))
        return Wrong(n, "a map @vector holds more than tasklets", "lanes are innermost");
    if (m.ranges.size() != 1 || (m.ranges[0].step && AsInt(m.ranges[0].step) != 1))
      Wrong(n, "a map @vector has one index, by 1", "write for around it");
  }

  void Stream(NodeId n, const Map& m) {
    const bool by_one = m.ranges.size() == 1 && (!m.ranges[0].step || AsInt(m.ranges[0].step) == 1);
    const auto* t = m.body.size() == 1 && by_one ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
    const auto is_line = [&](Name container, const std::vector<Expr>& index, bool flat) {
      const Offset at = OffsetOf(s_, container, index, flat);
      const auto step = at.elements ? Coefficient(at.elements, m.ranges[0].index) : std::nullopt;
      return step && AsInt(*step) == 1;
    };
    const Expr none, &read = t ? t->value : none;
    const bool copies = t && t->op == WriteOp::kAssign && read.Is(ExprKind::kRead) && s_.Get(read->name).dtype == s_.Get(t->target).dtype &&
                        is_line(t->target, t->index, t->flat) && is_line(read->name, read->args, read->flat);
    if (!copies || s_.Get(RootOf(s_, t->target)).storage == Storage::kRegister)
      Wrong(n, "a map @stream is not one copy of a line of numbers to a line in memory",
            "as in map u in 0:128 @stream { Y[i + u] = t[u] }; lanes that compute are @vector");
  }

  void Halves(NodeId n, const Map& m) {
    const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
    const auto count = m.ranges.size() == 1 ? AsInt(m.ranges[0].end) : std::nullopt;
    const bool halves = count && *count > 0 && (*count & (*count - 1)) == 0 && AsInt(m.ranges[0].begin) == 0;
    bool constant = t != nullptr;
    if (t)
      for (const Expr& e : t->index)
        for (Name f : FreeSymbols(e)) constant &= m.ranges.empty() || f != m.ranges[0].index;
    if (!t || t->op == WriteOp::kAssign || !halves || !constant)
      Wrong(n, "a map @halves is one accumulation into one element, over 0:n where n is a power of two",
            "as in map u in 0:64 @halves { s += partial[u] }");
  }

  void Wrong(NodeId n, std::string message, std::string hint) { r_->Add("E0257", std::move(message), n, "", std::move(hint)); }

  const Sdfg& s_;
  Report* r_;
  NameMap lets_;
  std::vector<Schedule> around_;
  std::set<uint32_t> apart_;  // maps @apart, and what they hold
  bool grids_ = false;
  int lanes_ = 0;
};

}  // namespace

void CheckSchedule(const Sdfg& kernel, Report* report) { Schedules(kernel, report).Run(); }

}  // namespace headrace::verify
