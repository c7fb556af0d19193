// Package inspect has the commands that read and change nothing, one file for each: status,
// history, wait and appspec.
//
// A [ServiceReport] is the state of a service, as sluice status prints it. Files named status_read_*
// fill it from AWS, files named status_view_* write it as text. A small part, such as the canary
// service, is read and written in one file.
//
// Start reading at [Commands], then [ReadService].
package inspect
