// Package plan turns an application and what AWS has now into a [Plan]: the
// ordered stages, what will change, every write to come, and what a person
// should know first. It also says what runs next ([Next]).
//
// The package is pure: it takes values and returns values. It reads no clock
// and calls nobody; what AWS has comes in as [Live], which package stage fills.
// It does not know how a stage does its work, only which writes it may make.
//
// Start reading at [Make] and [Next].
package plan
