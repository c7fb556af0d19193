// Package layers has tests only. They check the rules for the layers of the module: which package
// may import which, what the deterministic layers may not call, which package may create an AWS
// client, which package names are forbidden, which text a file may not contain, and which package
// needs tests of its own.
//
// The tests do not check style. They need no build, because they parse the sources for all operating
// systems at once and do not resolve types.
//
// Start reading at rules_test.go. The rules are tables, and a new package needs a row there.
package layers
