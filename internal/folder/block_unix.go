//go:build unix

package folder

import "syscall"

// withoutBlocking makes the opening of a named pipe return.
const withoutBlocking = syscall.O_NONBLOCK
