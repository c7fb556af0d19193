//go:build !unix

package dataplane

import (
	"os"
	"os/exec"
)

// Windows has no SIGTERM: a program there is killed at once.

func ownGroup(*exec.Cmd)            {}
func termGroup(c *exec.Cmd)         { _ = c.Process.Kill() }
func killGroup(c *exec.Cmd)         { _ = c.Process.Kill() }
func signalOf(*os.ProcessState) int { return 0 }
