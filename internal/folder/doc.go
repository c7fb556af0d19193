// Package folder reads the files of one folder, and no files outside of it.
//
// A file that comes with an application is not trusted: it may be a symbolic link to a secret of
// this machine, a named pipe that never ends, or a device. [FS] opens only regular files below its
// folder, and reads at most [Limit] bytes of each. It does not parse files and does not print them.
//
// Start reading at [FS.Open].
package folder
