package definition

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func tagsOf(keys ...string) (all []ecstypes.Tag) {
	for _, key := range keys {
		all = append(all, ecstypes.Tag{Key: aws.String(key), Value: aws.String("v")})
	}
	return all
}

func serviceOf(ignored []string, keys ...string) *Service {
	s := &Service{Input: &awsecs.CreateServiceInput{Tags: tagsOf(keys...)}, Given: map[string]bool{}, IgnoredTags: ignored}
	return s.WithTagRecord()
}

// Only tags that the record lists are dropped, and never those of AWS, sluice and PipeCD.
func TestDroppedTags(t *testing.T) {
	record := func(keys string) []ecstypes.Tag {
		return append(tagsOf("team", "cost", "aws:x", "sluice:deployment", "pipecd-dev-piped"),
			ecstypes.Tag{Key: aws.String(TagRecord), Value: aws.String(keys)})
	}
	for name, c := range map[string]struct {
		want     *Service
		recorded string
		dropped  []string
		others   []string
	}{
		"one":             {serviceOf(nil, "stage"), "stage team", []string{"team"}, []string{"cost"}},
		"gone already":    {serviceOf(nil), "owner", nil, []string{"team", "cost"}},
		"still there":     {serviceOf(nil, "team"), "team", nil, []string{"cost"}},
		"ignored":         {serviceOf([]string{"team"}), "team cost", []string{"cost"}, []string{"team"}},
		"reserved":        {serviceOf(nil), "aws:x sluice:deployment pipecd-dev-piped", nil, []string{"team", "cost"}},
		"without records": {&Service{Input: &awsecs.CreateServiceInput{}}, "team", nil, []string{"team", "cost"}},
	} {
		have := record(c.recorded)
		if got := c.want.DroppedTags(have); !slices.Equal(got, c.dropped) {
			t.Errorf("%s: dropped %q, want %q", name, got, c.dropped)
		}
		if got := c.want.OtherTags(have); !slices.Equal(got, c.others) {
			t.Errorf("%s: others %q, want %q", name, got, c.others)
		}
	}
}

// The record fits into the value of a tag, and lists no key that it could not list clearly.
func TestTagRecord(t *testing.T) {
	keys := []string{"b", "a", "with space", "aws:x"}
	for _, c := range "cdef" {
		keys = append(keys, strings.Repeat(string(c), 100))
	}
	got := serviceOf(nil, keys...).Tags()[TagRecord]
	if want := "a b " + strings.Repeat("c", 100) + " " + strings.Repeat("d", 100); got != want {
		t.Errorf("the record is %q, want %q", got, want)
	}
	again := serviceOf(nil, "a").WithTagRecord("z")
	if got := again.Tags()[TagRecord]; got != "a z" || len(again.Input.Tags) != 2 {
		t.Errorf("the record is %q in %d tags", got, len(again.Input.Tags))
	}
}
