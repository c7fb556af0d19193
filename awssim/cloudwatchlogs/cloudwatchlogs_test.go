package cloudwatchlogs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/cloudwatchlogs"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{ now time.Time }

func (c *stopped) Now() time.Time                             { return c.now }
func (c *stopped) Sleep(context.Context, time.Duration) error { return nil }

// bench is a world with the room and an unmodified client of it.
type bench struct {
	*awslogs.Client
	world *world.World
	clock *stopped
	ctx   context.Context
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{clock: &stopped{time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)}, ctx: context.Background()}
	b.world = world.New(world.Options{Clock: b.clock, Strict: true})
	server := wire.New(b.world, cloudwatchlogs.NewAPI(b.world))
	b.Client = awslogs.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: server},
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"}, nil
		})})
	return b
}

func (b *bench) after(d time.Duration) { b.clock.now = b.clock.now.Add(d) }

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused[T any](_ T, err error) func(t *testing.T, code, text string) {
	return func(t *testing.T, code, text string) {
		t.Helper()
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
			t.Errorf("got %v, want %s with %q", err, code, text)
		}
	}
}

// group makes a group, stream its streams.
func (b *bench) group(t *testing.T, name string, streams ...string) {
	t.Helper()
	must(b.CreateLogGroup(b.ctx, &awslogs.CreateLogGroupInput{LogGroupName: &name}))(t)
	for _, s := range streams {
		must(b.CreateLogStream(b.ctx, &awslogs.CreateLogStreamInput{LogGroupName: &name,
			LogStreamName: aws.String(s)}))(t)
	}
}

// put writes messages that are each a second older than the next, the last now.
func (b *bench) put(t *testing.T, group, stream string, messages ...string) *awslogs.PutLogEventsOutput {
	t.Helper()
	in := &awslogs.PutLogEventsInput{LogGroupName: &group, LogStreamName: &stream}
	for i, m := range messages {
		at := b.clock.now.Add(time.Duration(i-len(messages)+1) * time.Second).UnixMilli()
		in.LogEvents = append(in.LogEvents, logstypes.InputLogEvent{Message: aws.String(m), Timestamp: &at})
	}
	return must(b.PutLogEvents(b.ctx, in))(t)
}

func (b *bench) get(t *testing.T, in awslogs.GetLogEventsInput) (string, *awslogs.GetLogEventsOutput) {
	t.Helper()
	if in.LogGroupName == nil {
		in.LogGroupName = aws.String("/ecs/web")
	}
	if in.LogStreamName == nil {
		in.LogStreamName = aws.String("s")
	}
	out := must(b.GetLogEvents(b.ctx, &in))(t)
	var all []string
	for _, e := range out.Events {
		all = append(all, *e.Message)
	}
	return strings.Join(all, " "), out
}

