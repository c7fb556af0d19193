//go:build race

package main

// speed is how much faster than the machine's time runs in scripts. With the race detector every command takes longer to
// start, and what it is to see must not be over by then.
const speed = 10
