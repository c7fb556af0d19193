package shape

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// Surroundings are the resources that definitions name, besides the service with its cluster, its load balancers and its
// names. They are keys of a world file. A local AWS that is built from files has all that `sluice verify` requires, so
// that a rehearsal does not fail by what only AWS has.
type Surroundings struct {
	LogGroups      []string     `json:"logGroups,omitempty"`
	SecurityGroups []string     `json:"securityGroups,omitempty"`
	Alarms         []string     `json:"alarms,omitempty"`
	Functions      []Function   `json:"functions,omitempty"`
	Principals     []Role       `json:"principals,omitempty"`
	Secrets        []Secret     `json:"secrets,omitempty"`
	Parameters     []Parameter  `json:"parameters,omitempty"`
	Repositories   []Repository `json:"repositories,omitempty"`
	Buckets        []Bucket     `json:"buckets,omitempty"`
}

// Function is a Lambda function that a hook calls. Without a result it succeeds.
type Function struct {
	Name   string `json:"name"`
	Result string `json:"result,omitempty"` // of those that no file names
	After  string `json:"after,omitempty"`
}

// Role is a role of IAM.
type Role struct {
	ARN    string   `json:"arn"`
	Trusts []string `json:"trusts"`
}

// Secret is a secret of Secrets Manager.
type Secret struct {
	Name  string `json:"name"`
	ARN   string `json:"arn,omitempty"`
	Value string `json:"value"`
}

// Parameter is a parameter of Systems Manager.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Repository is a repository of ECR.
type Repository struct {
	Name   string  `json:"name"`
	Images []Image `json:"images"`
}

// Image is an image of a repository.
type Image struct {
	Tag       string   `json:"tag"`
	Platforms []string `json:"platforms"`
}

// Bucket is a bucket of S3 with its objects, texts by key.
type Bucket struct {
	Name    string            `json:"name"`
	Objects map[string]string `json:"objects"`
}

// standInValue is the value of secrets and parameters: files do not have it.
const standInValue = "not-the-real-value"

// AddApplication adds what the files of an application name. Resources of other accounts and Regions are not added: the
// world has one of each.
func (s *Surroundings) AddApplication(app *appfile.Application, account, region string) {
	if app.Service != nil {
		s.AddService(app.Service.Input, account)
	}
	s.AddTask(app.Task.Input, account, region)
	for _, step := range slices.Concat(app.Before, app.After) {
		if step.Task != nil {
			s.AddTask(step.Task.Input, account, region)
		}
	}
	for _, h := range app.Hooks {
		s.addFunction(h.Function)
	}
	s.SecurityGroups = appendNew(s.SecurityGroups, app.Standalone.SecurityGroups...)
}

// AddTask adds what a task definition names.
func (s *Surroundings) AddTask(in *awsecs.RegisterTaskDefinitionInput, account, region string) {
	for _, role := range verify.TaskRoles(in) {
		s.addRole(role, account)
	}
	for _, g := range definition.LogGroups(in.ContainerDefinitions, region) {
		if g.Region == region {
			s.LogGroups = appendNew(s.LogGroups, g.Name)
		}
	}
	for _, x := range verify.Secrets(in.ContainerDefinitions) {
		if ref, err := verify.ParseSecret(x.ValueFrom); err == nil && (ref.Region == "" || ref.Region == region) {
			s.addSecret(ref)
		}
	}
	for _, file := range verify.EnvironmentFiles(in.ContainerDefinitions) {
		if bucket, key, ok := verify.ObjectOf(file); ok {
			s.addObject(bucket, key)
		}
	}
	for _, c := range in.ContainerDefinitions {
		image, err := definition.ParseImage(aws.ToString(c.Image))
		if err == nil && image.Account == account && image.Region == region && image.Digest == "" {
			s.addImage(image.Repository, Image{Tag: image.Tag, Platforms: []string{verify.Platform(in)}})
		}
	}
}