func TestGetLogEventsReadsForwardAndBackward(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "s")
	if got, out := b.get(t, awslogs.GetLogEventsInput{}); got != "" || out.NextForwardToken == nil {
		t.Errorf("an empty stream: %q", got)
	}
	b.put(t, "/ecs/web", "s", "1", "2", "3", "4", "5", "6", "7")
	got, out := b.get(t, awslogs.GetLogEventsInput{Limit: aws.Int32(3)})
	if got != "5 6 7" {
		t.Errorf("the newest are %s", got)
	}
	got, back := b.get(t, awslogs.GetLogEventsInput{Limit: aws.Int32(3), NextToken: out.NextBackwardToken})
	if got != "2 3 4" {
		t.Errorf("before them are %s", got)
	}
	if got, _ = b.get(t, awslogs.GetLogEventsInput{Limit: aws.Int32(3),
		NextToken: back.NextForwardToken}); got != "5 6 7" {
		t.Errorf("forward again are %s", got)
	}
	got, end := b.get(t, awslogs.GetLogEventsInput{NextToken: out.NextForwardToken, StartFromHead: aws.Bool(true)})
	if got != "" || *end.NextForwardToken != *out.NextForwardToken {
		t.Errorf("at the end: %q, token %s then %s", got, *out.NextForwardToken, *end.NextForwardToken)
	}
	b.after(time.Second)
	b.put(t, "/ecs/web", "s", "8")
	if got, _ = b.get(t, awslogs.GetLogEventsInput{NextToken: end.NextForwardToken}); got != "8" {
		t.Errorf("new at the end: %q", got)
	}
	if got, _ = b.get(t, awslogs.GetLogEventsInput{StartFromHead: aws.Bool(true), Limit: aws.Int32(2)}); got != "1 2" {
		t.Errorf("from the head: %q", got)
	}
	four := b.clock.now.Add(-4 * time.Second).UnixMilli() // the time of "4"
	if got, _ = b.get(t, awslogs.GetLogEventsInput{StartTime: &four, EndTime: aws.Int64(four + 2000)}); got != "4 5" {
		t.Errorf("of two seconds: %q", got)
	}
	p, n := awslogs.NewGetLogEventsPaginator(b.Client, &awslogs.GetLogEventsInput{LogGroupName: aws.String("/ecs/web"),
		LogStreamName: aws.String("s"), StartFromHead: aws.Bool(true)},
		func(o *awslogs.GetLogEventsPaginatorOptions) { o.Limit, o.StopOnDuplicateToken = 3, true }), 0
	for p.HasMorePages() {
		n += len(must(p.NextPage(b.ctx))(t).Events)
	}
	if n != 8 {
		t.Errorf("pages hold %d", n)
	}
	refused(b.GetLogEvents(b.ctx, &awslogs.GetLogEventsInput{LogGroupName: aws.String("/ecs/web"),
		LogStreamName: aws.String("s"), NextToken: aws.String("f/1/s")}))(t, "InvalidParameterException",
		"nextToken is invalid")
	refused(b.GetLogEvents(b.ctx, &awslogs.GetLogEventsInput{LogGroupName: aws.String("/ecs/web"),
		LogStreamName: aws.String("x")}))(t, "ResourceNotFoundException", "The specified log stream does not exist.")
	refused(b.GetLogEvents(b.ctx, &awslogs.GetLogEventsInput{LogGroupName: aws.String("x"),
		LogStreamName: aws.String("x")}))(t, "ResourceNotFoundException", "The specified log group does not exist.")
}

func TestAPageHoldsAMegabyte(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "s")
	for range 3 {
		b.put(t, "/ecs/web", "s", strings.Repeat("x", 400<<10))
	}
	if _, out := b.get(t, awslogs.GetLogEventsInput{StartFromHead: aws.Bool(true)}); len(out.Events) != 2 {
		t.Errorf("%d events of 400 KiB in a page", len(out.Events))
	}
}

