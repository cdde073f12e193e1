#include "transforms/statement_key.h"

#include <algorithm>

namespace headrace::transforms {
namespace {

constexpr size_t kUsualLength = 512;  // of a key

class KeyWriter {
 public:
  KeyWriter(const Sdfg& s, const std::unordered_set<Name>& written, StatementKey* out)
      : s_(s), written_(written), out_(*out) {}

  void Statement(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      Put('T');
      Put(static_cast<int64_t>(t->op) | t->flat << 8 | t->guarded << 9);
      Container(t->target);
      for (const Expr& i : t->index) Write(i);
      Write(t->value);
    } else if (const auto* m = std::get_if<Map>(&body)) {
      Put('M');
      Put(static_cast<int64_t>(m->ranges.size()));
      Put(static_cast<int64_t>(m->schedule));
      for (const Range& r : m->ranges) {
        Write(r.begin), Write(r.end), Write(r.step);
        indices_.push_back(r.index);
      }
      for (NodeId c : m->body) Statement(c);
      indices_.resize(indices_.size() - m->ranges.size());
      Put('m');
    } else if (const auto* l = std::get_if<Library>(&body)) {
      Node(*l);
    }
  }

  // What is known of the symbols that were met, and of those that this speaks of in turn.
  void Known(const std::vector<Range>& given) {
    for (size_t k = 0; k < out_.symbols.size(); ++k) {
      for (const auto& [name, bounds] : s_.assumptions.bounds) {
        if (name != out_.symbols[k]) continue;
        Put('A'), Put(static_cast<int64_t>(k));
        Put(bounds.lo.value_or(INT64_MIN)), Put(bounds.hi.value_or(INT64_MAX));
      }
      for (const Range& r : given) {
        if (r.index != out_.symbols[k]) continue;
        Put('G'), Put(static_cast<int64_t>(k));
        Write(r.begin), Write(r.end), Write(r.step);
      }
    }
  }

 private:
  void Put(char c) { out_.text += c; }
  void Put(int64_t v) { out_.text.append(reinterpret_cast<const char*>(&v), sizeof v); }

  void Put(Name n) { Put(static_cast<int64_t>(n.id())); }

  void Node(const Library& l) {
    Put('L');
    Put(l.domain), Put(l.op), Put(l.implementation);
    Put(static_cast<int64_t>(l.version));
    for (const auto& [name, a] : l.attributes) {
      Put(name);
      AppendAttribute(a, &out_.text);
    }
    for (const auto* ports : {&l.inputs, &l.outputs}) {
      Put('|');
      for (const Port& p : *ports) {
        Put(p.name);
        if (p.container.empty()) Put('-');
        else Container(p.container);
      }
    }
    Put('l');
  }

  void Symbol(Name n) {
    for (size_t i = indices_.size(); i-- > 0;)  // innermost first
      if (indices_[i] == n) return Put('i'), Put(static_cast<int64_t>(i));
    const auto it = std::find(out_.symbols.begin(), out_.symbols.end(), n);  // there are few
    Put('s');
    Put(static_cast<int64_t>(it - out_.symbols.begin()));
    if (it == out_.symbols.end()) out_.symbols.push_back(n);
  }

  void Container(Name n) {
    const auto it = std::find(out_.containers.begin(), out_.containers.end(), n);
    Put(static_cast<int64_t>(it - out_.containers.begin()));
    if (it != out_.containers.end()) return;
    out_.containers.push_back(n);
    const headrace::Container& c = s_.Get(n);
    const bool view = c.kind == ContainerKind::kView;
    Put(static_cast<int64_t>(c.dtype) | static_cast<int64_t>(c.storage) << 8 | c.optional << 16 | view << 17 |
        static_cast<int64_t>(c.kind == ContainerKind::kSequence) << 18 |
        static_cast<int64_t>(written_.count(n)) << 19);
    Put(static_cast<int64_t>((c.shape.size() * 64 + c.strides.size()) * 64 + c.order.dims().size()));
    const std::vector<Name> saved = std::move(indices_);  // sizes know no map indices
    indices_.clear();
    for (const Expr& e : c.shape) Write(e);
    for (const Expr& e : c.strides) Write(e);
    for (int d : c.order.dims()) Put(static_cast<int64_t>(d));
    if (view) Write(c.offset);
    indices_ = saved;
    if (view) Container(c.base);
  }

  void Write(const Expr& e) {
    if (!e) return Put('0');
    Put(static_cast<int64_t>(e->kind) | static_cast<int64_t>(e->op) << 8 | static_cast<int64_t>(e->dtype) << 16 |
        e->flat << 24 | e->has_default << 25 | e->saturate << 26 | static_cast<int64_t>(e->args.size()) << 32);
    switch (e->kind) {
      case ExprKind::kInt:
      case ExprKind::kBool: Put(e->ivalue); break;
      case ExprKind::kFloat: {
        int64_t bits;
        static_assert(sizeof bits == sizeof e->fvalue);
        std::copy_n(reinterpret_cast<const char*>(&e->fvalue), sizeof bits, reinterpret_cast<char*>(&bits));
        Put(bits);
        break;
      }
      case ExprKind::kSymbol: Symbol(e->name); break;
      case ExprKind::kRead: Container(e->name); break;
      default: Put(static_cast<int64_t>(e->name.id())); break;
    }
    for (const Expr& a : e->args) Write(a);
  }

  const Sdfg& s_;
  const std::unordered_set<Name>& written_;
  StatementKey& out_;
  std::vector<Name> indices_;
};

}  // namespace

void AppendAttribute(const Attribute& a, std::string* key) {
  auto number = [&](auto v) { *key += std::to_string(v) + ","; };
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t>) number(v);
        else if constexpr (std::is_same_v<T, double>) key->append(reinterpret_cast<const char*>(&v), sizeof v);
        else if constexpr (std::is_same_v<T, std::string>) *key += v;
        else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          for (int64_t x : v) number(x);
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          key->append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double));
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          for (const auto& x : v) *key += x + '\1';
        else if constexpr (std::is_same_v<T, Tensor>) number(reinterpret_cast<uintptr_t>(v.data.get()));
        else *key += v.str();
        *key += '\2' + std::to_string(a.value.index());
      },
      a.value);
}

StatementKey KeyOf(const Sdfg& s, NodeId statement, const std::vector<Range>& given,
                   const std::unordered_set<Name>& written) {
  StatementKey k;
  k.text.reserve(kUsualLength);
  KeyWriter writer(s, written, &k);
  writer.Statement(statement);
  writer.Known(given);
  return k;
}

}  // namespace headrace::transforms
