package terraform

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// needTerraform returns the path of the terraform program. Without it, the test is skipped.
func needTerraform(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		var err error
		if path, err = exec.LookPath("terraform"); err != nil {
			t.Skip("terraform is not on PATH: the tests through the plugin protocol run without it")
		}
	}
	config := filepath.Join(t.TempDir(), "terraform.rc")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"TF_ACC": "1", "TF_ACC_TERRAFORM_PATH": path,
		"TF_CLI_CONFIG_FILE": config, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"} {
		t.Setenv(name, value)
	}
	return path
}

// testCase runs steps with the provider and the stand-in for "aws", both in this process.
func (b *bed) testCase(steps ...resource.TestStep) {
	resource.Test(b.T, resource.TestCase{Steps: steps,
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"sluice": providerserver.NewProtocol6WithError(New("test")),
			"aws":    providerserver.NewProtocol6WithError(b.aws),
		},
		CheckDestroy: func(*terraform.State) error {
			out, err := b.aws.ecs.DescribeServices(b.Context(),
				&awsecs.DescribeServicesInput{Cluster: new("prod"), Services: []string{"shop"}})
			if err != nil || len(out.Services) == 1 && *out.Services[0].Status == "ACTIVE" {
				return fmt.Errorf("the service is still there: %w", err)
			}
			return nil
		}})
}

// shop is a configuration of a service with an image, and a wait for it.
func (b *bed) shop(image string) string {
	return fmt.Sprintf(`
provider "aws" {}
provider "sluice" { endpoint = %q }
resource "aws_ecs_task_definition" "shop" {
  family                   = "shop"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 256
  memory                   = 512
  container_definitions    = jsonencode([{ name = "shop", image = %q, portMappings = [{ containerPort = 80 }] }])
}
resource "aws_ecs_service" "shop" {
  name            = "shop"
  cluster         = "prod"
  task_definition = aws_ecs_task_definition.shop.arn
  desired_count   = 2
  network_configuration { subnets = ["subnet-0123456789abcdef0"] }
  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }
}
resource "sluice_wait" "shop" {
  cluster         = "prod"
  service         = aws_ecs_service.shop.name
  task_definition = aws_ecs_task_definition.shop.arn
}
`, b.url, image)
}

func planned(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction("sluice_wait.shop", action)}}
}

func outcome(is string) resource.TestCheckFunc {
	return resource.TestCheckResourceAttr("sluice_wait.shop", "outcome", is)
}

// TestAccUpdates creates, fails to update, fails again, recovers and destroys. After
// each apply, the framework checks that another plan is empty.
func TestAccUpdates(t *testing.T) {
	needTerraform(t)
	b := newBed(t, "rolling")
	b.testCase(
		resource.TestStep{Config: b.shop("sim/web:v1"), Check: outcome("succeeded"),
			ConfigPlanChecks: planned(plancheck.ResourceActionCreate)},
		resource.TestStep{Config: b.shop(crashes), ExpectError: regexp.MustCompile(`prod/shop: rolled back`)},
		resource.TestStep{Config: b.shop(crashes), ExpectError: regexp.MustCompile(`prod/shop: rolled back`),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate)},
		resource.TestStep{Config: b.shop("sim/web:v3"), Check: outcome("succeeded"),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate)},
	)
}

// TestAccFailedCreate: a failed create is tainted, so the next apply replaces the resource, which
// forgets it and waits again.
func TestAccFailedCreate(t *testing.T) {
	needTerraform(t)
	b := newBed(t, "rolling")
	b.testCase(
		resource.TestStep{Config: b.shop(crashes), ExpectError: regexp.MustCompile(`prod/shop: failed`)},
		resource.TestStep{Config: b.shop("sim/web:v2"), Check: outcome("succeeded"),
			ConfigPlanChecks: planned(plancheck.ResourceActionDestroyBeforeCreate)},
	)
}

// weighted is a configuration of a rule with live weights.
func (b *bed) weighted(path string) string {
	return fmt.Sprintf(`
provider "aws" {}
provider "sluice" { endpoint = %q }
data "sluice_live_weights" "shop" {
  listener_arn    = %[2]q
  priority        = 10
  initial_weights = { %[3]q = 100, %[4]q = 0 }
}
resource "aws_lb_listener_rule" "shop" {
  listener_arn = %[2]q
  priority     = 10
  condition {
    path_pattern { values = [%[5]q] }
  }
  action {
    type = "forward"
    forward {
      dynamic "target_group" {
        for_each = data.sluice_live_weights.shop.forward[0].target_group
        content {
          arn    = target_group.value.arn
          weight = target_group.value.weight
        }
      }
    }
  }
}
`, b.url, listenerARN, stableARN, canaryARN, path)
}

// TestAccLiveWeights: an apply during a release keeps its weights, also if it changes the rule.
func TestAccLiveWeights(t *testing.T) {
	needTerraform(t)
	b := newBed(t, "canary")
	expect := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := b.weights(); got != want {
				return errors.New("weights " + got + ", want " + want)
			}
			return nil
		}
	}
	const running = `{"web-canary":20,"web-primary":80}`
	b.testCase(
		resource.TestStep{Config: b.weighted("/shop/*"), Check: expect(`{"web-canary":0,"web-primary":100}`)},
		resource.TestStep{PreConfig: func() { b.shift(map[string]int32{stableARN: 80, canaryARN: 20}) },
			Config: b.weighted("/shop/*"), Check: expect(running)},
		resource.TestStep{Config: b.weighted("/store/*"), Check: resource.ComposeTestCheckFunc(expect(running),
			func(*terraform.State) error {
				if got := b.rule().Conditions[0].PathPatternConfig.Values; strings.Join(got, "") != "/store/*" {
					return fmt.Errorf("path %v", got)
				}
				return nil
			})},
	)
}
