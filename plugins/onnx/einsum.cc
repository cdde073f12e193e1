// Einsum's form is its equation: the indices of each term become the indices of a read.
#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>

#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

using headrace_plugin::Node;

struct Term {
  std::vector<std::string> labels;
};  // an ellipsis is split in "_0", "_1" … from the right

std::vector<std::string> Terms(const std::string& left) {
  std::vector<std::string> terms(1);
  for (char c : left) {
    if (c == ',') terms.emplace_back();
    else if (!std::isspace(static_cast<unsigned char>(c))) terms.back() += c;
  }
  return terms;
}

// Labels of one term; `rank` < 0 takes `dots` for the ellipsis.
Term Labels(const std::string& text, int rank, int dots) {
  Term t;
  const size_t at = text.find("...");
  const int named = static_cast<int>(text.size()) - (at == std::string::npos ? 0 : 3);
  if (rank >= 0) dots = rank - named;
  if (dots < 0 || (at == std::string::npos && rank >= 0 && dots != 0))
    throw std::runtime_error("einsum term '" + text + "' does not fit a tensor of rank " + std::to_string(rank));
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == at) {
      for (int d = dots - 1; d >= 0; --d) t.labels.push_back("_" + std::to_string(d));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      t.labels.push_back(std::string(1, text[i]));
    } else {
      throw std::runtime_error("einsum equation has the character '" + std::string(1, text[i]) + "'");
    }
  }
  return t;
}

// Index names that don't clash with ports and sizes; upper and lower case stay apart.
std::string IndexName(const std::string& label) {
  if (label[0] == '_') return "e" + label;
  return std::string(std::isupper(static_cast<unsigned char>(label[0])) ? "u_" : "l_") +
         static_cast<char>(std::tolower(static_cast<unsigned char>(label[0])));
}

