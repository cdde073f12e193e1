// Every registered op with samples: each gradient against central differences, or zero by definition, or an error that names
// the op. At kinks: the table of docs/autodiff.md. Nothing here names an op: registering one with samples is enough.
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "gtest/gtest.h"
#include "driver/samples/gradients.h"

namespace headrace::autodiff {
namespace {

std::string g_backend = "interpreter";
int g_every = 1;  // one of how many samples

const Registry& Ops() {
  static const Registry* const r = [] {
    auto* registry = new Registry;
    Status s = LoadPlugins(*registry, PluginPath());
    if (!s.ok()) ADD_FAILURE() << s.ToString();
    return registry;
  }();
  return *r;
}

std::string Folder() {
  const char* tmp = std::getenv("TEST_TMPDIR");
  const std::string f = (tmp ? std::string(tmp) : "/tmp") + "/op_gradients";
  mkdir(f.c_str(), 0777);
  return f;
}

TEST(OpGradients, AgreeWithDifferencesOrAreErrorsByName) {
  const std::vector<OpVerdict> ops = CheckOps(Ops(), Samples(Ops()), g_backend, Folder(), /*verbose=*/false, g_every);
  int checked = 0, zero = 0, refused = 0;
  for (const OpVerdict& op : ops) {
    for (const std::string& what : op.wrong) ADD_FAILURE() << op.name << ": " << what << ": " << op.error;
    if (!op.refused.empty()) {
      const std::string bare = op.name.substr(op.name.rfind('.') + 1);
      EXPECT_NE(op.error.find(bare), std::string::npos) << op.name << ": " << op.error;
    }
    if (!op.checked.empty() && g_every == 1) { EXPECT_GE(op.samples, 3) << op.name << ": samples"; }
    if (!op.checked.empty()) ++checked;
    else if (!op.refused.empty()) ++refused;
    else if (!op.zero.empty()) ++zero;
  }
  std::printf("%d ops: %d checked, %d zero by definition, %d errors by name\n", static_cast<int>(ops.size()), checked,
              zero, refused);
  EXPECT_GE(checked, g_every == 1 ? 125 : 5);
}

// Attributes that the samples beside the ops leave out.
TEST(OpGradients, OfMoreAttributesAgreeWithDifferences) {
  Result<std::vector<OpSample>> samples = SamplesOfFile(Ops(), "tests/autodiff/op_attributes.txt");
  ASSERT_TRUE(samples.ok()) << samples.status().ToString();
  EXPECT_GE(samples->size(), 150u);
  for (const OpVerdict& op : CheckOps(Ops(), *samples, g_backend, Folder(), /*verbose=*/true, g_every)) {
    EXPECT_TRUE(op.wrong.empty()) << op.name << ": " << op.error;
    EXPECT_TRUE(op.refused.empty()) << op.name << ": " << op.error;
  }
}

// | `Relu` | `X: f64[3]; at -1, 0, 1` | X: 0, 0, 1 |
std::vector<std::string> Cells(const std::string& row) {
  std::vector<std::string> cells;
  std::stringstream in(row.substr(1));
  for (std::string c; std::getline(in, c, '|');) {
    const size_t a = c.find_first_not_of(" `"), b = c.find_last_not_of(" `");
    cells.push_back(a == std::string::npos ? "" : c.substr(a, b - a + 1));
  }
  return cells;
}

TEST(OpGradients, AtKinksAreThoseOfTheTable) {
  if (g_every != 1) GTEST_SKIP() << "in the full test";
  std::ifstream file("docs/autodiff.md");
  ASSERT_TRUE(file.good());
  int rows = 0;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| operator | sample |", 0) == 0) inside = true;
    else if (line.empty() || line[0] != '|') inside = false;
    if (!inside || line.rfind("| `", 0) != 0) continue;
    SCOPED_TRACE(line);
    ++rows;
    const std::vector<std::string> cells = Cells(line);
    ASSERT_GE(cells.size(), 3u);
    const OpDefinition* newest = nullptr;
    for (const OpDefinition* d : Ops().Definitions())
      if (d->domain == "onnx" && d->name == cells[0] && (!newest || d->until_version > newest->until_version))
        newest = d;
    ASSERT_TRUE(newest != nullptr) << "no such op";
    OpDefinition d = *newest;
    d.samples = {cells[1]};
    Result<OpSample> s = ParseSample(Ops(), d, 0);
    ASSERT_TRUE(s.ok()) << s.status().ToString();
    Result<std::vector<std::pair<Name, Value>>> gradients = SampleGradients(Ops(), *s, g_backend, Folder());
    if (!gradients.ok()) {
      ADD_FAILURE() << gradients.status().ToString();
      continue;
    }
    std::stringstream ports(cells[2]);
    for (std::string port; std::getline(ports, port, ';');) {  // X: 0, 0, 1; slope: 2
      port = port.substr(port.find_first_not_of(' '));
      const Tensor* g = nullptr;
      for (const auto& [name, v] : *gradients)
        if (name.str() == port.substr(0, port.find(':'))) g = &v.tensor;
      ASSERT_TRUE(g != nullptr) << "no gradient " << port;
      std::stringstream values(port.substr(port.find(':') + 1));
      int64_t i = 0;
      for (std::string item; std::getline(values, item, ','); ++i) {
        ASSERT_LT(i, g->elements());
        const double want = std::strtod(item.c_str(), nullptr), got = g->GetDouble(i);
        if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << port << " element " << i << ": " << got;
        else if (std::isinf(want)) EXPECT_EQ(got, want) << port << " element " << i;
        else
          EXPECT_NEAR(got, want, 1e-7 * std::max(1.0, std::abs(want)))
              << port << " element " << i;  // attributes are f32
      }
    }
  }
  EXPECT_GE(rows, 30);
}

}  // namespace
}  // namespace headrace::autodiff

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (!std::strncmp(argv[i], "--backend=", 10)) headrace::autodiff::g_backend = argv[i] + 10;
    if (!std::strncmp(argv[i], "--every=", 8)) headrace::autodiff::g_every = std::atoi(argv[i] + 8);
  }
  return RUN_ALL_TESTS();
}
