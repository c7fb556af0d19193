//go:build !unix

package folder

// withoutBlocking is zero where opening a file never blocks.
const withoutBlocking = 0
