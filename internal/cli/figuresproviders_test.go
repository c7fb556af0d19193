package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// maxProviderMB is the promised size of a provider.
const maxProviderMB = 25

// providerFigures are the figures of the providers for Pulumi and Terraform.
func providerFigures() []figure {
	return []figure{
		{"Pulumi provider: first answer after start", "< 200 ms",
			startFigure("./internal/pulumi", "TestStartAndSize", `start: (\S+) to the first answer`)},
		{"Terraform provider: ready for terraform after start", "< 200 ms",
			startFigure("./internal/terraform", "TestBinaryStartsFastAndIsSmall", `start: (\S+) until terraform`)},
		{"Pulumi provider: the largest binary of six platforms", "< 25 MB", largestBinary("pulumi-resource-sluice")},
		{"Terraform provider: the largest binary of six platforms", "< 25 MB",
			largestBinary("terraform-provider-sluice")},
		{"modules of Pulumi, Terraform and gRPC in the binary of sluice", "none", providerModules},
		{"wait of the providers: known after AWS's end, for sluice wait on the same deployments", "≤ 1.5 times", providerLag},
	}
}

// startFigure takes the time of a start from the log of a test.
func startFigure(pkg, name, pattern string) func(*testing.T) result {
	return func(t *testing.T) result {
		took, err := time.ParseDuration(found(goTest(t, pkg, name), pattern))
		if err != nil {
			t.Fatal(err)
		}
		return most(ms(took), 200, "ms")
	}
}

// largestBinary builds a provider as `make build` does, for each platform of the Makefile.
func largestBinary(name string) func(*testing.T) result {
	return func(t *testing.T) result {
		makefile, err := os.ReadFile("../../Makefile")
		if err != nil {
			t.Fatal(err)
		}
		largest, of := 0.0, ""
		for _, platform := range strings.Fields(found(string(makefile), `(?m)^PLATFORMS += (.*)$`)) {
			system, processor, _ := strings.Cut(platform, "/")
			into := filepath.Join(t.TempDir(), name)
			c := exec.Command("go", "build", "-tags", "grpcnotrace", "-ldflags=-s -w", "-o", into, "./cmd/"+name)
			c.Dir, c.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			info, err := os.Stat(into)
			if err != nil {
				t.Fatal(err)
			}
			if mb := float64(info.Size()) / 1e6; mb > largest {
				largest, of = mb, platform
			}
		}
		r := most(largest, maxProviderMB, "MB, "+of)
		r.met = r.met && largest > 0
		return r
	}
}

// providerModule matches a module that only a provider needs.
var providerModule = regexp.MustCompile(
	`(?m)^\s+dep\s+(github\.com/pulumi/|github\.com/hashicorp/(go-plugin|terraform)|google\.golang\.org/grpc\s)`)

// providerModules counts the modules of providers in the binary of sluice.
func providerModules(t *testing.T) result {
	out, err := exec.Command("go", "version", "-m", built(t)).Output()
	if err != nil || !strings.Contains(string(out), "\tdep\t") {
		t.Fatalf("%v\n%s", err, out)
	}
	n := len(providerModule.FindAllString(string(out), -1))
	return result{fmt.Sprintf("%d of %d", n, strings.Count(string(out), "\tdep\t")), 0, n == 0}
}

// providerLag compares the wait of the providers with `sluice wait` on the same deployments, in virtual time.
func providerLag(t *testing.T) result {
	out := goTest(t, "./internal/watch", "TestJudgeKnowsTheEndWhenWaitDoes")
	judge, err := time.ParseDuration(found(out, `median: judge (\S+),`))
	wait, err2 := time.ParseDuration(found(out, `median: judge \S+, wait (\S+)`))
	if err != nil || err2 != nil || wait <= 0 {
		t.Fatalf("%v %v\n%s", err, err2, out)
	}
	times := judge.Seconds() / wait.Seconds()
	return result{fmt.Sprintf("%.2f times: %.2f s for %.2f s", times, judge.Seconds(), wait.Seconds()), 0, times <= 1.5}
}
