//go:build race

package local

// testRate is how many requests a second the callers of a demo in tests send. With the race detector the machine takes ten
// times as long to answer one.
const testRate = 30
