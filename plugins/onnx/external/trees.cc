// ai.onnx.ml: ensembles of decision trees. TreeEnsemble and its older forms TreeEnsembleRegressor
// and TreeEnsembleClassifier.
#include <cmath>
#include <map>
#include <set>

#include "plugins/onnx/external/classes.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

enum Mode { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
struct TreeNode {
  Mode mode = kLeaf;
  int64_t feature = 0;
  double value = 0;
  int64_t yes = 0, no = 0;  // nodes
  bool missing_is_yes = false;
  std::set<double> members;
  std::vector<std::pair<int64_t, double>> weights;  // of a leaf: (target, weight)
};
struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;

  const TreeNode& Leaf(int64_t root, const Rows& rows, int64_t r) const {
    int64_t at = root;
    for (size_t steps = 0; steps <= nodes.size(); ++steps) {
      const TreeNode& n = nodes[static_cast<size_t>(at)];
      if (n.mode == kLeaf) return n;
      const double x = rows.At(r, n.feature);
      bool yes = false;
      switch (n.mode) {
        case kLeq: yes = x <= n.value; break;
        case kLt: yes = x < n.value; break;
        case kGte: yes = x >= n.value; break;
        case kGt: yes = x > n.value; break;
        case kEq: yes = x == n.value; break;
        case kNeq: yes = x != n.value; break;
        default: yes = n.members.count(x) != 0;
      }
      if (x != x) yes = n.missing_is_yes;
      at = yes ? n.yes : n.no;
    }
    Fail("a tree has a cycle");
  }
  void Check(int64_t features, int64_t targets) const {
    for (const TreeNode& n : nodes) {
      const int64_t size = static_cast<int64_t>(nodes.size());
      Require(n.mode == kLeaf || (n.feature >= 0 && n.feature < features),
              "a tree asks for a feature that the input does not have");
      Require(n.mode == kLeaf || (n.yes >= 0 && n.yes < size && n.no >= 0 && n.no < size),
              "a tree refers to a node that is not there");
      for (const auto& w : n.weights)
        Require(w.first >= 0 && w.first < targets, "a leaf has a target that is not there");
    }
  }
};

enum class Aggregate { kAverage, kSum, kMin, kMax };
std::vector<double> Combine(const Forest& f, const Rows& rows, int64_t r, int64_t targets, Aggregate how) {
  std::vector<double> out(static_cast<size_t>(targets));
  std::vector<bool> seen(out.size());
  for (int64_t root : f.roots)
    for (const auto& [target, weight] : f.Leaf(root, rows, r).weights) {
      double& o = out[static_cast<size_t>(target)];
      const bool first = !seen[static_cast<size_t>(target)];
      seen[static_cast<size_t>(target)] = true;
      if (how == Aggregate::kMin) o = first ? weight : std::fmin(o, weight);
      else if (how == Aggregate::kMax) o = first ? weight : std::fmax(o, weight);
      else o += weight;
    }
  if (how == Aggregate::kAverage)
    for (double& o : out) o /= static_cast<double>(std::max<size_t>(f.roots.size(), 1));
  return out;
}

std::vector<double> TensorOr(const Call& call, const std::string& name) {
  const hr_value* t = call.Find(name);
  return t ? Doubles(*t) : std::vector<double>();
}

// Lists of the older ops: floats, or a tensor of doubles.
std::vector<double> Numbers(const Call& call, const std::string& name) {
  const std::vector<double> tensor = TensorOr(call, name + "_as_tensor");
  return tensor.empty() ? call.FloatList(name) : tensor;
}

