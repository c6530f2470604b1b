// SPDX-License-Identifier: Apache-2.0
#include "access/owner_table.hpp"
#include "access/rule_table.hpp"
#include "bindings/arrays.hpp"
#include "bindings/register.hpp"

namespace evidex::bindings {
namespace {

using access::RuleTable;
using Numbers = Array<std::uint32_t>;

access::Rule rule_of(std::uint32_t tenant, bool any_in_tenant, const Numbers& allow, const Numbers& deny) {
  const auto allowed = elements(allow, "allow");
  const auto denied = elements(deny, "deny");
  return {tenant, any_in_tenant, {allowed.begin(), allowed.end()}, {denied.begin(), denied.end()}};
}

py::array_t<std::uint8_t> decide(const RuleTable& table, std::uint32_t tenant, const Numbers& groups) {
  return to_array(table.decide(tenant, elements(groups, "groups")));
}

}  // namespace

void register_access(py::module_& m) {
  m.attr("NO_RULE") = access::kNoRule;
  py::class_<RuleTable>(m, "RuleTable", "Access rules by number.")
      .def(py::init<>())
      .def(
          "add",
          [](RuleTable& table, std::uint32_t tenant, bool any_in_tenant, const Numbers& allow, const Numbers& deny) {
            return table.add(rule_of(tenant, any_in_tenant, allow, deny));
          },
          py::arg("tenant"), py::arg("any_in_tenant"), py::arg("allow").noconvert(), py::arg("deny").noconvert())
      .def(
          "change",
          [](RuleTable& table, std::uint32_t number, std::uint32_t tenant, bool any_in_tenant, const Numbers& allow,
             const Numbers& deny) { table.change(number, rule_of(tenant, any_in_tenant, allow, deny)); },
          py::arg("number"), py::arg("tenant"), py::arg("any_in_tenant"), py::arg("allow").noconvert(),
          py::arg("deny").noconvert())
      .def("decide", &decide, py::arg("tenant"), py::arg("groups").noconvert())
      .def("__len__", &RuleTable::size)
      .def_property_readonly("generation", &RuleTable::generation);
}

}  // namespace evidex::bindings
