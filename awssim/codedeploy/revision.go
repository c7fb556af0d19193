package codedeploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// revision is AppSpec content that was deployed. Its hash identifies it.
type revision struct {
	name                            codedeployer.Revision
	content                         string
	groups                          []string
	registered, firstUsed, lastUsed time.Time
}

// readRevision checks a revision and reads its AppSpec.
func readRevision(r *cdtypes.RevisionLocation) (name codedeployer.Revision, content string, spec codedeployer.Spec,
	err error) {
	if r == nil {
		return name, "", spec, world.Refuse("RevisionRequiredException", "Revision is required")
	}
	var given *string
	switch {
	case r.RevisionType == cdtypes.RevisionLocationTypeAppSpecContent && r.AppSpecContent != nil:
		content, given = val(r.AppSpecContent.Content), r.AppSpecContent.Sha256
	case r.RevisionType == cdtypes.RevisionLocationTypeString && r.String_ != nil:
		content, given = val(r.String_.Content), r.String_.Sha256
	case r.RevisionType == cdtypes.RevisionLocationTypeS3 || r.RevisionType == cdtypes.RevisionLocationTypeGitHub:
		return name, "", spec, badRevision("Revisions in %s: not simulated.", r.RevisionType)
	default:
		return name, "", spec, badRevision("The revision's type and content do not agree")
	}
	if strings.TrimSpace(content) == "" {
		return name, "", spec, badRevision("The content of the AppSpec file is empty")
	}
	sum := sha256.Sum256([]byte(content))
	name = codedeployer.Revision{Kind: string(r.RevisionType), SHA256: hex.EncodeToString(sum[:])}
	if given != nil && *given != name.SHA256 {
		return name, "", spec, badRevision("The SHA256 hash of the AppSpec content is %s, not %s", name.SHA256, *given)
	}
	spec, err = readAppSpec(content)
	return name, content, spec, err
}

// addRevision stores a deployed revision.
func addRevision(tx *world.Tx, g *codedeployer.Group, name codedeployer.Revision, content string) {
	all, key := &stateOf(tx).revisions, g.Application.Name+" "+name.SHA256
	r, ok := all.Get(key)
	if !ok {
		r = &revision{name: name, content: content, registered: tx.Now(), firstUsed: tx.Now()}
		all.Put(key, r)
	}
	r.lastUsed = tx.Now()
	if !slices.Contains(r.groups, g.Name) {
		r.groups = append(r.groups, g.Name)
	}
}

// revisionLocation returns a revision without its content, as GetDeployment does.
func revisionLocation(r codedeployer.Revision) *cdtypes.RevisionLocation {
	return locationWith(r, nil)
}

func locationWith(r codedeployer.Revision, content *string) *cdtypes.RevisionLocation {
	if r.SHA256 == "" {
		return nil
	}
	l := &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationType(r.Kind)}
	if l.RevisionType == cdtypes.RevisionLocationTypeString {
		l.String_ = &cdtypes.RawString{Content: content, Sha256: ptr(r.SHA256)}
	} else {
		l.AppSpecContent = &cdtypes.AppSpecContent{Content: content, Sha256: ptr(r.SHA256)}
	}
	return l
}

// GetApplicationRevision returns a revision with its content, found by its hash.
func (s *Service) GetApplicationRevision(ctx context.Context,
	in *awscd.GetApplicationRevisionInput) (*awscd.GetApplicationRevisionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.GetApplicationRevisionOutput, error) {
		a, err := findApplication(tx, in.ApplicationName)
		if err != nil {
			return nil, err
		}
		hash, err := hashOf(in.Revision)
		if err != nil {
			return nil, err
		}
		r, ok := stateOf(tx).revisions.Get(a.Name + " " + hash)
		if !ok {
			return nil, world.Refuse("RevisionDoesNotExistException",
				"No application revision found for the given revision location")
		}
		return &awscd.GetApplicationRevisionOutput{ApplicationName: ptr(a.Name),
			Revision: locationWith(r.name, ptr(r.content)),
			RevisionInfo: &cdtypes.GenericRevisionInfo{DeploymentGroups: slices.Clone(r.groups),
				Description:   ptr("Application revision registered by Deployment ID"),
				FirstUsedTime: optionalTime(r.firstUsed), LastUsedTime: optionalTime(r.lastUsed),
				RegisterTime: optionalTime(r.registered)}}, nil
	})
}

func hashOf(r *cdtypes.RevisionLocation) (string, error) {
	switch {
	case r == nil:
		return "", world.Refuse("RevisionRequiredException", "Revision is required")
	case r.AppSpecContent != nil && val(r.AppSpecContent.Sha256) != "":
		return *r.AppSpecContent.Sha256, nil
	case r.String_ != nil && val(r.String_.Sha256) != "":
		return *r.String_.Sha256, nil
	}
	return "", badRevision("The SHA256 hash of the revision is required")
}