// Nodes named by (tree, node); `prefix` is target_ or class_.
Forest OldForest(const Call& call, const std::string& prefix) {
  const auto trees = call.IntList("nodes_treeids"), ids = call.IntList("nodes_nodeids"),
             features = call.IntList("nodes_featureids"), yes = call.IntList("nodes_truenodeids"),
             no = call.IntList("nodes_falsenodeids"), missing = call.IntList("nodes_missing_value_tracks_true");
  const auto values = Numbers(call, "nodes_values");
  const auto modes = call.StrList("nodes_modes");
  const size_t n = modes.size();
  Require(trees.size() == n && ids.size() == n && features.size() == n && yes.size() == n && no.size() == n &&
              values.size() == n && (missing.empty() || missing.size() == n),
          "the attributes of nodes differ in length");
  std::map<std::pair<int64_t, int64_t>, int64_t> place;
  std::map<int64_t, int64_t> roots;  // a tree's first node
  for (size_t i = 0; i < n; ++i) {
    place.emplace(std::make_pair(trees[i], ids[i]), static_cast<int64_t>(i));
    roots.emplace(trees[i], static_cast<int64_t>(i));
  }
  auto find = [&](int64_t tree, int64_t id) {
    const auto it = place.find({tree, id});
    Require(it != place.end(), "a tree refers to a node that is not there");
    return it->second;
  };
  Forest f;
  f.nodes.resize(n);
  static const char* const kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  for (size_t i = 0; i < n; ++i) {
    TreeNode& node = f.nodes[i];
    if (modes[i] == "LEAF") continue;
    size_t m = 0;
    while (m < 6 && modes[i] != kModes[m]) ++m;
    if (m == 6) Fail("a node has the unknown mode " + modes[i]);
    node.mode = static_cast<Mode>(m);
    node.feature = features[i], node.value = values[i];
    node.yes = find(trees[i], yes[i]), node.no = find(trees[i], no[i]);
    node.missing_is_yes = !missing.empty() && missing[i] != 0;
  }
  for (const auto& [tree, root] : roots) f.roots.push_back(root);
  const auto leaf_trees = call.IntList(prefix + "treeids"), leaf_ids = call.IntList(prefix + "nodeids"),
             leaf_targets = call.IntList(prefix + "ids");
  const auto weights = Numbers(call, prefix + "weights");
  Require(
      leaf_trees.size() == weights.size() && leaf_ids.size() == weights.size() && leaf_targets.size() == weights.size(),
      "the attributes of leaves differ in length");
  for (size_t i = 0; i < weights.size(); ++i)
    f.nodes[static_cast<size_t>(find(leaf_trees[i], leaf_ids[i]))].weights.emplace_back(leaf_targets[i], weights[i]);
  return f;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_tree_ensemble) {
  const hr_value& x = call.Tensor("X");
  const Rows rows(x);
  const auto features = call.IntList("nodes_featureids"), yes = call.IntList("nodes_truenodeids"),
             no = call.IntList("nodes_falsenodeids"), yes_leaf = call.IntList("nodes_trueleafs"),
             no_leaf = call.IntList("nodes_falseleafs"), leaf_targets = call.IntList("leaf_targetids"),
             roots = call.IntList("tree_roots"), missing = call.IntList("nodes_missing_value_tracks_true");
  const auto splits = TensorOr(call, "nodes_splits"), modes = TensorOr(call, "nodes_modes"),
             weights = TensorOr(call, "leaf_weights"), members = TensorOr(call, "membership_values");
  const size_t n = modes.size(), leaves = weights.size();
  Require(features.size() == n && yes.size() == n && no.size() == n && yes_leaf.size() == n && no_leaf.size() == n &&
              splits.size() == n && (missing.empty() || missing.size() == n),
          "the attributes of nodes differ in length");
  Require(leaf_targets.size() == leaves, "the attributes of leaves differ in length");
  Forest f;
  f.nodes.resize(n + leaves);
  size_t member = 0;
  int64_t targets = 0;
  auto child = [&](int64_t id, bool leaf) {
    Require(id >= 0 && id < static_cast<int64_t>(leaf ? leaves : n), "a tree refers to a node that is not there");
    return leaf ? static_cast<int64_t>(n) + id : id;
  };
  for (size_t i = 0; i < n; ++i) {
    TreeNode& node = f.nodes[i];
    Require(modes[i] >= 0 && modes[i] <= kMember, "a node has an unknown mode");
    node.mode = static_cast<Mode>(static_cast<int>(modes[i]));
    node.feature = features[i], node.value = splits[i];
    node.yes = child(yes[i], yes_leaf[i] != 0), node.no = child(no[i], no_leaf[i] != 0);
    node.missing_is_yes = !missing.empty() && missing[i] != 0;
    if (node.mode != kMember) continue;
    for (; member < members.size() && members[member] == members[member]; ++member)
      node.members.insert(members[member]);
    ++member;  // the NaN behind each set
  }
  for (size_t i = 0; i < leaves; ++i) {
    f.nodes[n + i].weights = {{leaf_targets[i], weights[i]}};
    targets = std::max(targets, leaf_targets[i] + 1);
  }
  for (int64_t root : roots) f.roots.push_back(child(root, false));
  targets = call.Int("n_targets", targets);
  f.Check(rows.width, targets);
  const int64_t how = call.Int("aggregate_function", 1), post = call.Int("post_transform", 0);
  Require(how >= 0 && how <= 3 && post >= 0 && post <= 4, "aggregate_function or post_transform is unknown");
  void* y = call.Make<void>("Y", x.dtype, {rows.n, targets});
  for (int64_t r = 0; r < rows.n; ++r) {
    std::vector<double> row = Combine(f, rows, r, targets, static_cast<Aggregate>(how));
    Apply(static_cast<PostTransform>(post), &row);
    for (int64_t t = 0; t < targets; ++t) Store(x.dtype, y, r * targets + t, row[static_cast<size_t>(t)]);
  }
}

