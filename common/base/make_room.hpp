// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zoo {

/// Before `key` is added to a full cache (a std::unordered_map of at most `most` > 0): one goes, of
/// wherever this one would stand, so that no more is lost at once than comes.
template <typename Map>
void make_room(Map& map, const typename Map::key_type& key, std::size_t most) {
  if (map.size() < most) return;
  auto bucket = map.bucket(key);
  while (map.bucket_size(bucket) == 0)
    bucket = (bucket + 1) % map.bucket_count();
  map.erase(map.find(map.begin(bucket)->first));
}

} // namespace zoo
