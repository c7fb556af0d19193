package codedeploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

func TestARevisionIsKnownByItsHash(t *testing.T) {
	b := newBench(t, 1, "", "")
	td := b.register("sim/web:v2")
	content := `{"version": 0.0, "Resources": [{"TargetService": {"Type": "AWS::ECS::Service", "Properties": {"TaskDefinition": "` + td +
		`", "LoadBalancerInfo": {"ContainerName": "web", "ContainerPort": 80}, "PlatformVersion": "1.4.0"}}}], "Hooks": []}`
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	in := input(content)
	in.Revision.AppSpecContent.Sha256 = aws.String(strings.Repeat("0", 64))
	_, err := b.CreateDeployment(b.ctx, in)
	b.refused(err, "InvalidRevisionException", hash)
	in.Revision.AppSpecContent.Sha256 = &hash
	in.Description = aws.String("by the test")
	out, err := b.CreateDeployment(b.ctx, in)
	b.ok(err)
	d := b.get(*out.DeploymentId)
	if r := d.Revision.AppSpecContent; r.Content != nil || *r.Sha256 != hash || *d.Description != "by the test" {
		t.Errorf("%+v", d)
	}
	rev, err := b.GetApplicationRevision(b.ctx, &awscd.GetApplicationRevisionInput{ApplicationName: aws.String("shop"),
		Revision: d.Revision})
	b.ok(err)
	if *rev.Revision.AppSpecContent.Content != content || rev.RevisionInfo.DeploymentGroups[0] != "web" {
		t.Errorf("%+v", rev)
	}
	d.Revision.AppSpecContent.Sha256 = aws.String("00")
	_, err = b.GetApplicationRevision(b.ctx, &awscd.GetApplicationRevisionInput{ApplicationName: aws.String("shop"),
		Revision: d.Revision})
	b.refused(err, "RevisionDoesNotExistException", "")
	if d := b.ends(*out.DeploymentId); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d.ErrorInformation)
	}
}

func TestAppSpecsAreRefused(t *testing.T) {
	b := newBench(t, 1, "", "")
	good := appspec(b.register("sim/web:v2"))
	for text, content := range map[string]string{
		"is empty":                    " ",
		"must be 0.0":                 strings.Replace(good, "0.0", "1.0", 1),
		"neither valid YAML nor JSON": "{",
		"line 7": strings.Replace(good, "        LoadBalancerInfo",
			"        Image: x\n        LoadBalancerInfo", 1),
		"exactly one resource":            "version: 0.0\nResources: []\n",
		"must be AWS::ECS::Service":       strings.Replace(good, "AWS::ECS::Service", "AWS::Lambda::Function", 1),
		"must be the ARN":                 appspec("web:1"),
		"a ContainerName":                 strings.Replace(good, "ContainerPort: 80", "ContainerPort: 0", 1),
		"is not a lifecycle event":        good + "Hooks:\n  - Install: x\n",
		"has more than one hook":          good + "Hooks:\n  - AfterInstall: x\n  - AfterInstall: y\n",
		"at most 102400 are allowed":      good + strings.Repeat("# more\n", 20_000),
		"hook of AfterInstall names no L": good + "Hooks:\n  - AfterInstall: \"\"\n",
	} {
		_, err := b.CreateDeployment(b.ctx, input(content))
		b.refused(err, "InvalidRevisionException", text)
	}
	if l, err := b.ListDeployments(b.ctx, &awscd.ListDeploymentsInput{}); err != nil || len(l.Deployments) != 0 {
		t.Errorf("%v %v", l, err)
	}
}

