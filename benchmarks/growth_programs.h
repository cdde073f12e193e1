// Programs of any size, as text: what //benchmarks:growth measures. `nodes` counts statements of a library or of a map and its body.
#pragma once
#include <cstdint>
#include <string>

namespace headrace {

struct GrowthProgram {
  const char* name;
  std::string (*text)(int64_t nodes);
  bool same_kernels = false;  // however long: what is added is what was there
  bool gradient = false;      // the program is differentiated, by all of its inputs, before the passes
  const char* passes = nullptr;  // a line each: what it goes through instead of all that cpu's programs do
};

// One after another: Relu maps, each with a container of its own.
inline std::string ChainText(int64_t nodes) {
  const int64_t length = nodes / 2;  // a map and its statement
  std::string declarations, statements;
  for (int64_t i = 0; i < length; ++i) {
    const std::string from = i == 0 ? "X" : "T" + std::to_string(i - 1);
    const std::string to = i == length - 1 ? "Y" : "T" + std::to_string(i);
    if (to != "Y") declarations += "  transient " + to + ": f32[N]\n";
    statements += "    map i in 0:N { " + to + "[i] = max(" + from + "[i], 0) }\n";
  }
  return "sdfg chain(X: f32[N], Y: f32[N]) {\n" + declarations + "  state {\n" + statements + "  }\n}\n";
}

// Side by side: maps that read one input, each with an output of its own and another constant.
inline std::string WideText(int64_t nodes) {
  std::string parameters, statements;
  for (int64_t i = 0; i < nodes / 2; ++i) {
    const std::string n = std::to_string(i);
    parameters += ", Y" + n + ": f32[N]";
    statements += "    map i in 0:N { Y" + n + "[i] = X[i] * " + n + " }\n";
  }
  return "sdfg wide(X: f32[N]" + parameters + ") {\n  state {\n" + statements + "  }\n}\n";
}

// Side by side in one array: each statement writes a row of its own.
inline std::string RowsText(int64_t nodes) {
  std::string statements;
  for (int64_t i = 0; i < nodes / 2; ++i) {
    const std::string n = std::to_string(i);
    statements += "    map i in 0:N { Y[" + n + ", i] = X[i] * 2 }\n";
  }
  return "sdfg rows(X: f32[N], Y: f32[" + std::to_string(nodes / 2) + ", N]) {\n  state {\n" + statements + "  }\n}\n";
}

// Equal layers of library nodes, as transformers stack them: attention over W tokens of 8 numbers, a feed-forward part, two
// residual connections with normalisation.
inline std::string LayersText(int64_t nodes) {
  constexpr int64_t kPerLayer = 15;
  const int64_t layers = (nodes + kPerLayer - 1) / kPerLayer;
  std::string parameters, declarations, statements, from = "X";
  for (int64_t l = 0; l < layers; ++l) {
    const std::string n = std::to_string(l), to = l + 1 == layers ? "Y" : "X" + n;
    for (const char* w : {"WQ", "WK", "WV", "WO"}) parameters += ", " + (w + n) + ": f32[8, 8]";
    parameters += ", WU" + n + ": f32[8, 16], WD" + n + ": f32[16, 8], S" + n + ": f32[8], B" + n + ": f32[8]";
    for (const char* t : {"Q", "K", "V", "H", "O", "R", "L", "D", "F"}) declarations += "  transient " + (t + n) + ": f32[W, 8]\n";
    declarations += "  transient KT" + n + ": f32[8, W]\n  transient U" + n + ": f32[W, 16]\n  transient G" + n + ": f32[W, 16]\n";
    for (const char* t : {"P", "A"}) declarations += "  transient " + (t + n) + ": f32[W, W]\n";
    if (to != "Y") declarations += "  transient " + to + ": f32[W, 8]\n";
    const auto two = [&](const std::string& op, const std::string& a, const std::string& b, const std::string& out) {
      const char* result = op == "Add" ? "C" : "Y";
      statements += "    onnx." + op + "(A = " + a + ", B = " + b + ") -> (" + result + " = " + out + ")\n";
    };
    const auto normalise = [&](const std::string& in, const std::string& out) {
      statements += "    onnx.LayerNormalization:17{axis = -1}(X = " + in + ", Scale = S" + n + ", B = B" + n + ") -> (Y = " + out + ")\n";
    };
    two("MatMul", from, "WQ" + n, "Q" + n), two("MatMul", from, "WK" + n, "K" + n), two("MatMul", from, "WV" + n, "V" + n);
    statements += "    onnx.Transpose{perm = [1, 0]}(data = K" + n + ") -> (transposed = KT" + n + ")\n";
    two("MatMul", "Q" + n, "KT" + n, "P" + n);
    statements += "    onnx.Softmax:13{axis = -1}(input = P" + n + ") -> (output = A" + n + ")\n";
    two("MatMul", "A" + n, "V" + n, "H" + n), two("MatMul", "H" + n, "WO" + n, "O" + n), two("Add", from, "O" + n, "R" + n);
    normalise("R" + n, "L" + n);
    two("MatMul", "L" + n, "WU" + n, "U" + n);
    statements += "    onnx.Relu(X = U" + n + ") -> (Y = G" + n + ")\n";
    two("MatMul", "G" + n, "WD" + n, "D" + n), two("Add", "L" + n, "D" + n, "F" + n);
    normalise("F" + n, to);
    from = to;
  }
  return "sdfg layers(X: f32[W, 8]" + parameters + ", Y: f32[W, 8]) {\n" + declarations + "  state {\n" + statements + "  }\n}\n";
}

// Equal layers as BERT's are, one head of them: products with biases, attention whose scores are scaled, GELU by erf. Their
// nodes have names, as those of models have.
inline std::string BertText(int64_t nodes) {
  constexpr int64_t kPerLayer = 27;
  const int64_t layers = (nodes + kPerLayer - 1) / kPerLayer;
  std::string parameters, declarations, statements, from = "X";
  for (int64_t l = 0; l < layers; ++l) {
    const std::string n = std::to_string(l), to = l + 1 == layers ? "Y" : "X" + n;
    const auto node = [&](const std::string& op, const std::string& inputs, const std::string& port, const std::string& out,
                          const std::string& type) {
      if (out != "Y") declarations += "  transient " + out + ": " + type + "\n";
      statements += "    onnx." + op + "(" + inputs + ") -> (" + port + " = " + out + ") from \"" + out + "\"\n";
    };
    const auto two = [&](const std::string& op, const std::string& a, const std::string& b, const std::string& out,
                         const std::string& type = "f32[W, 8]") {
      node(op, "A = " + a + ", B = " + b, op == "MatMul" ? "Y" : "C", out, type);
    };
    const auto dense = [&](const std::string& in, const std::string& name, const std::string& sizes, const std::string& width) {
      parameters += ", W" + name + n + ": f32[" + sizes + "], B" + name + n + ": f32[" + width + "]";
      two("MatMul", in, "W" + name + n, "M" + name + n, "f32[W, " + width + "]");
      two("Add", "M" + name + n, "B" + name + n, name + n, "f32[W, " + width + "]");
    };
    const auto normalise = [&](const std::string& in, const std::string& name, const std::string& out) {
      parameters += ", S" + name + n + ": f32[8], B" + name + n + ": f32[8]";
      node("LayerNormalization:17{axis = -1}", "X = " + in + ", Scale = S" + name + n + ", B = B" + name + n, "Y", out, "f32[W, 8]");
    };
    dense(from, "Q", "8, 8", "8"), dense(from, "K", "8, 8", "8"), dense(from, "V", "8, 8", "8");
    node("Transpose{perm = [1, 0]}", "data = K" + n, "transposed", "KT" + n, "f32[8, W]");
    two("MatMul", "Q" + n, "KT" + n, "P" + n, "f32[W, W]"), two("Div", "P" + n, "eight", "PS" + n, "f32[W, W]");
    node("Softmax:13{axis = -1}", "input = PS" + n, "output", "A" + n, "f32[W, W]");
    two("MatMul", "A" + n, "V" + n, "H" + n), dense("H" + n, "O", "8, 8", "8"), two("Add", from, "O" + n, "R" + n);
    normalise("R" + n, "L", "NL" + n);
    dense("NL" + n, "U", "8, 16", "16");
    two("Div", "U" + n, "root", "UR" + n, "f32[W, 16]"), node("Erf", "input = UR" + n, "output", "E" + n, "f32[W, 16]");
    two("Add", "E" + n, "one", "EP" + n, "f32[W, 16]"), two("Mul", "U" + n, "EP" + n, "UE" + n, "f32[W, 16]");
    two("Mul", "UE" + n, "half", "G" + n, "f32[W, 16]");
    dense("G" + n, "D", "16, 8", "8"), two("Add", "NL" + n, "D" + n, "F" + n);
    normalise("F" + n, "F", to);
    from = to;
  }
  std::string constants;
  for (const char* c : {"eight: f32 = 8", "root: f32 = 1.4142135", "one: f32 = 1", "half: f32 = 0.5"})
    constants += "  constant " + std::string(c) + "\n";
  return "sdfg bert(X: f32[W, 8]" + parameters + ", Y: f32[W, 8]) {\n" + constants + declarations + "  state {\n" + statements +
         "  }\n}\n";
}

// A map whose statements pass on registers, one after another.
inline std::string RegistersText(int64_t nodes) {
  const int64_t length = nodes - 2;
  std::string declarations, statements;
  for (int64_t i = 0; i < length; ++i) {
    const std::string n = std::to_string(i);
    declarations += "  transient R" + n + ": f32 @register\n";
    statements += "      R" + n + " = " + (i == 0 ? "X[i]" : "max(R" + std::to_string(i - 1) + ", X[i] * " + n + ")") + "\n";
  }
  return "sdfg registers(X: f32[N], Y: f32[N]) {\n" + declarations + "  state {\n    map i in 0:N {\n" + statements + "      Y[i] = R" +
         std::to_string(length - 1) + "\n    }\n  }\n}\n";
}

inline constexpr GrowthProgram kGrowthPrograms[] = {
    {"chain", ChainText, true}, {"wide", WideText}, {"rows", RowsText}, {"layers", LayersText, true},
    {"bert", BertText, true}, {"gradient", BertText, true, true},
    // Passes that see short lists behind fusion, on long ones.
    {"unfused", ChainText, false, false, "shorten-lifetimes\nalias\nbind-calls\nfuse-outer-loops\nfold-scales\nhoist-calls"},
    {"unshared", ChainText, false, false, "outline\nshare-kernels\nplan-memory\ndenormals"},
    {"registers", RegistersText, false, false, "scalarize\nforward-registers\neliminate-dead-code\ninline-nested"}};

}  // namespace headrace
