# SPDX-License-Identifier: Apache-2.0
find_package(doctest REQUIRED)

# zoo_add_unit_test(ROOM SOURCES... LINK libs...): executable tests/unit/unit_ROOM with doctest's main.
function(zoo_add_unit_test room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(unit_${room} ${PROJECT_SOURCE_DIR}/tests/unit/main.cpp ${ARG_SOURCES})
  target_link_libraries(unit_${room} PRIVATE zoo_settings zoo_warnings doctest::doctest ${ARG_LINK})
  target_compile_definitions(unit_${room} PRIVATE ZOO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(unit_${room} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/unit)
endfunction()
