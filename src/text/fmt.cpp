// The one place where fmt is compiled. Debian ships fmt as headers and as a shared library. A preload
// library must need nothing on the machine it runs on, so the shared one is out; header only, every
// file that formats a number compiles the whole of fmt anew, which was most of the build.
#include <fmt/format-inl.h>

// What fmt's headers declare and define only among its sources: the separators of a locale.
FMT_BEGIN_NAMESPACE
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