// AddService adds what a service definition names.
func (s *Surroundings) AddService(in *awsecs.CreateServiceInput, account string) {
	for _, role := range verify.ServiceRoles(in) {
		s.addRole(role, account)
	}
	for _, f := range verify.HookFunctions(in) {
		s.addFunction(f)
	}
	s.Alarms = appendNew(s.Alarms, verify.AlarmNames(in)...)
	if n := in.NetworkConfiguration; n != nil && n.AwsvpcConfiguration != nil {
		s.SecurityGroups = appendNew(s.SecurityGroups, n.AwsvpcConfiguration.SecurityGroups...)
	}
}

func (s *Surroundings) addRole(role verify.Role, account string) {
	if _, of, ok := sluice.ARNPlace(role.ARN); !ok || of != account {
		return
	}
	r := findOrAdd(&s.Principals, Role{ARN: role.ARN}, func(r Role) string { return r.ARN })
	r.Trusts = appendNew(r.Trusts, role.Trusts)
}

// findOrAdd returns the element of a list with the name of x. If there is none, it appends x.
func findOrAdd[T any](all *[]T, x T, name func(T) string) *T {
	i := slices.IndexFunc(*all, func(y T) bool { return name(y) == name(x) })
	if i < 0 {
		i, *all = len(*all), append(*all, x)
	}
	return &(*all)[i]
}

// addFunction adds a function by its name or ARN, with a qualifier or without.
func (s *Surroundings) addFunction(function string) {
	if _, name, ok := strings.Cut(function, ":function:"); ok {
		function = name
	}
	name, _, _ := strings.Cut(function, ":")
	findOrAdd(&s.Functions, Function{Name: name, After: "3s"}, func(f Function) string { return f.Name })
}

// addSecret adds a secret or a parameter. A secret of which containers get JSON keys has these keys.
func (s *Surroundings) addSecret(ref verify.SecretRef) {
	if ref.IsParameter {
		name := ref.ID
		if _, path, ok := strings.Cut(ref.ID, ":parameter/"); ok {
			if name = path; strings.Contains(path, "/") {
				name = "/" + path
			}
		}
		findOrAdd(&s.Parameters, Parameter{name, standInValue}, func(p Parameter) string { return p.Name })
		return
	}
	secret := Secret{Name: ref.ID, Value: standInValue}
	if _, name, ok := strings.Cut(ref.ID, ":secret:"); ok {
		if secret.Name = name; hasRandomPart(name) {
			secret.Name, secret.ARN = name[:len(name)-randomPart], ref.ID
		}
	}
	x := findOrAdd(&s.Secrets, secret, func(x Secret) string { return x.Name })
	if ref.Key != "" {
		x.Value = withKey(x.Value, ref.Key)
	}
}

// randomPart is the length of what Secrets Manager adds to the name of a secret in its ARN: "-AbCdEf".
const randomPart = 7

func hasRandomPart(name string) bool {
	return len(name) > randomPart && name[len(name)-randomPart] == '-'
}

// withKey returns a JSON object with one key more.
func withKey(value, key string) string {
	members := map[string]string{}
	_ = json.Unmarshal([]byte(value), &members) // a text that is no object has no other keys
	members[key] = standInValue
	text, _ := json.Marshal(members)
	return string(text)
}

func (s *Surroundings) addObject(bucket, key string) {
	b := findOrAdd(&s.Buckets, Bucket{Name: bucket, Objects: map[string]string{}}, func(b Bucket) string { return b.Name })
	b.Objects[key] = ""
}

func (s *Surroundings) addImage(repository string, image Image) {
	r := findOrAdd(&s.Repositories, Repository{Name: repository}, func(r Repository) string { return r.Name })
	findOrAdd(&r.Images, image, func(x Image) string { return x.Tag })
}

func appendNew(all []string, more ...string) []string {
	for _, x := range more {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}
