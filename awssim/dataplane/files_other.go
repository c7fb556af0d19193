//go:build !unix

package dataplane

// fileLimit is how many files and sockets the process may have open. Windows
// knows no limit that matters here.
func fileLimit() int64 { return 1 << 14 }
