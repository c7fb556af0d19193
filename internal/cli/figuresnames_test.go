package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namedRuns lets callers by name go through each flow on each hosting, and back from
// each stage, twenty times each.
func namedRuns(t *testing.T) result { return lossless(t, discoveredTests, "TestByNameLosesNoRequest") }

// discoveredTests is the package of the tests of callers by name.
const discoveredTests = "./internal/stage/access/discovered"

var namedShare = regexp.MustCompile(`measured (\S+%), planned (\S+%)`)

// namedShares are measured over 200,000 lookups each; the test judges them.
func namedShares(t *testing.T) result {
	var all []string
	for _, m := range namedShare.FindAllStringSubmatch(goTest(t, discoveredTests, "TestNamedSharesAreThePlans",
		"-lookups", "200000"), -1) {
		all = append(all, m[1]+" for "+m[2])
	}
	slices.Sort(all)
	return result{strings.Join(all, ", "), 0, len(all) > 0}
}