func TestFilterLogEvents(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "web/a", "web/b", "job/c")
	b.put(t, "/ecs/web", "web/a", "GET / 200", "ERROR: no database", "bye")
	b.put(t, "/ecs/web", "web/b", "WARN slow", "GET / 500")
	b.put(t, "/ecs/web", "job/c", "ERROR in job")
	for want, in := range map[string]awslogs.FilterLogEventsInput{
		"GET / 200, WARN slow, ERROR: no database, ERROR in job, GET / 500, bye": {},
		"ERROR: no database, ERROR in job":                                       {FilterPattern: aws.String("ERROR")},
		"ERROR: no database": {FilterPattern: aws.String(
			"ERROR -job")},
		"GET / 500": {FilterPattern: aws.String(
			"GET 500")},
		"WARN slow, ERROR: no database": {FilterPattern: aws.String(
			`?"no database" ?WARN`)},
		"WARN slow, GET / 500": {LogStreamNames: []string{"web/b"}},
		"GET / 200, WARN slow, ERROR: no database, GET / 500, bye": {LogStreamNamePrefix: aws.String(
			"web/")},
		"ERROR in job, GET / 500, bye": {StartTime: aws.Int64(
			b.clock.now.UnixMilli())},
		"GET / 200": {EndTime: aws.Int64(
			b.clock.now.UnixMilli() - 2000)},
	} {
		in.LogGroupName, in.Limit = aws.String("/ecs/web"), aws.Int32(2)
		var all []string
		for p := awslogs.NewFilterLogEventsPaginator(b.Client, &in); p.HasMorePages(); {
			for _, e := range must(p.NextPage(b.ctx))(t).Events {
				all = append(all, *e.Message)
			}
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("pattern %q: %s, want %s", aws.ToString(in.FilterPattern), got, want)
		}
	}
	ask := func(in awslogs.FilterLogEventsInput) (*awslogs.FilterLogEventsOutput, error) {
		in.LogGroupName = aws.String("/ecs/web")
		return b.FilterLogEvents(b.ctx, &in)
	}
	refused(ask(awslogs.FilterLogEventsInput{FilterPattern: aws.String("{ $.a = 1 }")}))(t, "InvalidParameterException",
		"not simulated")
	refused(ask(awslogs.FilterLogEventsInput{FilterPattern: aws.String(`"a`)}))(t, "InvalidParameterException",
		"Invalid filter pattern")
	refused(ask(awslogs.FilterLogEventsInput{LogStreamNames: []string{"no"}}))(t, "ResourceNotFoundException",
		"log stream does not exist")
	refused(ask(awslogs.FilterLogEventsInput{LogStreamNames: []string{"web/a"},
		LogStreamNamePrefix: aws.String("web")}))(t, "InvalidParameterException", "both")
}

// A search that finds little comes in pages that may be empty.
func TestASearchMayHaveEmptyPages(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "s")
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	b.put(t, "/ecs/web", "s", append(many, "needle")...)
	pages, events := 0, 0
	for p := awslogs.NewFilterLogEventsPaginator(b.Client,
		&awslogs.FilterLogEventsInput{LogGroupName: aws.String("/ecs/web"),
			FilterPattern: aws.String("needle")}); p.HasMorePages(); pages++ {
		events += len(must(p.NextPage(b.ctx))(t).Events)
	}
	if pages != 3 || events != 1 {
		t.Errorf("%d pages, %d events", pages, events)
	}
}

