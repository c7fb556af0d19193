// Command terraform-provider-sluice is the Terraform provider, which terraform starts. Its code is in
// package terraform.
package main

import (
	"os"

	"github.com/sluice-ecs/sluice/internal/terraform"
)

func main() { os.Exit(terraform.Main(os.Args[1:], os.Stdout, os.Stderr)) }