func TestDeploymentsAreRefused(t *testing.T) {
	b := newBench(t, 1, "", "")
	in := input(appspec(b.register("sim/web:v2")))
	try := func(code, text string, change func(*awscd.CreateDeploymentInput)) {
		t.Helper()
		x := *in
		change(&x)
		_, err := b.CreateDeployment(b.ctx, &x)
		b.refused(err, code, text)
	}
	try("ApplicationDoesNotExistException", "No application found for name: none",
		func(x *awscd.CreateDeploymentInput) { x.ApplicationName = aws.String("none") })
	try("DeploymentGroupNameRequiredException", "",
		func(x *awscd.CreateDeploymentInput) { x.DeploymentGroupName = nil })
	try("DeploymentGroupDoesNotExistException", "No Deployment Group found for name: none",
		func(x *awscd.CreateDeploymentInput) { x.DeploymentGroupName = aws.String("none") })
	try("RevisionRequiredException", "", func(x *awscd.CreateDeploymentInput) { x.Revision = nil })
	try("DescriptionTooLongException", "",
		func(x *awscd.CreateDeploymentInput) { x.Description = aws.String(strings.Repeat("x", 257)) })
	try("DeploymentConfigDoesNotExistException", "none",
		func(x *awscd.CreateDeploymentInput) { x.DeploymentConfigName = aws.String("none") })
	try("InvalidAutoRollbackConfigException", "SOMETIMES", func(x *awscd.CreateDeploymentInput) {
		x.AutoRollbackConfiguration = &cdtypes.AutoRollbackConfiguration{Enabled: true,
			Events: []cdtypes.AutoRollbackEvent{"SOMETIMES"}}
	})
	out, err := b.CreateDeployment(b.ctx, in)
	b.ok(err)
	try("DeploymentLimitExceededException",
		"The Deployment Group 'web' already has an active Deployment '"+*out.DeploymentId+"'",
		func(*awscd.CreateDeploymentInput) {})
	_, err = b.GetDeployment(b.ctx, &awscd.GetDeploymentInput{DeploymentId: aws.String("d-000000000")})
	b.refused(err, "DeploymentDoesNotExistException", "")
	_, err = b.GetDeployment(b.ctx, &awscd.GetDeploymentInput{DeploymentId: aws.String("x")})
	b.refused(err, "InvalidDeploymentIdException", "")
	_, err = b.GetDeploymentTarget(b.ctx, &awscd.GetDeploymentTargetInput{DeploymentId: out.DeploymentId,
		TargetId: aws.String("prod:other")})
	b.refused(err, "DeploymentTargetDoesNotExistException", "")
}

func TestGroupsAreFoundByPaging(t *testing.T) {
	b := newBench(t, 1, "", "")
	for i := range 250 {
		_, err := b.CreateApplication(b.ctx,
			&awscd.CreateApplicationInput{ApplicationName: aws.String(fmt.Sprintf("app-%03d", i)),
				ComputePlatform: "ECS"})
		b.ok(err)
	}
	var names []string
	pages := awscd.NewListApplicationsPaginator(b.Client, &awscd.ListApplicationsInput{})
	for pages.HasMorePages() {
		p, err := pages.NextPage(b.ctx)
		b.ok(err)
		names = append(names, p.Applications...)
	}
	if len(names) != 251 || names[0] != "shop" || names[250] != "app-249" {
		t.Errorf("%d names", len(names))
	}
	many, err := b.BatchGetApplications(b.ctx, &awscd.BatchGetApplicationsInput{ApplicationNames: names[:100]})
	b.ok(err)
	if len(many.ApplicationsInfo) != 100 || many.ApplicationsInfo[0].ComputePlatform != "ECS" {
		t.Errorf("%+v", many.ApplicationsInfo[0])
	}
	_, err = b.BatchGetApplications(b.ctx, &awscd.BatchGetApplicationsInput{ApplicationNames: names[:101]})
	b.refused(err, "BatchLimitExceededException", "100")
	groups, err := b.ListDeploymentGroups(b.ctx, &awscd.ListDeploymentGroupsInput{ApplicationName: aws.String("shop")})
	b.ok(err)
	got, err := b.BatchGetDeploymentGroups(b.ctx,
		&awscd.BatchGetDeploymentGroupsInput{ApplicationName: aws.String("shop"),
			DeploymentGroupNames: append(groups.DeploymentGroups, "none")})
	b.ok(err)
	if g := got.DeploymentGroupsInfo[0]; len(got.DeploymentGroupsInfo) != 1 ||
		!strings.HasSuffix(*got.ErrorMessage, "none") || *g.EcsServices[0].ServiceName != "web" ||
		*g.EcsServices[0].ClusterName != "prod" ||
		*g.LoadBalancerInfo.TargetGroupPairInfoList[0].TargetGroups[1].Name != "web-b" {
		t.Errorf("%+v", got)
	}
}