func TestGroups(t *testing.T) {
	b := newBench(t)
	for i := range 60 {
		b.group(t, fmt.Sprintf("/ecs/%02d", i))
	}
	must(b.CreateLogGroup(b.ctx, &awslogs.CreateLogGroupInput{LogGroupName: aws.String("/job"),
		Tags: map[string]string{"team": "a"}, LogGroupClass: "INFREQUENT_ACCESS"}))(t)
	n := 0
	for p := awslogs.NewDescribeLogGroupsPaginator(b.Client,
		&awslogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/ecs/")}); p.HasMorePages(); {
		n += len(must(p.NextPage(b.ctx))(t).LogGroups)
	}
	if n != 60 {
		t.Errorf("%d groups begin with /ecs/", n)
	}
	must(b.PutRetentionPolicy(b.ctx, &awslogs.PutRetentionPolicyInput{LogGroupName: aws.String("/job"),
		RetentionInDays: aws.Int32(7)}))(t)
	g := must(b.DescribeLogGroups(b.ctx,
		&awslogs.DescribeLogGroupsInput{LogGroupNamePattern: aws.String("JO")}))(t).LogGroups
	if len(g) != 1 || *g[0].RetentionInDays != 7 ||
		*g[0].Arn != "arn:aws:logs:eu-west-1:123456789012:log-group:/job:*" ||
		g[0].LogGroupClass != "INFREQUENT_ACCESS" {
		t.Fatalf("%+v", g)
	}
	must(b.TagResource(b.ctx, &awslogs.TagResourceInput{ResourceArn: g[0].LogGroupArn,
		Tags: map[string]string{"env": "x"}}))(t)
	must(b.UntagResource(b.ctx, &awslogs.UntagResourceInput{ResourceArn: g[0].LogGroupArn,
		TagKeys: []string{"team"}}))(t)
	if tags := must(b.ListTagsForResource(b.ctx,
		&awslogs.ListTagsForResourceInput{ResourceArn: g[0].LogGroupArn}))(t).Tags; len(tags) != 1 ||
		tags["env"] != "x" {
		t.Errorf("tags %v", tags)
	}
	refused(b.CreateLogGroup(b.ctx, &awslogs.CreateLogGroupInput{LogGroupName: aws.String("/job")}))(t,
		"ResourceAlreadyExistsException", "The specified log group already exists")
	refused(b.CreateLogGroup(b.ctx, &awslogs.CreateLogGroupInput{LogGroupName: aws.String("a b")}))(t,
		"InvalidParameterException", "regular expression")
	refused(b.PutRetentionPolicy(b.ctx, &awslogs.PutRetentionPolicyInput{LogGroupName: aws.String("/job"),
		RetentionInDays: aws.Int32(8)}))(t, "InvalidParameterException", "retentionInDays")
	must(b.DeleteLogGroup(b.ctx, &awslogs.DeleteLogGroupInput{LogGroupName: aws.String("/job")}))(t)
	refused(b.DeleteLogGroup(b.ctx, &awslogs.DeleteLogGroupInput{LogGroupName: aws.String("/job")}))(t,
		"ResourceNotFoundException", "The specified log group does not exist.")
	refused(b.StartQuery(b.ctx, &awslogs.StartQueryInput{QueryString: aws.String("x"), StartTime: aws.Int64(0),
		EndTime: aws.Int64(1)}))(t, "UnknownOperationException", "")
}

func TestStreams(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "b", "a", "c")
	b.put(t, "/ecs/web", "a", "old")
	b.after(time.Minute)
	b.put(t, "/ecs/web", "c", "new")
	names := func(in awslogs.DescribeLogStreamsInput) string {
		t.Helper()
		in.LogGroupIdentifier = aws.String("arn:aws:logs:eu-west-1:123456789012:log-group:/ecs/web")
		var all []string
		for p := awslogs.NewDescribeLogStreamsPaginator(b.Client, &in); p.HasMorePages(); {
			for _, s := range must(p.NextPage(b.ctx))(t).LogStreams {
				all = append(all, *s.LogStreamName)
			}
		}
		return strings.Join(all, " ")
	}
	for want, in := range map[string]awslogs.DescribeLogStreamsInput{
		"a b c": {Limit: aws.Int32(1)},
		"c a b": {OrderBy: "LastEventTime", Descending: aws.Bool(true)},
		"b":     {LogStreamNamePrefix: aws.String("b")},
	} {
		if got := names(in); got != want {
			t.Errorf("%+v: %s, want %s", in, got, want)
		}
	}
	refused(b.DescribeLogStreams(b.ctx, &awslogs.DescribeLogStreamsInput{LogGroupName: aws.String("/ecs/web"),
		LogStreamNamePrefix: aws.String("a"), OrderBy: "LastEventTime"}))(t, "InvalidParameterException",
		"LastEventTime")
	refused(b.DescribeLogStreams(b.ctx, &awslogs.DescribeLogStreamsInput{LogGroupName: aws.String("no")}))(t,
		"ResourceNotFoundException", "The specified log group does not exist.")
	refused(b.CreateLogStream(b.ctx, &awslogs.CreateLogStreamInput{LogGroupName: aws.String("/ecs/web"),
		LogStreamName: aws.String("a")}))(t, "ResourceAlreadyExistsException", "already exists")
	must(b.DeleteLogStream(b.ctx, &awslogs.DeleteLogStreamInput{LogGroupName: aws.String("/ecs/web"),
		LogStreamName: aws.String("a")}))(t)
	if got := names(awslogs.DescribeLogStreamsInput{}); got != "b c" {
		t.Errorf("left %s", got)
	}
}

