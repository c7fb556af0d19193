package definition

import (
	"math"
	"strconv"
	"strings"
)

// NodeKind is the kind of a [Node].
type NodeKind int

// The kinds of a node, those of JSON.
const (
	Null NodeKind = iota
	Map
	List
	Text
	Number
	Bool
)

func (k NodeKind) String() string {
	return [...]string{"nothing", "a map", "a list", "text", "a number", "true or false"}[k]
}

// Node is one value of a file, with its place. Aliases, anchors and merge keys are resolved. The
// place of an alias is where it is used; the places inside it are where the anchor is.
type Node struct {
	Kind         NodeKind
	Text         string // a scalar's value; a number as written
	Entries      []Entry
	Items        []*Node
	Line, Column int

	number any   // int64, uint64 or float64
	origin *Node // the node that an alias refers to
	varies bool  // the text comes from a variable
	unset  bool  // it names a variable that is not set, which is a problem
}

// Entry is one key of a map.
type Entry struct {
	Key          string
	Line, Column int
	Value        *Node
}

// Get returns the value of a key, or nil. It returns nil if the node is nil or not a map, so that
// calls can be chained.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Find is Get for a key in any case, as PipeCD reads definitions.
func (n *Node) Find(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if strings.EqualFold(e.Key, key) {
			return e.Value
		}
	}
	return nil
}

// Int returns the number if it is whole and fits.
func (n *Node) Int() (int64, bool) {
	switch v := n.number.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return 0, false
}

// Float returns the number, if the node is one.
func (n *Node) Float() (float64, bool) {
	switch v := n.number.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// PlainNumber returns a number as AWS writes it in text: decimal, no underscores.
func (n *Node) PlainNumber() string {
	if i, ok := n.Int(); ok {
		return strconv.FormatInt(i, 10)
	}
	return strings.ReplaceAll(n.Text, "_", "")
}
