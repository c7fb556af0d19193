// Package stagetest has the bench of tests that run stages in an engine: a simulated AWS with one
// service and its callers, an account, a journal and an engine, all in virtual time.
//
// The tests of a stage are in internal/stage, those of its parts (hostings, access types, concerns)
// in the packages below it, those of the order of stages, of a stop and of a resume in
// internal/engine. All use this package; it has no tests itself.
//
// Start reading at bench.go.
package stagetest
