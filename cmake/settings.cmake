# SPDX-License-Identifier: Apache-2.0
# Two INTERFACE targets carry what every target of ours is compiled with; nothing is set globally.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(ZOO_DEV)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
endif()

add_library(zoo_settings INTERFACE)
target_include_directories(zoo_settings INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_definitions(zoo_settings INTERFACE ZOO_VERSION="${PROJECT_VERSION}"
  $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
target_compile_options(zoo_settings INTERFACE
  $<$<CONFIG:Debug>:-O1;-g1> $<$<CONFIG:Release>:-O2;-g1;-UNDEBUG>
  -fstack-protector-strong -fno-omit-frame-pointer)
target_link_options(zoo_settings INTERFACE -Wl,-z,relro,-z,now)

if(ZOO_SANITIZE)
  target_compile_options(zoo_settings INTERFACE -fsanitize=${ZOO_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(zoo_settings INTERFACE -fsanitize=${ZOO_SANITIZE})
endif()
if(ZOO_FUZZ)
  target_compile_options(zoo_settings INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(zoo_settings INTERFACE -fsanitize=address,undefined)
endif()

add_library(zoo_warnings INTERFACE)
target_compile_options(zoo_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wformat=2 -Wimplicit-fallthrough -Wnull-dereference -Wundef
  $<$<BOOL:${ZOO_DEV}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside the standard library and Asio under optimisation.
  target_compile_options(zoo_warnings INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-dangling-pointer)
endif()

# zoo_add_library(NAME SOURCES... LINK libs...): one static library a room.
function(zoo_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC zoo_settings ${ARG_LINK} PRIVATE zoo_warnings)
endfunction()
