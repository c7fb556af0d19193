//go:build unix

package dataplane

import "syscall"

// fileLimit returns the number of files and sockets that the process may have open.
func fileLimit() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil || r.Cur > 1<<20 {
		return 1 << 20
	}
	return int64(r.Cur)
}
