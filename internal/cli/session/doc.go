// Package session has what the commands share. A [Session] is one run of the command line: its
// environment, the flags of every command, and what the command has opened: the clock, the AWS
// account, the journal, the files of an application, a deployment. It also prints errors and
// determines their exit codes.
//
// A session uses everything outside the process through [Env], and files through its [Disk]. Notes are shown by
// [Notices], and [Deployments] finds what the journal has.
//
// Start reading at [Session].
package session