func TestEventsTooOldOrTooNewAreLeftOut(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "s")
	must(b.PutRetentionPolicy(b.ctx, &awslogs.PutRetentionPolicyInput{LogGroupName: aws.String("/ecs/web"),
		RetentionInDays: aws.Int32(1)}))(t)
	b.put(t, "/ecs/web", "s", "soon gone")
	event := func(message string, ago time.Duration) logstypes.InputLogEvent {
		return logstypes.InputLogEvent{Message: &message, Timestamp: aws.Int64(b.clock.now.Add(-ago).UnixMilli())}
	}
	b.after(20 * time.Hour)
	in := &awslogs.PutLogEventsInput{LogGroupName: aws.String("/ecs/web"), LogStreamName: aws.String("s"),
		LogEvents: []logstypes.InputLogEvent{event("15 days", 15*24*time.Hour),
			event("14 days and 3 hours", 14*24*time.Hour+3*time.Hour)}}
	if r := must(b.PutLogEvents(b.ctx, in))(t).RejectedLogEventsInfo; r == nil || *r.TooOldLogEventEndIndex != 2 {
		t.Errorf("too old: %+v", r)
	}
	in.LogEvents = []logstypes.InputLogEvent{event("now", 0), event("in 3 hours", -3*time.Hour)}
	if r := must(b.PutLogEvents(b.ctx, in))(t).RejectedLogEventsInfo; r == nil || *r.TooNewLogEventStartIndex != 1 ||
		r.TooOldLogEventEndIndex != nil {
		t.Errorf("too new: %+v", r)
	}
	b.after(5 * time.Hour)
	if got, _ := b.get(t, awslogs.GetLogEventsInput{}); got != "now" {
		t.Errorf("kept %q", got)
	}
	in.LogEvents = []logstypes.InputLogEvent{event("b", 0), event("a", time.Second)}
	refused(b.PutLogEvents(b.ctx, in))(t, "InvalidParameterException", "chronological order")
	in.LogEvents = []logstypes.InputLogEvent{event("a", 25*time.Hour), event("b", 0)}
	refused(b.PutLogEvents(b.ctx, in))(t, "InvalidParameterException", "24 hours")
	in.LogEvents = []logstypes.InputLogEvent{}
	refused(b.PutLogEvents(b.ctx, in))(t, "InvalidParameterException", "logEvents")
}

var here = world.Key{Account: "123456789012", Region: "eu-west-1"}

// task makes a running task whose container "app" logs to a group.
func (b *bench) task(t *testing.T, id, ref string, to *world.ContainerLog) *world.Task {
	t.Helper()
	does, err := image.Parse(ref)
	if err != nil {
		t.Fatal(err)
	}
	task := &world.Task{ID: id, LastStatus: "PENDING", DesiredStatus: "RUNNING"}
	task.Containers = []*world.Container{{Spec: world.ContainerSpec{Name: "app", Essential: true, Log: to},
		Behaviour: does, Status: "PENDING"}}
	b.step(func(tx *world.Tx) {
		task.Containers[0].Status, task.Containers[0].RuntimeID = "RUNNING", id+"-1"
		tx.SetStatus(task, "RUNNING")
	})
	return task
}

func (b *bench) step(f func(*world.Tx)) {
	_ = b.world.Do(here, func(tx *world.Tx) error { f(tx); return nil })
}

func (b *bench) exit(task *world.Task, code int) {
	b.step(func(tx *world.Tx) {
		task.DesiredStatus = "STOPPED"
		task.Containers[0].Status, task.Containers[0].ExitCode = "STOPPED", &code
		tx.SetStatus(task, "STOPPED")
		tx.Changed(world.TaskChanged, task)
	})
}

