// SPDX-License-Identifier: Apache-2.0

package main

// merge applies a patch as RFC 7386 has it. A strategic one also merges the lists of mergeKeys, item by item.
func merge(to tree, patch tree, strategic bool) {
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(to, name)
		case tree:
			merge(child(to, name), value, strategic)
		case []any:
			if strategic {
				before, _ := to[name].([]any)
				to[name] = mergeList(before, value, mergeKeys[name])
			} else {
				to[name] = value
			}
		default:
			to[name] = value
		}
	}
}

// mergeKeys says which member tells the items of a list of a pod's status apart (patchMergeKey in k8s.io/api/core/v1).
var mergeKeys = map[string]string{"conditions": "type", "podIPs": "ip", "hostIPs": "ip"}

// mergeList: without a key, and where an item says "$patch: replace", the list is another one; one that says "$patch:
// delete" takes away the item of its key.
func mergeList(before, patch []any, key string) []any {
	replaces := key == ""
	for _, each := range patch {
		item, _ := each.(tree)
		replaces = replaces || item["$patch"] == "replace"
	}
	out := []any{}
	if !replaces {
		out = append(out, before...)
	}
	for _, each := range patch {
		item, is := each.(tree)
		if !is {
			out = append(out, each)
			continue
		}
		if item["$patch"] == "replace" {
			continue
		}
		at := -1
		for i, other := range out {
			if same, is := other.(tree); is && key != "" && same[key] == item[key] {
				at = i
			}
		}
		switch {
		case item["$patch"] == "delete" && at >= 0:
			out = append(out[:at], out[at+1:]...)
		case item["$patch"] == "delete":
		case at >= 0:
			merge(out[at].(tree), item, true)
		default:
			out = append(out, item)
		}
	}
	return out
}
