package definition

import (
	"slices"
	"testing"
)

func TestShapesOfAService(t *testing.T) {
	want := []string{"cluster", "desiredCount", "enableExecuteCommand", "role", "serviceName"}
	for name, file := range map[string]string{
		"request":   "serviceName: web\ncluster: main\nrole: ecs\ndesiredCount: 0\nenableExecuteCommand: false\n",
		"aliases":   "serviceName: web\nclusterArn: main\nroleArn: ecs\ndesiredCount: 0\nenableExecuteCommand: false\n",
		"any case":  "ServiceName: web\nCLUSTER: main\nRolearn: ecs\nDesiredCount: 0\nEnableExecuteCommand: false\n",
		"described": `{"services": [{"serviceName": "web", "clusterArn": "main", "roleArn": "ecs", "desiredCount": 0, "enableExecuteCommand": false, "runningCount": 3, "events": [{"id": 1}], "status": "ACTIVE"}], "failures": []}`,
		"answered":  `{"service": {"serviceName": "web", "clusterArn": "main", "roleArn": "ecs", "desiredCount": 0, "enableExecuteCommand": false, "createdAt": 1.5}}`,
		"nothing": "serviceName: web\ncluster: main\nrole: ecs\ndesiredCount: 0\nenableExecuteCommand: " +
			"false\nlaunchType:\nschedulingStrategy: \"\"\npropagateTags: null\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeService("f", []byte(file))
			if err != nil {
				t.Fatal(err)
			}
			if given := sortedKeys(got.Given); !slices.Equal(given, want) {
				t.Errorf("given %v, want %v", given, want)
			}
			if got.Input.DesiredCount == nil || *got.Input.DesiredCount != 0 {
				t.Errorf("desired count %v, want 0", got.Input.DesiredCount)
			}
			if *got.Input.Cluster != "main" || *got.Input.Role != "ecs" {
				t.Errorf("cluster %q, role %q", *got.Input.Cluster, *got.Input.Role)
			}
		})
	}
}

func TestNoDesiredCountIsNone(t *testing.T) {
	got, err := DecodeService("f", []byte("serviceName: web\nrole: ''\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Input.DesiredCount != nil || got.Given["desiredCount"] || got.Input.Role != nil {
		t.Fatalf("%+v", got)
	}
}

func TestShapesOfATask(t *testing.T) {
	for name, file := range map[string]string{
		"request": "family: web\ncpu: 256\nmemory: '512'\ncontainerDefinitions:\n- {name: web, image: x}\ntags: " +
			"[{key: a, value: b}]\n",
		"empty": "family: web\ncpu: 256\nmemory: '512'\npidMode: \"\"\nvolumes: []\ncontainerDefinitions:\n- " +
			"{name: web, image: x, command: null, mountPoints: []}\ntags: [{key: a, value: b}]\n",
		"described": `{"taskDefinition": {"family": "web", "cpu": "256", "memory": "512", "containerDefinitions": [{"name": "web", "image": "x", "mountPoints": []}], "revision": 3, "status": "ACTIVE", "registeredAt": 1700000000.5}, "tags": [{"key": "a", "value": "b"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeTask("f", []byte(file))
			if err != nil {
				t.Fatal(err)
			}
			in := got.Input
			if *in.Cpu != "256" || *in.Memory != "512" || *in.ContainerDefinitions[0].Image != "x" ||
				len(in.Tags) != 1 {
				t.Fatalf("%+v", in)
			}
		})
	}
}

func TestAnchorsAndMergesResolve(t *testing.T) {
	const file = `
family: web
containerDefinitions:
- &web
  name: web
  image: x
  cpu: 10
- <<: *web
  name: side
`
	got, err := DecodeTask("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	side := got.Input.ContainerDefinitions[1]
	if *side.Name != "side" || *side.Image != "x" || side.Cpu != 10 {
		t.Fatalf("%+v", side)
	}
}

// What only the PRIMARY deployment of a described service tells is taken from
// it.
func TestServiceConnectOfADescribedService(t *testing.T) {
	got, err := DecodeService("f", []byte(`{"serviceName": "web", "deployments": [
		{"status": "ACTIVE", "serviceConnectConfiguration": {"enabled": false}},
		{"status": "PRIMARY", "serviceConnectConfiguration": {"enabled": true, "namespace": "n"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Input.ServiceConnectConfiguration; c == nil || !c.Enabled || *c.Namespace != "n" ||
		!got.Given["serviceConnectConfiguration"] {
		t.Fatalf("%+v", got)
	}
}

// A template of another tool is found by its functions. Text that only looks alike is a value.
func TestTemplatesOfToolsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"image: web:{{ must_env `TAG` }}":        12,
		`"image": "{{env "TAG" "latest"}}"`:      11,
		"x: {{- ssm `/a` -}}":                    4,
		`tag: "{{.Name}}/{{.ID}}"`:               0,
		"greeting: Hello {{ name }}":             0,
		"a: {{ environment }}":                   0,
		"# image: {{ must_env `TAG` }}":          0,
		"image: x # was {{ must_env `TAG` }}":    0,
		"image: x:#{{ must_env `TAG` }}":         11,
		"é: {{ tfstate `aws_subnet.a.id` }}":     4,
		"a: '{{ .Values.x }} {{ env \"HOME\" }}": 21,
	} {
		if got, _ := findFunction(text); got != want {
			t.Errorf("%s: column %d, want %d", text, got, want)
		}
	}
}
