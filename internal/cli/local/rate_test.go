//go:build !race

package local

// testRate is how many requests a second the callers of a demo in tests send.
const testRate = 200
