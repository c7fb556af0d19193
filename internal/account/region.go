package account

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// regionShape is the shape of all names of Regions, such as us-gov-west-1.
var regionShape = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]{1,2}$`)

// ErrNoRegion is the cause of an error of [Open] if neither the caller nor the environment names a
// Region.
var ErrNoRegion = errors.New("no Region given")

func checkRegion(region string) error {
	const next = "give --region, set AWS_REGION, or set region in the profile"
	if region == "" {
		return &sluice.Error{Op: "open AWS account", Kind: sluice.Denied, Err: ErrNoRegion, Next: next}
	}
	if !IsNoRegion(region) {
		return nil
	}
	told := &sluice.Error{Op: "open AWS account", Err: fmt.Errorf("%q is not a Region name", region), Next: next}
	if near := NearRegion(region); near != "" {
		told.Next = "correct the Region's name: " + near + " exists"
	}
	return told
}

// IsNoRegion reports whether a name that is given cannot be that of a Region.
func IsNoRegion(name string) bool { return name != "" && !regionShape.MatchString(name) }

// NearRegion returns the Region that was probably meant by a name; "" if the name is one of those known, or none is
// near.
func NearRegion(name string) string {
	all := knownRegions()
	if slices.Contains(all, name) {
		return ""
	}
	return definition.Nearest(name, all)
}

// knownRegions returns Regions that a misspelt name is compared with. A Region that is not among them is used as it is.
func knownRegions() []string {
	return []string{"us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "ca-west-1", "mx-central-1",
		"sa-east-1", "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2",
		"eu-west-3", "af-south-1", "il-central-1", "me-central-1", "me-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1",
		"ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-south-2", "ap-southeast-1", "ap-southeast-2",
		"ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-7", "us-gov-east-1", "us-gov-west-1",
		"cn-north-1", "cn-northwest-1"}
}
