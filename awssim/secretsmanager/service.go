// Package secretsmanager implements the part of the API of AWS Secrets Manager that definitions and lookups
// need: secrets are created, written and read. Containers do not read them.
//
// Its inputs and outputs are small structs of its own. Their members have the names of the API Reference.
//
// Start reading at [NewAPI], then [Service.GetSecretValue].
package secretsmanager

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// current is the stage of the newest version of a secret.
const current = "AWSCURRENT"

// Service implements the API of Secrets Manager.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "secretsmanager", ServiceID: "Secrets Manager", Protocol: wire.JSON11, Target: "secretsmanager",
		Service: New(w),
		Known: []string{"BatchGetSecretValue", "DeleteSecret", "GetRandomPassword", "ListSecrets", "RotateSecret",
			"TagResource", "UpdateSecret"},
	}
}

// state holds the secrets of a Region.
type state struct{ secrets world.Ordered[*storedSecret] } // by name

type storedSecret struct {
	arn, name, text, version string
	created, changed         time.Time
}

// find returns a secret by its name, its ARN, or its ARN without the six random characters (API reference,
// GetSecretValue).
func (s *state) find(id string) (*storedSecret, error) {
	for _, x := range s.secrets.Values() {
		if id == x.name || id == x.arn || id == x.arn[:len(x.arn)-len("-XXXXXX")] {
			return x, nil
		}
	}
	return nil, world.Refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
}

func (s *Service) runStep(ctx context.Context, f func(tx *world.Tx, of *state) error) error {
	return s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		return f(tx, world.PrivateState[state](tx.Region, "secretsmanager"))
	})
}

// CreateSecretInput is the input of CreateSecret. ARN is no member of AWS: a world file pins it.
type CreateSecretInput struct{ Name, SecretString, ARN string }

// CreateSecretOutput is the output of CreateSecret and PutSecretValue.
type CreateSecretOutput struct{ ARN, Name, VersionId string }

// CreateSecret creates a secret.
func (s *Service) CreateSecret(ctx context.Context, in *CreateSecretInput) (out *CreateSecretOutput, err error) {
	err = s.runStep(ctx, func(tx *world.Tx, of *state) error {
		if in.Name == "" {
			return world.Refuse("InvalidParameterException", "You must provide a value for the Name parameter.")
		}
		if _, exists := of.secrets.Get(in.Name); exists {
			return world.Refuse("ResourceExistsException",
				"The operation failed because the secret %s already exists.", in.Name)
		}
		x := &storedSecret{arn: in.ARN, name: in.Name, created: tx.Now()}
		if x.arn == "" {
			x.arn = tx.ARN("secretsmanager", "secret:"+in.Name+"-"+tx.NewHex("secret", 6))
		}
		if in.SecretString != "" {
			x.setText(tx, in.SecretString)
		}
		of.secrets.Put(in.Name, x)
		out = &CreateSecretOutput{ARN: x.arn, Name: x.name, VersionId: x.version}
		return nil
	})
	return out, err
}

func (x *storedSecret) setText(tx *world.Tx, text string) {
	x.text, x.version, x.changed = text, tx.NewUUID("secret version"), tx.Now()
}

// PutSecretValueInput is the input of PutSecretValue.
type PutSecretValueInput struct{ SecretId, SecretString string }

// PutSecretValue adds a version to a secret.
func (s *Service) PutSecretValue(ctx context.Context, in *PutSecretValueInput) (out *CreateSecretOutput, err error) {
	err = s.runStep(ctx, func(tx *world.Tx, of *state) error {
		x, err := of.find(in.SecretId)
		if err != nil {
			return err
		}
		if in.SecretString == "" {
			return world.Refuse("InvalidRequestException", "You must provide either SecretString or SecretBinary.")
		}
		x.setText(tx, in.SecretString)
		out = &CreateSecretOutput{ARN: x.arn, Name: x.name, VersionId: x.version}
		return nil
	})
	return out, err
}

// GetSecretValueInput is the input of GetSecretValue.
type GetSecretValueInput struct{ SecretId, VersionId, VersionStage string }

// GetSecretValueOutput is the output of GetSecretValue.
type GetSecretValueOutput struct {
	ARN, Name, VersionId, SecretString string
	VersionStages                      []string
	CreatedDate                        time.Time
}

// GetSecretValue returns the current value of a secret. There is no other version.
func (s *Service) GetSecretValue(ctx context.Context, in *GetSecretValueInput) (out *GetSecretValueOutput, err error) {
	err = s.runStep(ctx, func(_ *world.Tx, of *state) error {
		x, err := of.find(in.SecretId)
		if err != nil {
			return err
		}
		wrongStage := in.VersionStage != "" && in.VersionStage != current
		if x.version == "" || wrongStage || in.VersionId != "" && in.VersionId != x.version {
			wanted := "staging label: " + current
			switch {
			case in.VersionId != "":
				wanted = "VersionId: " + in.VersionId
			case wrongStage:
				wanted = "staging label: " + in.VersionStage
			}
			return world.Refuse("ResourceNotFoundException",
				"Secrets Manager can't find the specified secret value for %s", wanted)
		}
		out = &GetSecretValueOutput{ARN: x.arn, Name: x.name, VersionId: x.version, SecretString: x.text,
			VersionStages: []string{current}, CreatedDate: x.changed}
		return nil
	})
	return out, err
}

// DescribeSecretInput is the input of DescribeSecret.
type DescribeSecretInput struct{ SecretId string }

// DescribeSecretOutput is the output of DescribeSecret.
type DescribeSecretOutput struct {
	ARN, Name                    string
	CreatedDate, LastChangedDate time.Time
	VersionIdsToStages           map[string][]string
}

// DescribeSecret returns a secret without its value.
func (s *Service) DescribeSecret(ctx context.Context, in *DescribeSecretInput) (out *DescribeSecretOutput, err error) {
	err = s.runStep(ctx, func(_ *world.Tx, of *state) error {
		x, err := of.find(in.SecretId)
		if err != nil {
			return err
		}
		out = &DescribeSecretOutput{ARN: x.arn, Name: x.name, CreatedDate: x.created, LastChangedDate: x.changed}
		if x.version != "" {
			out.VersionIdsToStages = map[string][]string{x.version: {current}}
		}
		return nil
	})
	return out, err
}
