// Package contract is PipeCD's contract between piped and its plugins. It contains messages and
// services with PipeCD's package names and field numbers, generated from the .proto files of this
// directory, and piped's rules for the fields of messages.
//
// It is written from the contract, not from PipeCD's code, and contains only what a plugin needs.
// generate.sh makes the Go code; a test fails when that is out of date.
//
// Start reading at deployment.proto.
package contract