func TestDeploymentsAreListed(t *testing.T) {
	b := newBench(t, 1, "", "")
	var ids []string
	for range 3 {
		ids = append([]string{b.deploy("sim/web:v2", "")}, ids...)
		b.ends(ids[0])
	}
	running := b.deploy("sim/web:v2", "")
	list := func(in *awscd.ListDeploymentsInput) string {
		out, err := b.ListDeployments(b.ctx, in)
		b.ok(err)
		return strings.Join(out.Deployments, " ")
	}
	if got := list(&awscd.ListDeploymentsInput{}); got != running+" "+strings.Join(ids, " ") {
		t.Error(got)
	}
	in := &awscd.ListDeploymentsInput{ApplicationName: aws.String("shop"), DeploymentGroupName: aws.String("web"),
		IncludeOnlyStatuses: []cdtypes.DeploymentStatus{"Created", "Queued", "InProgress", "Ready"}}
	if got := list(in); got != running {
		t.Error(got)
	}
	in.DeploymentGroupName = nil
	_, err := b.ListDeployments(b.ctx, in)
	b.refused(err, "DeploymentGroupNameRequiredException", "")
	_, err = b.ListDeployments(b.ctx,
		&awscd.ListDeploymentsInput{IncludeOnlyStatuses: []cdtypes.DeploymentStatus{"Done"}})
	b.refused(err, "InvalidDeploymentStatusException", "Done")
	many, err := b.BatchGetDeployments(b.ctx,
		&awscd.BatchGetDeploymentsInput{DeploymentIds: append(ids, "d-000000000")})
	b.ok(err)
	if len(many.DeploymentsInfo) != 3 || *many.DeploymentsInfo[0].DeploymentId != ids[0] {
		t.Errorf("%+v", many)
	}
	targets, err := b.ListDeploymentTargets(b.ctx, &awscd.ListDeploymentTargetsInput{DeploymentId: &ids[0]})
	b.ok(err)
	if len(targets.TargetIds) != 1 || targets.TargetIds[0] != "prod:web" {
		t.Errorf("%+v", targets)
	}
	g, err := b.GetDeploymentGroup(b.ctx, &awscd.GetDeploymentGroupInput{ApplicationName: aws.String("shop"),
		DeploymentGroupName: aws.String("web")})
	b.ok(err)
	if *g.DeploymentGroupInfo.LastSuccessfulDeployment.DeploymentId != ids[0] ||
		*g.DeploymentGroupInfo.LastAttemptedDeployment.DeploymentId != running {
		t.Errorf("%+v", g.DeploymentGroupInfo)
	}
}

func TestTags(t *testing.T) {
	b := newBench(t, 1, "", "")
	tag := func(k, v string) cdtypes.Tag { return cdtypes.Tag{Key: &k, Value: &v} }
	_, err := b.CreateApplication(b.ctx, &awscd.CreateApplicationInput{ApplicationName: aws.String("other"),
		ComputePlatform: "ECS", Tags: []cdtypes.Tag{tag("a", "1"), tag("b", "1")}})
	b.ok(err)
	app, group := aws.String("arn:aws:codedeploy:us-east-1:123456789012:application:other"),
		aws.String("arn:aws:codedeploy:us-east-1:123456789012:deploymentgroup:shop/web")
	tags := func(arn *string) (s string) {
		out, err := b.ListTagsForResource(b.ctx, &awscd.ListTagsForResourceInput{ResourceArn: arn})
		b.ok(err)
		for _, t := range out.Tags {
			s += *t.Key + "=" + *t.Value + " "
		}
		return s
	}
	_, err = b.TagResource(b.ctx, &awscd.TagResourceInput{ResourceArn: app, Tags: []cdtypes.Tag{tag("a", "2")}})
	b.ok(err)
	_, err = b.UntagResource(b.ctx, &awscd.UntagResourceInput{ResourceArn: app, TagKeys: []string{"b", "none"}})
	b.ok(err)
	_, err = b.TagResource(b.ctx, &awscd.TagResourceInput{ResourceArn: group, Tags: []cdtypes.Tag{tag("g", "1")}})
	b.ok(err)
	if tags(app) != "a=2 " || tags(group) != "g=1 " {
		t.Error(tags(app), tags(group))
	}
	_, err = b.TagResource(b.ctx, &awscd.TagResourceInput{ResourceArn: app, Tags: []cdtypes.Tag{tag("aws:x", "2")}})
	b.refused(err, "InvalidTagsToAddException", "")
	_, err = b.DeleteApplication(b.ctx, &awscd.DeleteApplicationInput{ApplicationName: aws.String("other")})
	b.ok(err)
	_, err = b.ListTagsForResource(b.ctx, &awscd.ListTagsForResourceInput{ResourceArn: app})
	b.refused(err, "InvalidArnException", "does not exist")
}

