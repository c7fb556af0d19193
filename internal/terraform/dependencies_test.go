package terraform

import (
	"os/exec"
	"strings"
	"testing"
)

// The command line carries nothing of Terraform: its binary stays small.
func TestCommandLineHasNoTerraform(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/sluice-ecs/sluice/cmd/sluice").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pkg := range strings.Fields(string(out)) {
		if strings.HasPrefix(pkg, "github.com/sluice-ecs/sluice/internal/") {
			found++
		}
		if strings.HasPrefix(pkg, "github.com/hashicorp/") && pkg != "github.com/hashicorp/go-envparse" || strings.HasSuffix(pkg, "sluice/internal/terraform") {
			t.Errorf("cmd/sluice imports %s", pkg)
		}
	}
	if found < 20 {
		t.Errorf("found %d packages of sluice only", found)
	}
}
