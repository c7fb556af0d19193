// Package plan has the [Plan] of a deployment: the ordered stages, the changes, every write that a
// stage may make, and the warnings. It says what exists before and after each stage ([State]), what
// a stage does (stageproperties.go), and decides what runs next ([Next]). Package plan/mode makes
// plans.
//
// The package is pure: it takes values and returns values. It reads no clock and calls no API. The
// state of AWS comes in as an [AWSState], which package stage fills. The package does not know how
// a stage does its work, only which writes the stage may make.
//
// Start reading at [Plan], [State] and [Next].
package plan
