// Command pulumi-resource-sluice is the Pulumi provider, which the Pulumi engine starts. Its code is in package
// pulumi.
package main

import (
	"os"

	"github.com/sluice-ecs/sluice/internal/pulumi"
)

func main() { os.Exit(pulumi.Main(os.Args[1:], os.Stdout, os.Stderr)) }