func TestGroupsAreRefused(t *testing.T) {
	b := newBench(t, 1, "", "")
	g, err := b.GetDeploymentGroup(b.ctx, &awscd.GetDeploymentGroupInput{ApplicationName: aws.String("shop"),
		DeploymentGroupName: aws.String("web")})
	b.ok(err)
	have := g.DeploymentGroupInfo
	make := func(name string, change func(*awscd.CreateDeploymentGroupInput)) error {
		in := &awscd.CreateDeploymentGroupInput{ApplicationName: aws.String("shop"), DeploymentGroupName: &name,
			ServiceRoleArn: have.ServiceRoleArn,
			EcsServices:    have.EcsServices, LoadBalancerInfo: have.LoadBalancerInfo,
			DeploymentStyle: have.DeploymentStyle}
		change(in)
		_, err := b.CreateDeploymentGroup(b.ctx, in)
		return err
	}
	b.refused(make("web", func(*awscd.CreateDeploymentGroupInput) {}), "DeploymentGroupAlreadyExistsException", "")
	b.refused(make("two", func(*awscd.CreateDeploymentGroupInput) {}), "ECSServiceMappingLimitExceededException", "")
	b.refused(make("two", func(x *awscd.CreateDeploymentGroupInput) { x.DeploymentStyle = nil }),
		"InvalidDeploymentStyleException", "")
	b.refused(make("two", func(x *awscd.CreateDeploymentGroupInput) {
		x.EcsServices = []cdtypes.ECSService{{ClusterName: aws.String("prod"), ServiceName: aws.String("none")}}
	}), "InvalidECSServiceException", "")
	_, err = b.ecs.CreateService(b.ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("own"), DesiredCount: aws.Int32(0), DeploymentController: external})
	b.ok(err)
	b.refused(make("two", func(x *awscd.CreateDeploymentGroupInput) {
		x.EcsServices = []cdtypes.ECSService{{ClusterName: aws.String("prod"), ServiceName: aws.String("own")}}
	}), "InvalidECSServiceException", "must be configured for a CODE_DEPLOY deployment controller")
	_, err = b.UpdateDeploymentGroup(b.ctx, &awscd.UpdateDeploymentGroupInput{ApplicationName: aws.String("shop"),
		CurrentDeploymentGroupName: aws.String("web"),
		DeploymentConfigName:       aws.String("half"),
		AutoRollbackConfiguration: &cdtypes.AutoRollbackConfiguration{Enabled: true,
			Events: []cdtypes.AutoRollbackEvent{"DEPLOYMENT_FAILURE"}}})
	b.ok(err)
	if d := b.get(b.deploy("sim/web:v2", "")); *d.DeploymentConfigName != "half" ||
		len(d.AutoRollbackConfiguration.Events) != 1 {
		t.Errorf("%+v", d)
	}
	_, err = b.DeleteDeploymentConfig(b.ctx,
		&awscd.DeleteDeploymentConfigInput{DeploymentConfigName: aws.String("half")})
	b.refused(err, "DeploymentConfigInUseException", "")
}

func TestConfigurations(t *testing.T) {
	b := newBench(t, 1, "", "")
	l, err := b.ListDeploymentConfigs(b.ctx, &awscd.ListDeploymentConfigsInput{})
	b.ok(err)
	if strings.Join(l.DeploymentConfigsList,
		" ") != "CodeDeployDefault.ECSAllAtOnce CodeDeployDefault.ECSCanary10Percent15Minutes "+
		"CodeDeployDefault.ECSCanary10Percent5Minutes "+
		"CodeDeployDefault.ECSLinear10PercentEvery1Minutes CodeDeployDefault.ECSLinear10PercentEvery3Minutes half "+
		"thirds" {
		t.Error(l.DeploymentConfigsList)
	}
	c, err := b.GetDeploymentConfig(b.ctx, &awscd.GetDeploymentConfigInput{DeploymentConfigName: aws.String("half")})
	b.ok(err)
	if r := c.DeploymentConfigInfo.TrafficRoutingConfig; r.Type != "TimeBasedCanary" ||
		r.TimeBasedCanary.CanaryPercentage != 50 || r.TimeBasedCanary.CanaryInterval != 2 {
		t.Errorf("%+v", r)
	}
	_, err = b.CreateDeploymentConfig(b.ctx, &awscd.CreateDeploymentConfigInput{DeploymentConfigName: aws.String("x"),
		ComputePlatform: "ECS",
		TrafficRoutingConfig: &cdtypes.TrafficRoutingConfig{Type: "TimeBasedLinear",
			TimeBasedLinear: &cdtypes.TimeBasedLinear{LinearPercentage: 100, LinearInterval: 1}}})
	b.refused(err, "InvalidTrafficRoutingConfigurationException", "")
	_, err = b.DeleteDeploymentConfig(b.ctx,
		&awscd.DeleteDeploymentConfigInput{DeploymentConfigName: aws.String("thirds")})
	b.ok(err)
}

// A reply that is lost leaves a deployment, which its description tells apart.
func TestALostReplyCreatesADeployment(t *testing.T) {
	b := newBench(t, 5, "", `faults: ["lost-reply codedeploy:CreateDeployment times=1"]`)
	in := input(appspec(b.register("sim/web:v2")))
	in.Description = aws.String("sluice 01J/deploy")
	if _, err := b.CreateDeployment(b.ctx, in); err == nil {
		t.Fatal("the reply was not lost")
	}
	_, err := b.CreateDeployment(b.ctx, in)
	b.refused(err, "DeploymentLimitExceededException", "already has an active Deployment")
	l, err := b.ListDeployments(b.ctx, &awscd.ListDeploymentsInput{})
	b.ok(err)
	if len(l.Deployments) != 1 || *b.get(l.Deployments[0]).Description != "sluice 01J/deploy" {
		t.Errorf("%v", l.Deployments)
	}
}
