package main

import "testing"

// Histories of which the verdict is known.
func TestKnownHistories(t *testing.T) {
	put := func(value uint64, call, end int64) operation {
		return operation{Verb: "put", Key: 1, New: value, Call: call, Return: end, Answered: end != 0}
	}
	get := func(value uint64, call, end int64) operation {
		return operation{Verb: "get", Key: 1, Found: value, Call: call, Return: end, Answered: true}
	}
	cas := func(old, value uint64, written bool, call, end int64) operation {
		return operation{Verb: "cas", Key: 1, Old: old, New: value, Written: written, Call: call, Return: end, Answered: end != 0}
	}
	for name, test := range map[string]struct {
		history []operation
		good    bool
	}{
		"nothing":                         {nil, true},
		"read what was written":           {[]operation{put(5, 1, 2), get(5, 3, 4)}, true},
		"a lost write":                    {[]operation{put(5, 1, 2), get(0, 3, 4)}, false},
		"at once":                         {[]operation{put(5, 1, 4), get(0, 2, 3)}, true},
		"seen, and then not":              {[]operation{put(5, 1, 9), get(5, 2, 3), get(0, 4, 5)}, false},
		"done twice":                      {[]operation{cas(0, 5, true, 1, 2), put(0, 3, 4), get(5, 5, 6)}, false},
		"not answered, and done late":     {[]operation{put(5, 1, 0), get(0, 2, 3), get(5, 4, 5)}, true},
		"not answered, and never done":    {[]operation{cas(0, 5, false, 1, 0), get(0, 2, 3)}, true},
		"before it was asked for":         {[]operation{get(5, 1, 2), put(5, 3, 0)}, false},
		"a swap that should have written": {[]operation{cas(0, 5, false, 1, 2)}, false},
	} {
		result := check(test.history)
		if good := len(result.illegal) == 0; good != test.good || len(result.unknown) > 0 {
			t.Errorf("%s: good %v, not %v", name, good, test.good)
		}
	}
}
