// Package inspect has the commands that read and change nothing, one file for each: status,
// history, wait and appspec.
//
// A [ServiceReport] is the state of a service, as sluice status prints it. Each part of it, such as the
// canary service, is read from AWS and written as text in one file: status_canary.go.
//
// Start reading at [Commands], then [ReadService].
package inspect
