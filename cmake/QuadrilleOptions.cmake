# Flags that every target of the project shares: target_link_libraries(x PRIVATE quadrille_options).
add_library(quadrille_options INTERFACE)
target_compile_options(quadrille_options INTERFACE -Wall -Wextra -Wpedantic)
target_include_directories(quadrille_options INTERFACE ${CMAKE_SOURCE_DIR}/src
                                                       ${CMAKE_SOURCE_DIR}/include)
if(QUADRILLE_SANITIZE)
  target_compile_options(quadrille_options INTERFACE -fsanitize=${QUADRILLE_SANITIZE}
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1)
  target_link_options(quadrille_options INTERFACE -fsanitize=${QUADRILLE_SANITIZE})
endif()
