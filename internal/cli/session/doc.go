// Package session has what the commands share. A [Session] is one run of the command line: its
// environment, the flags of every command, and what the command has opened: the clock, the AWS
// account, the journal, the files of an application, a deployment. It also prints errors and
// determines their exit codes.
//
// A session uses everything outside the process through [Env].
//
// Start reading at [Session].
package session
