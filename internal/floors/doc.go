// Package floors has tests only. They keep the house in order: who may import
// whom, what the deterministic floors may not call, who may make an AWS client,
// what a package may not be named, what a file may not give away.
//
// They do not judge style and they need no build: the sources are parsed, for
// all operating systems at once, and types are not resolved.
//
// Start reading at rules_test.go; the rules are tables, and a new package gets
// its row there.
package floors
