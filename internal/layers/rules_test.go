package layers

// layerNames are the layers by number; imports point to lower numbers only.
var layerNames = []string{
	0: "words: values, no I/O",
	1: "thought: pure decisions, and the journal",
	2: "adapters: operations on AWS",
	3: "stages",
	4: "motion: runs plans",
	5: "front ends: command line, plugins, pages",
}

// frontEnds is the layer whose packages do not import packages of AWS services.
const frontEnds = 5

// Third-party modules, as prefixes of import paths.
const (
	sdk         = "github.com/aws/aws-sdk-go-v2/"
	sdkServices = sdk + "service/" // one package per AWS service, and its types
	sdkCore     = sdk + "aws"      // pointers to values and back
	smithy      = "github.com/aws/smithy-go"
	yaml        = "github.com/goccy/go-yaml"
	schema      = "github.com/santhosh-tekuri/jsonschema/v6"
	anything    = ""
)

// layerRow is one row of the layer table.
type layerRow struct {
	pkg   string   // path in the module; a last "/..." covers all below it
	layer int      // index of layerNames
	below []int    // layers that it may import completely
	also  []string // further packages that it may import
	tests []string // further packages that its tests may import
	libs  []string // third-party prefixes that it may import
	free  bool     // may keep time, chance and goroutines of its own
}

