package cli

import (
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
)

// The picture of README.md is the run of the demo that docs/benchmarks.md records.
func TestPictureIsTheRecordedDemo(t *testing.T) { checkPicture(t) }

func checkPicture(t *testing.T) {
	t.Helper()
	goldentest.CheckFile(t, "docs/images/demo.svg", goldentest.Picture(
		"sluice demo: a canary release from v1 to v2 under 200 requests a second",
		goldentest.PageBlock(t, "docs/benchmarks.md", "demo")))
}
