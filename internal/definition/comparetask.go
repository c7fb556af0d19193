package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func taskRules() rules { return rules{taskDefaults(), listOrders()} }

// normalizeTask returns the tree of a task definition, want or have, in normal form.
func normalizeTask(v any) map[string]any {
	t, _ := valueTree(reflect.Indirect(reflect.ValueOf(v))).(map[string]any)
	for _, name := range append(taskReadOnly(), "tags") {
		delete(t, name)
	}
	fillPorts(t)
	fillPlatform(t)
	fillSize(t)
	t, _ = taskRules().normalizeValue(t, "").(map[string]any)
	return t
}

// fillPorts sets the host port as AWS does: the container port in awsvpc and host mode, 0 (any) in
// bridge mode.
func fillPorts(t map[string]any) {
	for _, c := range mapsOf(t["containerDefinitions"]) {
		for _, p := range mapsOf(c["portMappings"]) {
			port := p["hostPort"]
			if port == nil || port == "0" {
				delete(p, "hostPort")
				if mode := t["networkMode"]; mode == "awsvpc" || mode == "host" {
					p["hostPort"] = p["containerPort"]
				}
			}
		}
	}
}

// fillPlatform removes the platform values that Fargate uses by default. On EC2 a definition
// without them means any platform.
func fillPlatform(t map[string]any) {
	list, _ := t["requiresCompatibilities"].([]any)
	if len(list) == 1 && list[0] == "EC2" {
		delete(t, "requiresCompatibilities")
	}
	fargate := false
	for _, c := range list {
		fargate = fargate || c == "FARGATE"
	}
	platform, _ := t["runtimePlatform"].(map[string]any)
	if !fargate || platform == nil {
		return
	}
	if platform["cpuArchitecture"] == "X86_64" {
		delete(platform, "cpuArchitecture")
	}
	if platform["operatingSystemFamily"] == "LINUX" {
		delete(platform, "operatingSystemFamily")
	}
}

// fillSize writes the task's cpu in units and its memory in MiB. AWS also accepts "1 vCPU" and "2
// GB" and converts them to "1024" and "2048".
func fillSize(t map[string]any) {
	if s, ok := t["cpu"].(string); ok {
		t["cpu"] = convertUnits(s, "vcpu")
	}
	if s, ok := t["memory"].(string); ok {
		t["memory"] = convertUnits(s, "gb")
	}
}

func convertUnits(s, unit string) string {
	low := strings.ToLower(strings.TrimSpace(s))
	number, ok := strings.CutSuffix(low, unit)
	if !ok {
		return low
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return low
	}
	return strconv.Itoa(int(f * 1024))
}

// mapsOf returns the maps of a list.
func mapsOf(list any) []map[string]any {
	items, _ := list.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// CompareTask returns the differences between a wanted task definition and AWS's, sorted by path.
// It does not compare tags: AWS returns them separately from the definition.
func CompareTask(want *Task, have *ecstypes.TaskDefinition) []Difference {
	c := comparison{rules: taskRules()}
	c.compareMaps(normalizeTask(want.Input), normalizeTask(have), "", "")
	return c.sortedDifferences()
}

// CompareTags returns the differences between the tags of a wanted task definition and those that AWS has. It compares
// tags with keys of the file, and those that an earlier file set (see [TagRecord]): other tags stay.
func CompareTags(want *Task, have []ecstypes.Tag) []Difference {
	c := comparison{rules: taskRules()}
	c.compareTags(want.Input.Tags, have, want.IgnoredTags)
	return c.sortedDifferences()
}

func (c *comparison) compareTags(want, have []ecstypes.Tag, ignored []string) {
	have = comparedTags(want, have, ignored)
	c.compareMember("tags", valueTree(reflect.ValueOf(withoutRecord(want))), valueTree(reflect.ValueOf(withoutRecord(have))))
}

// Digest returns the SHA-256, in hex, of the normal form of a task definition. It is equal for
// definitions that CompareTask finds equal.
func Digest(want *Task) string {
	// encoding/json sorts the keys of maps.
	text, err := json.Marshal(normalizeTask(want.Input))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
