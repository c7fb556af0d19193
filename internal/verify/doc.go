// Package verify checks that the resources which the files of an application name exist and fit together: roles and
// whom they trust, images and their platforms, secrets, log groups, environment files, target groups, hook functions
// and networks.
//
// It reads, and writes nothing. It returns all findings at once. What the caller may not read is a warning, never an
// error. It does not check what the validation of the files checks already, and it makes no plan.
//
// Start reading at [Run].
package verify
