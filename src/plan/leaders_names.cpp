// What users may choose for leaders (leaders.cpp), and what it is called: the exchanges and the orders of packing.
#include "plan/algorithms.hpp"
#include "plan/leaders.hpp"

namespace quadrille::plan {

const std::vector<LeadersExchange>& leaders_exchanges(LeadersKind kind) {
  static const std::vector<LeadersExchange> uneven = {
      {"spread-out", spread_out},         {"pairwise", pairwise},
      {"nonblocking", nonblocking},       {"waitall-stride", waitall_stride},
      {"waitany-stride", waitany_stride}, {"testany-stride", testany_stride},
  };
  static const std::vector<LeadersExchange> uniform = [] {
    std::vector<LeadersExchange> all = uneven;
    all.push_back({"zero-rotation-bruck", zero_rotation_bruck, true});
    all.push_back({"mn-co", mn_co, true});
    return all;
  }();
  static const std::vector<LeadersExchange> gather = {
      {"spread-out", allgather_spread_out},
      {"ring", allgather_ring, true},
      {"recursive-doubling", allgather_recursive_doubling, true},
      {"bruck", allgather_bruck, true},
      {"mn-co", allgather_mn_co, true},
  };
  return kind == LeadersKind::gather ? gather : kind == LeadersKind::uneven ? uneven : uniform;
}

const std::vector<std::string_view>& leaders_exchange_names(LeadersKind kind) {
  const auto names_of = [](LeadersKind of) {
    std::vector<std::string_view> names;
    for (const LeadersExchange& one : leaders_exchanges(of)) names.push_back(one.name);
    return names;
  };
  static const std::vector<std::string_view> names[] = {names_of(LeadersKind::uniform), names_of(LeadersKind::uneven),
                                                        names_of(LeadersKind::gather)};
  return names[static_cast<std::size_t>(kind)];
}

const std::vector<std::string_view>& leaders_order_names() {
  static const std::vector<std::string_view> names = {"row", "rotated", "morton"};
  return names;
}

}  // namespace quadrille::plan
