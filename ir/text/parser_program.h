// The parser of IR text, split over parser_program.cc (sdfg, containers), parser_block.cc (control flow),
// parser_statement.cc (nodes), parser_data.cc (values) and parser_resolve.cc (names). Not for other rooms.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/text/parser_internal.h"

namespace headrace::internal {

class ProgramParser : public ParserBase {
 public:
  using ParserBase::ParserBase;
  // Symbols that the text may use without defining them: the sizes of what it will be put into.
  void SymbolsAround(std::unordered_set<Name> names) { around_ = std::move(names); }
  Program Parse();

 private:
  // ---- parser_program.cc ----
  void ParseSdfg();
  void ParseParameters();
  bool AtDeclaration();
  static bool IsDeclarationWord(const Token& t);
  void ParseDeclaration();
  void ParseAssumption();
  void ParseType(Container& c);  // f32[N, 4], or seq(f32)
  ValueType ParseValueType();
  void ParseLayout(Container& c);  // strides […], layout […], @storage, @arena(slot, offset)
  void ParseArena();
  void ParseOrder(Container& c);
  void ParsePlace(Container& c);
  bool AtOrigin();
  Origin ParseOrigin();            // [from "x", grad "y"] [by "pass"]
  Origin ParseSources(int depth);  // "x", grad "y", ("z" by "pass") [by "pass"]
  void AddContainer(Container c, const Token& at);
  void SetPlace(Origin* o, const Token& at);

  // ---- parser_block.cc ----
  std::vector<BlockId> ParseBlocks(bool top);  // up to "}"
  std::vector<BlockId> ParseBlockBody();       // "{" blocks "}"
  bool AtBlock();
  void ParseBlock(std::vector<BlockId>& out);
  void ParseBlockHere(std::vector<BlockId>& out);
  void ParseState(std::vector<BlockId>& out);
  void ParseFor(std::vector<BlockId>& out, bool do_while);
  void ParseWhile(std::vector<BlockId>& out);
  void ParseDo(std::vector<BlockId>& out);
  void ParseIf(std::vector<BlockId>& out);

  // ---- parser_statement.cc ----
  std::vector<NodeId> ParseStatements();  // up to "}"
  NodeId ParseStatement();
  NodeId ParseStatementHere();
  void SetPlace(NodeId n, const Token& at);  // of it and of what its map holds
  NodeId ParseTasklet();
  NodeId MapAround(Tasklet t, const std::vector<Name>& indices, const Token& at);
  NodeId ParseMap();
  Schedule ParseSchedule();
  NodeId ParseNestedCall();
  NodeId ParseLibrary();
  std::vector<Port> ParsePorts(const char* where);
  void ParseAttributes(Attributes& attributes);
  Attribute ParseAttribute();

  // ---- parser_kernel.cc ----
  void ParseKernelHead();
  bool AtKernelStatement();
  NodeId ParseKernelStatement();
  NodeId ParseChoice();
  NodeId ParseTouch();
  void ParseLocal();
  void ParseGiven();
  std::vector<NodeId> ParseStatementBody();  // "{" statements "}"
  Expr ParseTileEnd(const Range& r, const Token& at);

  // ---- parser_data.cc ----
  Tensor ParseData(DType dtype, const std::vector<int64_t>& shape);
  void ParseElements(DType dtype, int depth, Tensor& strings, std::string& bytes);
  void ParseElement(DType dtype, Tensor& strings, std::string& bytes);
  void AppendInt(DType dtype, std::string& bytes);
  void AppendFloat(DType dtype, std::string& bytes);
  Tensor ParseFileData(DType dtype, const std::vector<int64_t>& shape);

  // ---- parser_resolve.cc: names → reads and symbols, notation-only forms → errors ----
  Expr ParseResolved() { return Resolve(ParseExpression()); }
  std::vector<Expr> ParseResolvedList(std::string_view close);
  Expr ParseSize();  // symbols only, no reads
  Expr Resolve(const Expr& e);
  Expr ResolveNode(const Expr& e);  // its arguments are resolved already
  Expr ResolveName(const Expr& e);
  const Container* ExpectContainer(const Token& at, Name n);
  void CheckSymbols();     // at the end of an sdfg: every symbol used is defined somewhere
  void CheckReferences();  // at the end of the text: callees and graphs exist
  std::vector<std::string> KnownNames() const;
  bool IsIndex(Name n) const;

  struct Place {
    int line = 0, column = 0;
    bool statement = false;  // used in a statement, not in a size
  };
  Program program_;
  Sdfg s_;                     // the one being read
  Name file_name_{file_};
  std::vector<Name> indices_;  // of the open maps
  std::vector<Range> open_ranges_;
  bool in_statement_ = false;
  std::vector<std::pair<Name, Place>> symbol_uses_;  // in text order, first use of each
  std::unordered_set<Name> used_symbols_, defined_symbols_, around_;
  std::vector<Token> view_bases_;                   // checked at the end: a view may stand before its base
  std::vector<std::pair<Name, Place>> references_;  // callees and graphs
};

}  // namespace headrace::internal
