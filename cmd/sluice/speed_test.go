//go:build !race

package main

// speed is how much faster than the machine's time runs in scripts.
const speed = 20
