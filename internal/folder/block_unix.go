//go:build unix

package folder

import "syscall"

// withoutBlocking makes opening a named pipe return immediately.
const withoutBlocking = syscall.O_NONBLOCK
