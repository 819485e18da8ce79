package main

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// checking is how long one key may take.
const checking = 60 * time.Second

// operation is one line of a history. Times are in ns of the clock of the process that asked.
type operation struct {
	Client int    `json:"client"`
	Verb   string `json:"verb"` // get, put or cas
	Key    uint64 `json:"key"`
	Old    uint64 `json:"old,omitempty"` // that a cas expects
	New    uint64 `json:"new,omitempty"` // that a put or cas writes
	Call   int64  `json:"call"`
	Return int64  `json:"return,omitempty"`
	// Whether it was answered: if not, it may have been done at any later time, or never.
	Answered bool   `json:"answered"`
	Written  bool   `json:"written,omitempty"` // by a cas
	Found    uint64 `json:"found,omitempty"`   // by a get
}

// register is what one key must behave as: a number, 0 at first.
var register = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		now, asked := state.(uint64), input.(operation)
		switch asked.Verb {
		case "get":
			return !asked.Answered || asked.Found == now, now
		case "put":
			return true, asked.New
		default:
			fits := now == asked.Old
			if asked.Answered && fits != asked.Written {
				return false, now
			}
			if fits {
				return true, asked.New
			}
			return true, now
		}
	},
}

type result struct {
	illegal, unknown []uint64
}

// check checks each key alone, as linearizability is local.
func check(all []operation) result {
	keys := map[uint64][]porcupine.Operation{}
	for _, one := range all {
		if one.Verb == "get" && !one.Answered {
			continue // It changed nothing, and saw nothing.
		}
		end := one.Return
		if !one.Answered {
			end = math.MaxInt64
		}
		keys[one.Key] = append(keys[one.Key], porcupine.Operation{
			ClientId: one.Client, Input: one, Call: one.Call, Output: nil, Return: end,
		})
	}
	var found result
	for key, operations := range keys {
		switch porcupine.CheckOperationsTimeout(register, operations, checking) {
		case porcupine.Illegal:
			found.illegal = append(found.illegal, key)
		case porcupine.Unknown:
			found.unknown = append(found.unknown, key)
		}
	}
	return found
}
