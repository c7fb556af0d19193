package awssim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write FIDELITY.md anew from the parts")

const fidelityHead = `# Fidelity

What the simulated AWS does as AWS does, where AWS says so, and which test holds it; and what is not simulated. Where AWS is
silent the simulator is less kind than AWS, behind a knob of its own. Each package keeps its part; this page is put together
from them by ` + "`go test ./awssim -run TestFidelity -update`" + `.
`

// FIDELITY.md is the parts of the packages, and nothing else.
func TestFidelityIsWhole(t *testing.T) {
	parts, err := filepath.Glob("*/FIDELITY.part.md")
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	page := fidelityHead
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		page += "\n" + titled(filepath.Dir(part), string(text)) + "\n"
	}
	if *update {
		if err := os.WriteFile("FIDELITY.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("FIDELITY.md")
	if err != nil || string(have) != page {
		t.Errorf("FIDELITY.md is not its parts (%v); run go test ./awssim -run TestFidelity -update", err)
	}
}

// titled is a part under a heading: its own, or the name of its package.
func titled(pkg, text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		return "## " + strings.TrimLeft(text, "# ")
	}
	return "## " + pkg + "\n\n" + text
}
