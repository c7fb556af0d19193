// Command small is a program with one module, which tests pack as if it were sluice.
package main

import "golang.org/x/mod/semver"

func main() { println(semver.IsValid("v1.2.3")) }
