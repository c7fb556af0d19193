// Command sluice deploys Amazon ECS services without dropping a request. Its code is in package
// cli.
package main

import (
	"os"

	"github.com/sluice-ecs/sluice/internal/cli"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

func main() { os.Exit(cli.Main(session.OS())) }
