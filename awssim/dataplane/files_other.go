//go:build !unix

package dataplane

// fileLimit returns the number of files and sockets that the process may have open. Windows has no
// limit that matters here.
func fileLimit() int64 { return 1 << 14 }
