// Package plan turns an application and the state of AWS into a [Plan]: the ordered stages, the
// changes, every write that a stage may make, and the warnings. It also decides what runs next
// ([Next]).
//
// The package is pure: it takes values and returns values. It reads no clock and calls no API. The
// state of AWS comes in as an [AWSState], which package stage fills. The package does not know how
// a stage does its work, only which writes the stage may make.
//
// Start reading at [Make] and [Next].
package plan
