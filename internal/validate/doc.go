// Package validate refuses values in task and service definitions that AWS refuses.
//
// AWS reports such a value only at the call, when a deployment has already begun. This package
// reports it with its place in the file, before the first write. It compares each member with the
// model of AWS's API (required members, lengths, ranges, patterns), with the limits that AWS
// documents beside the model, and with other members of the two files. It does not decide whether
// sluice can deploy the definitions; package plan does that.
//
// A value may be newer than this sluice. So a rule is here only if AWS documents it, or if its error
// was seen.
//
// Start reading at [LoadTask].
package validate
