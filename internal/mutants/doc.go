// Package mutants checks the tests. It breaks one rule of the source at a time and
// requires that a test fails. A rule that can be broken without a failing test is a
// survivor.
//
// The files in testdata list the mutations, one file for each area of the source.
// The compiler reads the changed files through an overlay, so that no build contains a
// mutation. All mutations are compiled at once, and an environment variable chooses one.
// A mutation outside of a function's body, or one that no test notices this way, is
// compiled alone. `make test` type-checks all of them and runs a tenth of the list, another one for each state of the
// source; `make mutants` runs all of it.
//
// Start reading at parse_test.go for the format, then at run_test.go and combine_test.go.
package mutants
