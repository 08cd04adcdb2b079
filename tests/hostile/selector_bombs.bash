# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tries: selectors of ten thousand terms, values of kilobytes, queries of a thousand parameters, limits that overflow.
# Without the fence: each list costs zood or upstream a second of work.
# Rule: 16 KiB a target, 1,000 parameters; numbers are read strictly.
terms=$(python3 -c 'print(",".join("a%d" % n for n in range(3000)))')
values=$(python3 -c 'print(",".join("v%d" % n for n in range(3000)))')
for query in "labelSelector=$terms" "labelSelector=a+in+($values)" "fieldSelector=$(python3 -c 'print(",".join("metadata.name%21%3Dx" for _ in range(700)))')" "$(python3 -c 'print("&".join("a=%d" % n for n in range(1500)))')" \
  "limit=99999999999999999999" "limit=-1" "limit=0x10" "limit=1e3" "resourceVersion=99999999999999999999" "resourceVersion=-1" "resourceVersion=abc" "timeoutSeconds=-5&watch=1" "timeoutSeconds=99999999999999999999&watch=1" \
  "labelSelector=%FF" "labelSelector=a%00b" "fieldSelector=%5C" "labelSelector=((((((((((" "labelSelector=a+in+(" "labelSelector=,,,,," "fieldSelector=,=,=,=" "continue=%00" "continue=$(printf 'A%.0s' {1..9000})" ";;;;" "%zz=1" "&&&&=&="; do
  [[ $query == *watch=1* ]] && curl_more=(--max-time 3)
  try GET "/api/v1/secrets?$query"
  expect_no_match "$code: ${query:0:50} shows nothing of others" "$canary" "$answer"
  expect_match "and is answered" '^[24]..$' "$code"
done
would "look through three thousand values for everybody's" GET "/api/v1/secrets?labelSelector=a+notin+($values)"
expect_match "and answer with the victim's" "\"name\":\"$vault\"" "$answer"
would "read a query of 1,500 parameters" GET "/api/v1/secrets?$(python3 -c 'print("&".join("a=%d" % n for n in range(1500)))')"
