#include "report/page.hpp"

#include "report/report_page.hpp"
#include "tool/page_script.hpp"

namespace quadrille::tools {

std::string page_of(const ReportData& data) {
  std::string text(report_page);
  constexpr std::string_view mark = "%REPORT%";
  const std::string written = data.dump(-1, ' ', false, ReportData::error_handler_t::replace);
  text.replace(text.find(mark), mark.size(), for_script(written));
  return text;
}

}  // namespace quadrille::tools
