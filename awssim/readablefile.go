package awssim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/cloudformation"
	"github.com/sluice-ecs/sluice/awssim/ecr"
	"github.com/sluice-ecs/sluice/awssim/s3"
	"github.com/sluice-ecs/sluice/awssim/secretsmanager"
	"github.com/sluice-ecs/sluice/awssim/ssm"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// secretFile is a secret of Secrets Manager.
type secretFile struct {
	Name  string `yaml:"name"`
	ARN   string `yaml:"arn"`   // with six characters at its end, which AWS chooses
	Value string `yaml:"value"` // its text; absent: the secret has no value
}

// parameterFile is a parameter of Systems Manager.
type parameterFile struct {
	Name  string `yaml:"name"`
	Type  string `yaml:"type"` // String, the default, StringList or SecureString
	Value string `yaml:"value"`
}

// repositoryFile is a repository of ECR.
type repositoryFile struct {
	Name   string         `yaml:"name"`
	Images []ecrImageFile `yaml:"images"`
}

// ecrImageFile is an image of a repository.
type ecrImageFile struct {
	Tag       string   `yaml:"tag"`
	Platforms []string `yaml:"platforms"` // such as linux/arm64; the default is linux/amd64
	// Moved says that the tag has moved to another image since the tasks of the services started.
	Moved bool `yaml:"moved"`
}

// bucketFile is a bucket of S3.
type bucketFile struct {
	Name    string            `yaml:"name"`
	Objects map[string]string `yaml:"objects"` // texts by key
}

// stackFile is a stack of CloudFormation.
type stackFile struct {
	Name    string            `yaml:"name"`
	Outputs map[string]string `yaml:"outputs"` // values by key
	Exports map[string]string `yaml:"exports"` // values by the name of the export
}

// checkReadable refuses what the APIs that only return their resources cannot hold.
func (f *worldFile) checkReadable() error {
	for i, r := range f.Repositories {
		if r.Name == "" {
			return invalidAt(fmt.Sprintf("repositories[%d]", i), "name is missing")
		}
		for j, x := range r.Images {
			at := fmt.Sprintf("repositories[%d].images[%d]", i, j)
			if x.Tag == "" {
				return invalidAt(at, "tag is missing")
			}
			for _, p := range x.Platforms {
				if strings.Count(p, "/") != 1 {
					return invalidAt(at+".platforms", "%q is not a platform such as linux/amd64", p)
				}
			}
		}
	}
	for i, b := range f.Buckets {
		if b.Name == "" || strings.Contains(b.Name, "/") {
			return invalidAt(fmt.Sprintf("buckets[%d]", i), "%q is not the name of a bucket", b.Name)
		}
	}
	for i, s := range f.Stacks {
		if s.Name == "" {
			return invalidAt(fmt.Sprintf("stacks[%d]", i), "name is missing")
		}
	}
	return nil
}

// addReadable adds secrets, parameters, buckets and stacks.
func (l *worldBuilder) addReadable() error {
	secrets, parameters := secretsmanager.New(l.world), ssm.New(l.world)
	for i, x := range l.file.Secrets {
		_, err := secrets.CreateSecret(l.ctx,
			&secretsmanager.CreateSecretInput{Name: x.Name, ARN: x.ARN, SecretString: x.Value})
		if err != nil {
			return withPath(fmt.Sprintf("secrets[%d]", i), err)
		}
	}
	for i, x := range l.file.Parameters {
		_, err := parameters.PutParameter(l.ctx,
			&ssm.PutParameterInput{Name: x.Name, Type: cmp.Or(x.Type, "String"), Value: x.Value})
		if err != nil {
			return withPath(fmt.Sprintf("parameters[%d]", i), err)
		}
	}
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		l.file.addToStep(tx)
		return nil
	})
}

// addRepositories adds the repositories before the services, whose tasks resolve the tags.
func (l *worldBuilder) addRepositories() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		for _, r := range l.file.Repositories {
			ecr.AddRepository(tx, r.Name)
			for _, x := range r.Images {
				ecr.AddImage(tx, r.Name, x.Tag, x.platforms())
			}
		}
		return nil
	})
}

// moveTags moves the tags that the file says have moved.
func (l *worldBuilder) moveTags() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		for _, r := range l.file.Repositories {
			for _, x := range r.Images {
				if x.Moved {
					ecr.AddImage(tx, r.Name, x.Tag, x.platforms())
				}
			}
		}
		return nil
	})
}

func (x ecrImageFile) platforms() []string {
	if len(x.Platforms) == 0 {
		return []string{"linux/amd64"}
	}
	return x.Platforms
}

func (f *worldFile) addToStep(tx *world.Tx) {
	for _, b := range f.Buckets {
		s3.AddObject(tx, b.Name, "", "")
		for _, key := range slices.Sorted(maps.Keys(b.Objects)) {
			s3.AddObject(tx, b.Name, key, b.Objects[key])
		}
	}
	for _, s := range f.Stacks {
		var outputs []cloudformation.Output
		for _, key := range slices.Sorted(maps.Keys(s.Outputs)) {
			outputs = append(outputs, cloudformation.Output{OutputKey: key, OutputValue: s.Outputs[key]})
		}
		for i, name := range slices.Sorted(maps.Keys(s.Exports)) {
			outputs = append(outputs, cloudformation.Output{OutputKey: fmt.Sprintf("Export%d", i+1),
				OutputValue: s.Exports[name], ExportName: name})
		}
		cloudformation.AddStack(tx, s.Name, outputs)
	}
}
