#include "tools/report/page.hpp"

#include "tools/page_script.hpp"
#include "tools/report/report_page.hpp"

namespace quadrille::tools {

std::string page_of(const ReportData& data) {
  std::string text(report_page);
  constexpr std::string_view mark = "%REPORT%";
  text.replace(text.find(mark), mark.size(), for_script(data.dump(-1, ' ', false, ReportData::error_handler_t::replace)));
  return text;
}

}  // namespace quadrille::tools
