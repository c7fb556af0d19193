//go:build !unix

package folder

// withoutBlocking is nothing where opening a file never blocks.
const withoutBlocking = 0
