//go:build unix

package cli

import (
	"syscall"
	"testing"
)

func pipe(t *testing.T, name string) { fail(t, syscall.Mkfifo(name, 0o600)) }