func TestWhatATaskPrintsIsInItsStream(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web")
	to := &world.ContainerLog{Group: "/ecs/web", Prefix: "web", Region: "eu-west-1"}
	task := b.task(t, "0a1b", "sim/web:v2-crash-after-5s?exit=3&prints=no database", to)
	b.step(func(tx *world.Tx) { tx.Changed(world.TaskChanged, task) }) // nothing new is printed
	b.after(5 * time.Second)
	b.exit(task, 3)
	got, out := b.get(t, awslogs.GetLogEventsInput{LogStreamName: aws.String("web/app/0a1b")})
	if got != "version v2 starts no database fatal: exit 3" {
		t.Errorf("printed %q", got)
	}
	if d := *out.Events[2].Timestamp - *out.Events[0].Timestamp; d != 5000 {
		t.Errorf("from first to last %d ms", d)
	}
	b.step(func(tx *world.Tx) { tx.Print(task, "app", "said by a program"); tx.Print(task, "none", "lost") })
	if got, _ = b.get(t, awslogs.GetLogEventsInput{LogStreamName: aws.String("web/app/0a1b"),
		Limit: aws.Int32(1)}); got != "said by a program" {
		t.Errorf("then %q", got)
	}
}

func TestAContainerThatIsStoppedDiesInSilence(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web")
	task := b.task(t, "0a1b", "sim/web:v1", &world.ContainerLog{Group: "/ecs/web", Prefix: "web"})
	task.SignalledAt = b.clock.now
	b.exit(task, 1)
	if got, _ := b.get(t, awslogs.GetLogEventsInput{LogStreamName: aws.String(
		"web/app/0a1b")}); got != "version v1 starts" {
		t.Errorf("printed %q", got)
	}
}

func TestOutputWithoutAGroupIsLost(t *testing.T) {
	b := newBench(t)
	b.task(t, "1", "sim/web:v1", nil)
	b.task(t, "2", "sim/web:v1", &world.ContainerLog{Group: "/none", Prefix: "p"})
	b.task(t, "3", "sim/web:v1", &world.ContainerLog{Group: "/elsewhere", Prefix: "p", Region: "us-east-1",
		CreateGroup: true})
	b.task(t, "4", "sim/web:v1", &world.ContainerLog{Group: "/made", Prefix: "p", CreateGroup: true})
	b.task(t, "5", "sim/web:v1", &world.ContainerLog{Group: "/made"})
	groups := must(b.DescribeLogGroups(b.ctx, &awslogs.DescribeLogGroupsInput{}))(t).LogGroups
	if len(groups) != 1 || *groups[0].LogGroupName != "/made" {
		t.Fatalf("groups %+v", groups)
	}
	streams := must(b.DescribeLogStreams(b.ctx,
		&awslogs.DescribeLogStreamsInput{LogGroupName: aws.String("/made")}))(t).LogStreams
	if len(streams) != 2 || *streams[0].LogStreamName != "5-1" || *streams[1].LogStreamName != "p/app/4" {
		t.Errorf("streams %+v", streams)
	}
}

func TestAStreamKeepsTheNewest(t *testing.T) {
	b := newBench(t)
	b.group(t, "/ecs/web", "s")
	b.step(func(tx *world.Tx) {
		g, _ := tx.LogGroups.Get("/ecs/web")
		s, _ := g.Streams.Get("s")
		for i := range 25_000 {
			tx.WriteEvent(s, tx.Now(), fmt.Sprint(i))
		}
	})
	_, out := b.get(t, awslogs.GetLogEventsInput{StartFromHead: aws.Bool(true)})
	if len(out.Events) != 10_000 || *out.Events[0].Message != "15000" {
		t.Errorf("%d events from %s", len(out.Events), *out.Events[0].Message)
	}
}
