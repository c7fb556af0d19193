// Command piped-plugin-sluice is the PipeCD plugin, which piped starts. Its code is in package
// piped.
package main

import (
	"os"

	"github.com/sluice-ecs/sluice/internal/piped"
)

func main() { os.Exit(piped.Main(os.Args[1:], os.Stderr)) }
