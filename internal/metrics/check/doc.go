// Package check runs checks that pass or fail, and have no value: an HTTP request with an expected
// response, and a command with its exit code.
//
// A check that cannot run is an error. A check that fails is a result: the caller decides what
// follows. Start reading at [Request], then [Command.Run].
package check
