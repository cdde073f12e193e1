// Taking the statements of maps apart, for their reversal: registers, groups, races.
#pragma once
#include <unordered_map>
#include <vector>

#include "autodiff/emit.h"

namespace headrace::autodiff {

bool IsRegister(const Sdfg& s, Name n);
// How often each register stands in `n`.
void CountRegisters(const Sdfg& s, NodeId n, std::unordered_map<Name, int>* count);
// Copies of the registers of a statement, so that the copy of the statement has its own.
Renames OwnRegisters(Sdfg* s, FreshNames* names, NodeId n);
// Registers that nothing reads go, and the statements that fill them; `n` becomes the rest (invalid: nothing).
void DropUnreadRegisters(Sdfg* s, NodeId* n);

// In how many tasklets of a statement each array stands.
std::unordered_map<Name, int> CountTouches(const Sdfg& s, NodeId root);
// Tasklets in the order they stand, cut before each one that overwrites an array which an earlier one of its group writes:
// the adjoint of the first must find the gradient that the second has cleared. Registers belong to every group.
std::unordered_map<uint32_t, int> GroupsOf(const Sdfg& s, NodeId statement, int* count);

// Whether a tasklet uses a register that was read from an array which an earlier group overwrites afterwards: the adjoint of the
// read comes after the one of that write, and so the groups can't be reversed one after the other.
bool ReadsBeforeOtherGroups(const Sdfg& s, NodeId statement, const std::unordered_map<uint32_t, int>& group);

// Whether a tasklet of a statement, within `around`, makes positive parts, Y[i] = t <= 0 ? 0 : t, each element of Y once, of a register to
// which several arrays of as many dimensions come. (positive_part.cc)
bool IsPositivePartOfSeveral(const Sdfg& s, NodeId statement, const Tasklet& t, const std::vector<Range>& around);

// Different elements of one array, written by different iterations: one map per element pattern, so that none has a race;
// X[i, 0] and X[j, 1] never meet and share one. The clearing of the adjoint comes last.
std::vector<NodeId> SplitWrites(Sdfg* s, FreshNames* names, NodeId map);

// A perfect nest of three or more loops that does nothing but add products to arrays, matrix products and convolutions: a map
// for each of the sums, without registers. Others stay as they are. (split_products.cc)
std::vector<NodeId> SplitProducts(Sdfg* s, NodeId map);

// The gradient of a number that is a factor of a sum's products is taken from sums that the gradient of an array has anyway. `statements`:
// the adjoint of one. (share_sums.cc)
void ShareSums(Sdfg* s, FreshNames* names, std::vector<NodeId>* statements);

}  // namespace headrace::autodiff