HR_ONNX_FUNCTION(onnx_tree_regressor) {
  const Rows rows(call.Tensor("X"));
  const Forest f = OldForest(call, "target_");
  const int64_t targets = call.Int("n_targets", 1);
  f.Check(rows.width, targets);
  static const char* const kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string name = call.Str("aggregate_function", "SUM");
  int how = 0;
  while (how < 4 && name != kNames[how]) ++how;
  if (how == 4) Fail("aggregate_function \"" + name + "\" is unknown");
  const PostTransform post = PostTransformOf(call.Str("post_transform", "NONE"));
  const std::vector<double> base = Numbers(call, "base_values");
  Require(base.empty() || static_cast<int64_t>(base.size()) == targets,
          "base_values must have one value for each target");
  float* y = call.Make<float>("Y", HR_F32, {rows.n, targets});
  for (int64_t r = 0; r < rows.n; ++r) {
    std::vector<double> row = Combine(f, rows, r, targets, static_cast<Aggregate>(how));
    for (size_t t = 0; t < base.size(); ++t) row[t] += base[t];
    Apply(post, &row);
    for (double v : row) *y++ = static_cast<float>(v);
  }
}

HR_ONNX_FUNCTION(onnx_tree_classifier) {
  const Rows rows(call.Tensor("X"));
  const Forest f = OldForest(call, "class_");
  const Labels labels(call, "classlabels_int64s");
  const int64_t classes = static_cast<int64_t>(labels.size());
  Require(classes >= 2, "a classifier needs at least two class labels");
  f.Check(rows.width, classes);
  const std::string name = call.Str("post_transform", "NONE");
  const PostTransform post = PostTransformOf(name);
  const std::vector<double> base = Numbers(call, "base_values");
  const auto ids = call.IntList("class_ids");
  const bool binary =
      classes == 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;  // one score: of the second class
  Require(base.empty() || static_cast<int64_t>(base.size()) == classes || (binary && base.size() == 1),
          "base_values must have one value for each class");
  std::vector<int64_t> chosen;
  std::vector<float> scores;
  for (int64_t r = 0; r < rows.n; ++r) {
    std::vector<double> row = Combine(f, rows, r, classes, Aggregate::kSum);
    if (binary) {
      const size_t own = static_cast<size_t>(ids[0]);
      const double s = row[own] + (base.empty() ? 0 : base[base.size() == 1 ? 0 : own]);
      const bool probability = post == PostTransform::kNone || post == PostTransform::kProbit;
      row = {probability ? 1 - s : -s, s};
    } else {
      for (size_t c = 0; c < base.size(); ++c) row[c] += base[c];
    }
    Apply(post, &row);
    chosen.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    for (double v : row) scores.push_back(static_cast<float>(v));
  }
  labels.Write(call, "Y", chosen);
  if (float* z = call.Make<float>("Z", HR_F32, {rows.n, classes})) std::copy(scores.begin(), scores.end(), z);
}

void RegisterTrees(Registrar& r) {
  for (const char* f : {"tree_ensemble", "tree_regressor", "tree_classifier"}) AddFunction(r, f);
  Add(r, "ai.onnx.ml.TreeEnsemble", "tree_ensemble");
  Add(r, "ai.onnx.ml.TreeEnsembleRegressor", "tree_regressor");
  Add(r, "ai.onnx.ml.TreeEnsembleClassifier", "tree_classifier");
}

}  // namespace onnx_ops::external