// layerTable has a row for each package. A package without a row fails the test.
var layerTable = []layerRow{
	{pkg: ".", layer: 0},
	{pkg: "internal/clock", layer: 0, free: true},
	{pkg: "internal/secret", layer: 0},
	{pkg: "internal/printable", layer: 0, also: []string{"internal/secret"}},
	{pkg: "internal/filekind", layer: 0},
	{pkg: "internal/buildinfo", layer: 0, free: true}, // the linker sets its variables

	{pkg: "internal/definition", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices, yaml,
		"github.com/compose-spec/compose-go/v2/template"}},
	{pkg: "internal/definition/appspec", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/definition"}},
	{pkg: "internal/validate", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/definition"}},
	{pkg: "internal/appfile", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices, yaml, schema,
		"github.com/fujiwara/tfstate-lookup"},
		also: []string{"internal/analysis", "internal/appfile/jsonschema", "internal/appfile/locate",
			"internal/appfile/values", "internal/definition", "internal/definition/appspec",
			"internal/secret", "internal/validate"},
		tests: []string{"internal/appfile/render", "internal/folder"}},
	{pkg: "internal/appfile/values", layer: 1, also: []string{"internal/definition"}},
	{pkg: "internal/appfile/locate", layer: 1},
	{pkg: "internal/appfile/jsonschema", layer: 1},
	{pkg: "internal/appfile/tfstate", layer: 1},
	{pkg: "internal/appfile/render", layer: 1, below: []int{0}, libs: []string{"github.com/google/go-jsonnet"},
		also: []string{"internal/appfile/locate", "internal/appfile/tfstate", "internal/definition"}},
	{pkg: "internal/plan", layer: 1, below: []int{0},
		libs: []string{sdkCore, sdkServices, "github.com/aymanbagabas/go-udiff"},
		also: []string{"internal/definition", "internal/definition/appspec", "internal/appfile", "internal/view"}},
	{pkg: "internal/plan/forecast", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/plan"}},
	{pkg: "internal/plan/mode", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/definition", "internal/definition/appspec", "internal/appfile", "internal/plan",
			"internal/plan/forecast", "internal/validate", "internal/view"}},
	{pkg: "internal/plan/history", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/definition", "internal/appfile", "internal/plan", "internal/plan/mode"}},
	{pkg: "internal/policy", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/appfile", "internal/definition", "internal/plan"}},
	{pkg: "internal/view", layer: 1, below: []int{0}},
	{pkg: "internal/verdict/diagnosis", layer: 1, below: []int{0}},
	{pkg: "internal/verdict", layer: 1, below: []int{0}, libs: []string{sdkCore, sdkServices},
		also: []string{"internal/verdict/diagnosis"}},
	{pkg: "internal/verdict/health", layer: 1, below: []int{0},
		also: []string{"internal/verdict", "internal/verdict/diagnosis"}},
	{pkg: "internal/analysis", layer: 1, // arithmetic only: the standard library
		tests: []string{"internal/cli/goldentest"}}, // the table of docs/statistics.md
	{pkg: "internal/eventschema", layer: 1, below: []int{0}},
	{pkg: "internal/journal", layer: 1, below: []int{0}, libs: []string{"modernc.org/sqlite"}},

	{pkg: "internal/account", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy, "golang.org/x/time/rate"}},
	{pkg: "internal/ecs", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}},
	{pkg: "internal/upkeep", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}, also: []string{"internal/ecs"}},
	{pkg: "internal/pausehook", layer: 2, below: []int{1, 0}, libs: []string{sdk}, also: []string{"internal/ecs"}},
	{pkg: "internal/folder", layer: 2, below: []int{0}},
	{pkg: "internal/codedeploy", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}},
	{pkg: "internal/iam", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}},
	{pkg: "internal/registry", layer: 2, below: []int{0}},
	{pkg: "internal/signedread", layer: 2, below: []int{1, 0}, libs: []string{smithy}},
	{pkg: "internal/autoscaling", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}},
	{pkg: "internal/metrics", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}},
	{pkg: "internal/metrics/sourcetest", layer: 2, below: []int{1, 0}, also: []string{"internal/metrics"}},
	{pkg: "internal/metrics/httpread", layer: 2, below: []int{1, 0}},
	{pkg: "internal/metrics/check", layer: 2, below: []int{1, 0}, also: []string{"internal/metrics/httpread"}},
	{pkg: "internal/metrics/web", layer: 2, below: []int{1, 0}, libs: []string{"github.com/itchyny/gojq"},
		also: []string{"internal/metrics", "internal/metrics/httpread"}},
	{pkg: "internal/metrics/provider", layer: 2, below: []int{1, 0}, libs: []string{sdk},
		also: []string{"internal/metrics", "internal/metrics/..."}},
	{pkg: "internal/metrics/...", layer: 2, below: []int{1, 0},
		also: []string{"internal/metrics", "internal/metrics/httpread"}},
	{pkg: "internal/route", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy}},
	{pkg: "internal/route/...", layer: 2, below: []int{1, 0}, libs: []string{sdk, smithy, "github.com/miekg/dns"},
		also: []string{"internal/route"}},

	{pkg: "internal/watch", layer: 3, below: []int{2, 1, 0}},
	{pkg: "internal/survey", layer: 3, below: []int{2, 1, 0}, also: []string{"internal/verify"}},
	{pkg: "internal/verify", layer: 3, below: []int{2, 1, 0}, libs: []string{sdkCore, sdkServices}},
	{pkg: "internal/stage", layer: 3, below: []int{2, 1, 0}, also: []string{"internal/watch", "internal/stage/..."},
		tests: []string{"internal/engine"}}, // a stage is tested as the engine runs it
	concernRow("memory"),
	concernRow("task", "memory"),
	concernRow("step", "memory"),
	concernRow("gates", "memory", "step"),
	concernRow("claim", "memory", "step"),
	concernRow("revision", "memory", "step"),
	concernRow("capacity", "memory", "step"),
	concernRow("scaling", "memory", "step", "claim"),
	concernRow("outside", "memory", "step", "capacity", "revision", "scaling"),
	concernRow("begin", "memory", "step", "claim", "outside", "revision", "scaling"),
	concernRow("rolling", "memory", "step", "begin", "capacity", "outside", "revision"),
	concernRow("bluegreen", "memory", "step", "begin", "capacity", "revision", "rolling"),
	concernRow("hosting/taskset", "memory", "step", "capacity"),
	concernRow("hosting/canaryservice", "memory", "step", "capacity", "revision", "rolling"),
	concernRow("access/balanced", "memory", "step", "capacity"),
	concernRow("access/discovered", "memory", "step", "capacity", "revision"),

	{pkg: "internal/engine", layer: 4, below: []int{3, 2, 1, 0}, libs: []string{"github.com/oklog/ulid/v2"}},
	{pkg: "internal/rehearse/shape", layer: 4, below: []int{3, 2, 1, 0}, libs: []string{sdkCore, sdkServices}},
	{pkg: "internal/replica", layer: 4, below: []int{3, 2, 1, 0}, // the local AWS answers as the image names it
		also: []string{"internal/rehearse/shape", "awssim/image"}},
	{pkg: "internal/rehearse", layer: 4, below: []int{3, 2, 1, 0}, libs: []string{smithy},
		also: []string{"internal/engine", "internal/rehearse/shape", "awssim/..."}},
	{pkg: "internal/rehearse/catalogue", layer: 4, below: []int{3, 2, 1, 0},
		also: []string{"internal/rehearse", "internal/rehearse/shape"}},

	{pkg: "internal/cli/report", layer: 5, below: []int{1, 0}, free: true},
	{pkg: "internal/cli/show", layer: 5, below: []int{1, 0}, free: true,
		libs: []string{"github.com/go-json-experiment/json"}},
	{pkg: "internal/cli/session", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/show", "internal/cli/report"}},
	{pkg: "internal/cli/inspect", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/show", "internal/cli/session", "internal/cli/report"}},
	{pkg: "internal/cli/deploy", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/show", "internal/cli/session", "internal/cli/inspect", "internal/cli/report"}},
	{pkg: "internal/cli/hooks", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/session", "internal/cli/inspect"}},
	{pkg: "internal/cli/definitions", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/show", "internal/cli/session"}},
	{pkg: "internal/cli/tasks", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/show", "internal/cli/session"}},
	{pkg: "internal/cli/local", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/show", "internal/cli/session", "internal/cli/inspect", "awssim/...",
			"internal/load"}},
	{pkg: "internal/cli", layer: 5, below: []int{1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/cli/session", "internal/cli/definitions", "internal/cli/deploy", "internal/cli/hooks",
			"internal/cli/inspect", "internal/cli/local", "internal/cli/show", "internal/cli/tasks"}},
	{pkg: "internal/load", layer: 5, libs: []string{"github.com/HdrHistogram/hdrhistogram-go"}, free: true},
	{pkg: "internal/web", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true},
	{pkg: "internal/parent", layer: 5, free: true}, // plugins end with the process that started them
	{pkg: "internal/piped", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/piped/contract/...", "internal/parent"}},
	{pkg: "internal/piped/contract/...", layer: 5, libs: []string{"google.golang.org/"}, free: true,
		also: []string{"internal/piped/contract/..."}},
	{pkg: "internal/pulumi", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true,
		also: []string{"internal/parent"}},
	{pkg: "internal/terraform", layer: 5, below: []int{4, 3, 2, 1, 0}, libs: []string{anything}, free: true},
	{pkg: "internal/eventtest", layer: 1, below: []int{0}, libs: []string{schema},
		also: []string{"internal/eventschema"}}, // tests of front ends run it
	{pkg: "internal/layers", layer: 5, free: true},
	{pkg: "internal/mutants", layer: 5, free: true},

	{pkg: "wait", layer: 5, below: []int{3, 2, 1, 0}, libs: []string{sdkCore, smithy}},

	{pkg: "cmd/sluice", layer: 5, also: []string{"internal/cli", "internal/cli/session"}, free: true},
	{pkg: "cmd/piped-plugin-sluice", layer: 5, also: []string{"internal/piped"}, free: true},
	{pkg: "cmd/terraform-provider-sluice", layer: 5, also: []string{"internal/terraform"}, free: true},
	{pkg: "cmd/pulumi-resource-sluice", layer: 5, also: []string{"internal/pulumi"}, free: true},
}

// concernRow is the row of a concern of stages, a hosting or an access type, and what it may import of
// the others. Its tests run it in the engine.
func concernRow(name string, others ...string) layerRow {
	r := layerRow{pkg: "internal/stage/" + name, layer: 3, below: []int{2, 1, 0}, tests: []string{"internal/engine"}}
	for _, o := range others {
		r.also = append(r.also, "internal/stage/"+o)
	}
	if name == "rolling" || name == "bluegreen" {
		r.also = append(r.also, "internal/watch") // they follow what AWS deploys
	}
	return r
}

// simulatorTable has a row for each package of the simulator: resource state, controllers over it,
// services over their one controller, and the packages that connect them.
var simulatorTable = []layerRow{
	{pkg: "awssim/image", free: true},
	{pkg: "awssim/world", also: []string{"awssim/image"}},
	{pkg: "awssim/world/worldtest", also: []string{"awssim/world"}},
	{pkg: "awssim/fault", also: []string{"awssim/image", "awssim/world"}},

	controllerRow("scheduler"), controllerRow("loadbalancer"), controllerRow("cloudmap"), controllerRow("codedeployer"),
	controllerRow("autoscaler"),

	serviceRow("ecs", "scheduler"),
	serviceRow("elbv2", "loadbalancer"),
	serviceRow("servicediscovery", "cloudmap"),
	allowYAML(serviceRow("codedeploy", "codedeployer")), // AppSpec content
	serviceRow("applicationautoscaling", "autoscaler"),
	serviceRow("sts"), serviceRow("iam"), serviceRow("ec2"), serviceRow("cloudwatch"), serviceRow("cloudwatchlogs"),
	serviceRow("vpclattice"),
	// reads of what definitions name
	serviceRow("cloudformation"), serviceRow("ecr"), serviceRow("lambda"), serviceRow("s3"),
	serviceRow("secretsmanager"), serviceRow("ssm"),

	{pkg: "awssim/wire", also: []string{"awssim/world", "awssim/fault"}, libs: []string{sdk, smithy}, free: true},
	{pkg: "awssim/dataplane", also: []string{"awssim/world", "awssim/image", "awssim/fault", "awssim/loadbalancer",
		"awssim/cloudmap"},
		libs: []string{"github.com/miekg/dns"}, free: true},
	{pkg: "awssim/loadgen", also: []string{"awssim/world", "awssim/image", "awssim/loadbalancer", "awssim/cloudmap"},
		libs: []string{"github.com/HdrHistogram/hdrhistogram-go"}},
	{pkg: "awssim", also: []string{"awssim/..."}, libs: []string{sdk, smithy, yaml}, free: true},
	{pkg: "awssim/fidelity", libs: []string{sdk, smithy}, free: true}, // its tests run it against awssim
}

func controllerRow(name string) layerRow {
	return layerRow{pkg: "awssim/" + name, also: []string{"awssim/world", "awssim/image", "awssim/fault"}}
}

func serviceRow(name string, controllers ...string) layerRow {
	r := layerRow{pkg: "awssim/" + name, libs: []string{sdk, smithy},
		// wire: errors, paging, who calls
		also: []string{"awssim/world", "awssim/image", "awssim/fault", "awssim/wire"}}
	for _, l := range controllers {
		r.also = append(r.also, "awssim/"+l)
	}
	return r
}

func allowYAML(r layerRow) layerRow {
	r.libs = append(r.libs, yaml)
	return r
}

// namedArrows are arrows with a reason of their own; the first that fits is told.
var namedArrows = []struct{ from, to, why string }{
	{"awssim/...", "internal/...", "the simulator knows nothing of sluice, so that it cannot be bent to please it"},
	{"awssim/world", "awssim/...", "world imports the standard library and awssim/image only"},
	{"internal/account", "internal/...", "account is a hand and stands alone"},
	{"internal/...", "internal/account", "adapters do not import account"},
	{"internal/stage", "internal/journal", "a stage knows its host, not the journal"},
	{"internal/stage/task", "internal/journal", "a stage knows its host, not the journal"},
	{"internal/stage/memory", "internal/journal", "a stage knows its host, not the journal"},
	{"internal/watch", "internal/journal", "a stage knows its host, not the journal"},
	{"internal/survey", "internal/journal", "a survey reads AWS, not the journal"},
	{"internal/...", "awssim/...", "only cli/local and rehearse import awssim"},
	{"cmd/...", "...", "a command is main only, and imports its one front end"},
}

// commands may not carry these modules into their binary, however indirectly.
var commands = []struct {
	cmd   string
	never []string
	but   []string
}{
	{cmd: "cmd/sluice", never: []string{"github.com/pulumi/", "github.com/pipe-cd/", "google.golang.org/grpc",
		"github.com/hashicorp/"}, but: []string{"github.com/hashicorp/go-envparse"}},
	{cmd: "cmd/terraform-provider-sluice", never: []string{"github.com/pulumi/", "github.com/pipe-cd/", "charm.land/",
		"github.com/spf13/cobra", "modernc.org/sqlite", "github.com/hashicorp/terraform-plugin-testing"}},
	{cmd: "cmd/piped-plugin-sluice", never: []string{"github.com/pulumi/", "github.com/pipe-cd/", "charm.land/",
		"github.com/spf13/cobra", "modernc.org/sqlite"}},
	{cmd: "cmd/pulumi-resource-sluice", never: []string{"github.com/pulumi/", "github.com/pipe-cd/", "charm.land/",
		"github.com/spf13/cobra", "modernc.org/sqlite"},
		but: []string{"github.com/pulumi/pulumi/sdk/v3/proto/go"}},
}

// forbiddenNames say nothing about what a package is for.
var forbiddenNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "types", "base", "misc",
	"shared"}

// forbiddenImports bring time, chance or goroutines of their own.
var forbiddenImports = []string{"math/rand", "math/rand/v2", "crypto/rand", "golang.org/x/sync/errgroup"}

// forbiddenCalls likewise, by import path.
var forbiddenCalls = map[string][]string{
	"time": {"Now", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick", "Since",
		"Until"},
	"context":                  {"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause", "AfterFunc"},
	"github.com/google/uuid":   {"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7"},
	"github.com/oklog/ulid/v2": {"Make", "Now", "MustNew", "DefaultEntropy"},
}

// pureCalls may initialise a package-level variable: their results do not
// change, and nothing is read to make them.
var pureCalls = map[string][]string{
	"errors":  {"New"},
	"fmt":     {"Errorf"},
	"regexp":  {"MustCompile"},
	"strings": {"NewReplacer"},
	"reflect": {"TypeOf", "TypeFor"},
	"time":    {"Duration", "Month"},
}

// statefulTypes are never a table, even when written as a literal.
var statefulTypes = []string{"sync", "sync/atomic"}

// clientMaker alone builds SDK clients, because every client passes its gate.
const clientMaker = "internal/account"

// clientParts are the SDK packages that only clientMaker needs.
var clientParts = []string{sdk + "config", sdk + "credentials", sdk + "aws/retry", sdk + "aws/middleware"}

// knownAccounts may stand in an ARN.
var knownAccounts = []string{"000000000000", "123456789012"}