bool IsNumber(const std::string& size) {
  return std::all_of(size.begin(), size.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string SizeText(const std::string& size) {
  return size.find(' ') == std::string::npos ? size : "(" + size + ")";
}

// What two sizes of one label broadcast to, as ir/expr/broadcast.h has it.
std::string Joined(const std::string& a, const std::string& b) {
  if (a.empty() || a == "1") return b;
  if (b == "1" || a == b || IsNumber(a)) return a;
  if (IsNumber(b)) return b;
  return "(max(" + a + ", " + b + ") * min(min(" + a + ", " + b + "), 1))";
}

std::string Expand(const Node& node) {
  std::string equation = node.attribute("equation");
  equation.erase(std::remove_if(equation.begin(), equation.end(), [](char c) { return c == '"' || c == ' '; }),
                 equation.end());
  const size_t arrow = equation.find("->");
  const std::vector<std::string> left = Terms(equation.substr(0, arrow));
  const hr_node* n = node.raw();
  std::vector<const hr_port*> inputs;
  for (int i = 0; i < n->n_inputs; ++i)
    if (n->inputs[i].present) inputs.push_back(&n->inputs[i]);
  if (left.size() != inputs.size())
    throw std::runtime_error("einsum equation \"" + equation + "\" has " + std::to_string(left.size()) + " terms for " +
                             std::to_string(inputs.size()) + " inputs");
  int dots = 0;
  std::vector<Term> terms;
  std::map<std::string, std::string> extent;
  std::vector<std::string> order;
  std::map<std::string, int> count;
  for (size_t i = 0; i < left.size(); ++i) {
    terms.push_back(Labels(left[i], inputs[i]->rank, 0));
    for (int d = 0; d < inputs[i]->rank; ++d) {
      const std::string& label = terms[i].labels[d];
      if (label[0] == '_') dots = std::max(dots, std::stoi(label.substr(1)) + 1);
      std::string& e = extent[label];
      if (!count[label]++) order.push_back(label);
      e = Joined(e, SizeText(inputs[i]->shape[d]));
    }
  }
  Term out;
  if (arrow != std::string::npos) {
    out = Labels(equation.substr(arrow + 2), -1, dots);
  } else {  // implicit: the ellipsis, then labels that occur once, sorted
    for (int d = dots - 1; d >= 0; --d) out.labels.push_back("_" + std::to_string(d));
    for (const auto& [label, times] : count)
      if (label[0] != '_' && times == 1) out.labels.push_back(label);
  }
  static const char* const kTypes[] = {"",       "bool",     "u2",         "i2",     "u4",         "i4",     "u8",
                                       "i8",     "u16",      "i16",        "u32",    "i32",        "u64",    "i64",
                                       "f4e2m1", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f16",
                                       "bf16",   "f32",      "f64",        "c64",    "c128",       "string"};
  const hr_port* result = node.output("Output");
  const std::string type = kTypes[result->dtype];
  std::string header, product, required;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "Inputs_" + std::to_string(i);
    header += name + ": " + type + "[" + Node::Shape(inputs[i]) + "], ";
    std::string index;
    for (int d = 0; d < inputs[i]->rank; ++d) {
      const std::string size = SizeText(inputs[i]->shape[d]), &whole = extent[terms[i].labels[d]];
      std::string at = IndexName(terms[i].labels[d]);
      if (size != whole) {
        required += "  require " + size + " == " + whole + " || " + size + " == 1 else \"" + name +
                    " has {} in dimension " + std::to_string(d) + " where {} are needed\", " + size + ", " + whole + "\n";
        at = size == "1" ? "0" : IsNumber(size) ? at : at + " * min(" + size + " - 1, 1)";
      }
      index += (d ? ", " : "") + at;
    }
    product += (i ? " * " : "") + name + "[" + index + "]";
  }
  auto ranges = [&](const std::vector<std::string>& labels) {
    std::string s;
    for (const std::string& l : labels) {
      if (!extent.count(l)) throw std::runtime_error("einsum output label '" + l + "' is in no input");
      s += (s.empty() ? "" : ", ") + IndexName(l) + " in 0:" + extent[l];
    }
    return s;
  };
  auto map = [](const std::string& range, const std::string& statement) {
    return range.empty() ? "    " + statement + "\n" : "    map " + range + " { " + statement + " }\n";
  };
  std::vector<std::string> all = out.labels;
  for (const std::string& l : order)
    if (std::find(all.begin(), all.end(), l) == all.end()) all.push_back(l);
  std::string target;
  for (const std::string& l : out.labels) target += (target.empty() ? "" : ", ") + IndexName(l);
  const bool half = result->dtype == HR_F16 || result->dtype == HR_BF16;
  const std::string sum = half ? "total" : "Output";
  const std::string shape = Node::Shape(result);
  const bool real = result->dtype >= HR_F16;
  std::string text = "sdfg einsum(" + header + "Output: " + type + "[" + shape + "]) {\n";
  if (half) text += "  transient total: f32[" + shape + "]\n";
  text += required + "  state {\n" + map(ranges(out.labels), sum + "[" + target + "] = " + (real ? "0.0" : "0")) +
          map(ranges(all), sum + "[" + target + "] += " + product);
  if (half) text += map(ranges(out.labels), "Output[" + target + "] = total[" + target + "]");
  return text + "  }\n}\n";
}

}  // namespace

void RegisterEinsum(Registrar& r) {
  r.op("Einsum")
      .Doc("Sum of products along the indices that the equation names.")
      .Sample("Inputs: f32[2, 3]; Inputs: f32[3, 4]; attr equation = \"ij,jk->ik\"")
      .Sample("Inputs: f32[2, 1, 3, 4]; Inputs: f32[1, 3, 4, 2]; attr equation = \"...ij,...jk->...ik\"")
      .Sample("Inputs: f32[2, 3, 3]; Inputs: f32[3]; attr equation = \"bii,i->b\"")
      .Sample("Inputs: f32[2, 3]; Inputs: f32[2, 3]; Inputs: f32[2, 3]; attr equation = \"ab,ab,ab\"");
  headrace_plugin::Registrar::Versions last;
  last.priority = -100;  // behind vendor implementations, as forms are
  r.impl("Einsum", "pure", nullptr, Expand, last);
}

}  // namespace onnx_ops
