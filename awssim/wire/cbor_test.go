package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	smithy "github.com/aws/smithy-go"
	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// alarms is a room of CloudWatch whose methods are functions of the test.
type alarms struct {
	put      func(*awscw.PutMetricAlarmInput) error
	describe func(*awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error)
	data     func(*awscw.PutMetricDataInput) error
}

func (a *alarms) PutMetricAlarm(_ context.Context, in *awscw.PutMetricAlarmInput) (*awscw.PutMetricAlarmOutput, error) {
	return nil, a.put(in)
}
func (a *alarms) DescribeAlarms(_ context.Context, in *awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) {
	return a.describe(in)
}
func (a *alarms) PutMetricData(_ context.Context, in *awscw.PutMetricDataInput) (*awscw.PutMetricDataOutput, error) {
	return nil, a.data(in)
}

func (a *alarms) room() wire.API {
	return wire.API{Name: "cloudwatch", Signing: "monitoring", ServiceID: "CloudWatch", Protocol: wire.CBOR,
		Also: []wire.Protocol{wire.Query, wire.JSON10}, Target: granite, Version: "2010-08-01",
		Namespace: "http://monitoring.amazonaws.com/doc/2010-08-01/", Service: a,
		Errors: []smithy.APIError{&cwtypes.ResourceNotFoundException{}, &cwtypes.ResourceNotFound{},
			&cwtypes.InvalidFormatFault{}},
		QueryCodes: map[string]string{"InvalidFormatFault": "InvalidFormat", "ResourceNotFound": "ResourceNotFound",
			"ResourceNotFoundException": "ResourceNotFoundException"},
		Unions: []any{&cwtypes.EvaluationCriteriaMemberPromQLCriteria{}}}
}

const granite = "GraniteServiceVersion20100801"

// tower is a site with a room of CloudWatch.
type tower struct {
	*site
	alarms *alarms
}

func newTower(t testing.TB) *tower {
	s, a := newSite(t), &alarms{}
	s.Server = wire.New(s.world, s.echo.room(), s.elb.room(), a.room())
	s.cfg.HTTPClient = &http.Client{Transport: s.Server}
	return &tower{s, a}
}

func (s *tower) client() *awscw.Client { return awscw.NewFromConfig(s.cfg) }

func TestEveryMemberOfAnAlarmTravelsBothWays(t *testing.T) {
	s := newTower(t)
	in, out := filled[awscw.PutMetricAlarmInput](t), filled[awscw.DescribeAlarmsOutput](t)
	in.EvaluationCriteria = &cwtypes.EvaluationCriteriaMemberPromQLCriteria{Value: *filled[cwtypes.AlarmPromQLCriteria](
		t)}
	var got *awscw.PutMetricAlarmInput
	s.alarms.put = func(x *awscw.PutMetricAlarmInput) error { got = x; return nil }
	s.alarms.describe = func(*awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) { return out, nil }
	if _, err := s.client().PutMetricAlarm(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	equal(t, got, in)
	answer, err := s.client().DescribeAlarms(context.Background(), &awscw.DescribeAlarmsInput{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, answer, out)
}

// Clients cut what is below a millisecond off; no time may lose one by it.
func TestEveryMillisecondTravelsByCBOR(t *testing.T) {
	s := newTower(t)
	for ms := range int64(1000) {
		at := time.UnixMilli(1_798_859_045_000 + ms).UTC()
		s.alarms.describe = func(*awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) {
			return &awscw.DescribeAlarmsOutput{MetricAlarms: []cwtypes.MetricAlarm{{StateUpdatedTimestamp: &at}}}, nil
		}
		out, err := s.client().DescribeAlarms(context.Background(), &awscw.DescribeAlarmsInput{})
		if err != nil || !out.MetricAlarms[0].StateUpdatedTimestamp.Equal(at) {
			t.Fatalf("%s came back as %+v, %v", at, out, err)
		}
	}
}

func TestOneRoomInThreeProtocols(t *testing.T) {
	s := newTower(t)
	var got *awscw.DescribeAlarmsInput
	at := time.Unix(1_800_000_000, 0)
	s.alarms.describe = func(in *awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) {
		got = in
		return &awscw.DescribeAlarmsOutput{MetricAlarms: []cwtypes.MetricAlarm{{AlarmName: aws.String("a"),
			StateUpdatedTimestamp: &at}}}, nil
	}
	auth := signed("123456789012", "eu-west-1", "monitoring")
	names := cbor.Map{"AlarmNames": cbor.List{cbor.String("a")}, "MaxRecords": cbor.Uint(5)}
	for _, c := range []struct {
		name, path, body, want string
		header                 map[string]string
	}{
		{"CBOR", "/service/" + granite + "/operation/DescribeAlarms", string(cbor.Encode(names)), "\xc1\x1akI\xd2\x00",
			map[string]string{"Authorization": auth, "Smithy-Protocol": "rpc-v2-cbor",
				"Content-Type": "application/cbor"}},
		{"CBOR of indefinite length", "/x/service/" + granite + "/operation/DescribeAlarms",
			"\xbf\x6aAlarmNames\x9f\x7f\x60\x61a\xff\xff\x6aMaxRecords\x05\x64Nope\xf6\xff", "MetricAlarms",
			map[string]string{"Authorization": auth, "Smithy-Protocol": "rpc-v2-cbor",
				"Content-Type": "application/cbor"}},
		{"query", "/", "Action=DescribeAlarms&Version=2010-08-01&AlarmNames.member.1=a&MaxRecords=5",
			"<StateUpdatedTimestamp>2027-01-15T08:00:00Z</StateUpdatedTimestamp>",
			map[string]string{"Authorization": auth, "Content-Type": formType}},
		{"JSON", "/", `{"AlarmNames":["a"],"MaxRecords":5}`, `"StateUpdatedTimestamp":1800000000`,
			map[string]string{"Authorization": auth, "X-Amz-Target": granite + ".DescribeAlarms",
				"Content-Type": "application/x-amz-json-1.0"}},
	} {
		got = nil
		res, body := s.postTo(t, c.path, c.header, c.body)
		if res.StatusCode != 200 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %q, want %q", c.name, res.StatusCode, body, c.want)
		}
		if got == nil || !reflect.DeepEqual(got.AlarmNames, []string{"a"}) || aws.ToInt32(got.MaxRecords) != 5 {
			t.Errorf("%s: %+v arrived", c.name, got)
		}
		if want := c.header["Content-Type"]; want != formType && res.Header.Get("Content-Type") != want {
			t.Errorf("%s: content type %q", c.name, res.Header.Get("Content-Type"))
		}
	}
}

func (s *site) postTo(t *testing.T, path string, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", "http://sim"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	res, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_, _ = b.ReadFrom(res.Body)
	return res, b.String()
}

func TestRefusalsInThreeProtocols(t *testing.T) {
	for _, c := range []struct{ code, typed, old string }{
		{"InvalidFormatFault", "InvalidFormatFault", "InvalidFormat"},
		{"InvalidFormat", "InvalidFormatFault", "InvalidFormat"},
		{"ResourceNotFound", "ResourceNotFound", "ResourceNotFound"},
		{"ThrottlingException", "ThrottlingException", "Throttling"},
		{"ValidationError", "ValidationError", "ValidationError"},
	} {
		s := newTower(t)
		s.alarms.describe = func(*awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) {
			return nil, &world.Refusal{Code: c.code, Message: "a < b", Status: 404}
		}
		auth := signed("123456789012", "eu-west-1", "monitoring")
		res, body := s.postTo(t, "/service/"+granite+"/operation/DescribeAlarms",
			map[string]string{"Authorization": auth, "Smithy-Protocol": "rpc-v2-cbor"}, "")
		x, err := cbor.Decode([]byte(body))
		if want := (cbor.Map{"__type": cbor.String(c.typed), "message": cbor.String("a < b"),
			"Message": cbor.String("a < b")}); err != nil || !reflect.DeepEqual(x, want) || res.StatusCode != 404 {
			t.Errorf("%s by CBOR: %d %v %v", c.code, res.StatusCode, x, err)
		}
		if res.Header.Get("Smithy-Protocol") != "rpc-v2-cbor" ||
			res.Header.Get("X-Amzn-Query-Error") != c.old+";Sender" {
			t.Errorf("%s by CBOR: headers %v", c.code, res.Header)
		}
		res, body = s.postTo(t, "/", map[string]string{"Authorization": auth, "Content-Type": formType},
			"Action=DescribeAlarms&Version=2010-08-01")
		if !strings.Contains(body, "<Code>"+c.old+"</Code><Message>a &lt; b</Message>") || res.StatusCode != 404 {
			t.Errorf("%s by query: %d %s", c.code, res.StatusCode, body)
		}
		res, body = s.postTo(t, "/", map[string]string{"Authorization": auth, "X-Amz-Target": granite +
			".DescribeAlarms"}, "{}")
		if !strings.Contains(body, `"__type":"`+c.typed+`"`) ||
			res.Header.Get("X-Amzn-Query-Error") != c.old+";Sender" {
			t.Errorf("%s by JSON: %s %v", c.code, body, res.Header)
		}
	}
}

func TestOldCodesReachClientsBothWays(t *testing.T) {
	s := newTower(t)
	s.alarms.put = func(*awscw.PutMetricAlarmInput) error { return world.Refuse("InvalidFormatFault", "no") }
	in := filled[awscw.PutMetricAlarmInput](t)
	_, coded := s.client().PutMetricAlarm(context.Background(), in)
	_, direct := s.Call(s.direct(), "CloudWatch", "PutMetricAlarm", in)
	for _, err := range []error{coded, direct} {
		var typed *cwtypes.InvalidFormatFault
		if !errors.As(err, &typed) || typed.ErrorCode() != "InvalidFormat" || typed.ErrorMessage() != "no" {
			t.Errorf("got %v", err)
		}
	}
}

func TestRefusedCBOR(t *testing.T) {
	s := newTower(t)
	s.alarms.describe = func(*awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) { return nil, nil }
	auth := signed("123456789012", "eu-west-1", "monitoring")
	alarms := "/service/" + granite + "/operation/DescribeAlarms"
	for _, c := range []struct {
		name, auth, path, body string
		status                 int
		want                   string
	}{
		{"not CBOR", auth, alarms, "\x1f", 400, "SerializationException"},
		{"no map", auth, alarms, "\x80", 400, "a list can not be converted to a structure"},
		{"wrong type", auth, alarms, "\xa1\x6aAlarmNames\x61a", 400, "a String can not be converted to a list"},
		{"null in a list", auth, alarms, "\xa1\x6aAlarmNames\x81\xf6", 400, "null can not be a member of a list"},
		{"too large a number", auth, alarms, "\xa1\x6aMaxRecords\x1b\xff\xff\xff\xff\xff\xff\xff\xff", 400,
			"a number can not be converted to an Integer"},
		{"unknown operation", auth, "/service/" + granite + "/operation/Nope", "\xa0", 404,
			"UnknownOperationException"},
		{"another service's path", auth, "/service/X/operation/DescribeAlarms", "\xa0", 404,
			"UnknownOperationException"},
		{"no path", auth, "/", "\xa0", 404, "UnknownOperationException"},
		{"no such service", signed("k", "r", "s3"), "/service/S3/operation/GetObject", "\xa0", 400,
			"s3 is not simulated here"},
		{"unsigned", "", alarms, "\xa0", 403, "MissingAuthenticationToken"},
		{"a room without CBOR", signed("k", "r", "ecs"), alarms, "\xa0", 400, "UnknownOperationException"},
	} {
		header := map[string]string{"Smithy-Protocol": "rpc-v2-cbor"}
		if c.auth != "" {
			header["Authorization"] = c.auth
		}
		res, body := s.postTo(t, c.path, header, c.body)
		if res.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.name, res.StatusCode, body, c.status, c.want)
		}
	}
}

// The SDK packs bodies of 10 KiB and more.
func TestPackedCBOR(t *testing.T) {
	s := newTower(t)
	packed := false
	s.cfg.HTTPClient = &http.Client{Transport: watched(func(r *http.Request) (*http.Response, error) {
		packed = r.Header.Get("Content-Encoding") == "gzip"
		return s.RoundTrip(r)
	})}
	var got *awscw.PutMetricDataInput
	s.alarms.data = func(in *awscw.PutMetricDataInput) error { got = in; return nil }
	in := &awscw.PutMetricDataInput{Namespace: aws.String("n")}
	for range 500 {
		in.MetricData = append(in.MetricData, cwtypes.MetricDatum{MetricName: aws.String("requests"),
			Values: []float64{1, -2.5, 1e300}})
	}
	if _, err := s.client().PutMetricData(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if !packed || len(got.MetricData) != 500 || !reflect.DeepEqual(got.MetricData[499].Values,
		[]float64{1, -2.5, 1e300}) {
		t.Errorf("packed %t, arrived %d", packed, len(got.MetricData))
	}
}

type watched func(*http.Request) (*http.Response, error)

func (f watched) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whatever is sent, packed or not, the answer is CBOR: an input is echoed or
// refused.
func FuzzCBOR(f *testing.F) {
	for _, x := range []string{"\xa0", "\xbf\xff", "\xa1\x69AlarmName\x61a",
		"\xbf\x6aDimensions\x9f\xa1\x64Name\x61x\xff\xff",
		"\xa1\x69Threshold\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00",
		"\xa1\x72EvaluationCriteria\xa1\x6ePromQLCriteria\xa1\x65Query\x61q",
		"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "\xa1\x66Period\x39\xff\xff", "\xc1\xc1\xc1\x00", ""} {
		f.Add(x)
	}
	s := newTower(f)
	var echoed *awscw.PutMetricAlarmInput
	s.alarms.put = func(in *awscw.PutMetricAlarmInput) error { echoed = in; return nil }
	s.alarms.describe = func(*awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput, error) {
		return &awscw.DescribeAlarmsOutput{MetricAlarms: []cwtypes.MetricAlarm{{AlarmName: echoed.AlarmName,
			Dimensions: echoed.Dimensions,
			Threshold:  echoed.Threshold, Period: echoed.Period, EvaluationCriteria: echoed.EvaluationCriteria}}}, nil
	}
	f.Fuzz(func(t *testing.T, body string) {
		echoed = &awscw.PutMetricAlarmInput{}
		for _, operation := range []string{"PutMetricAlarm", "DescribeAlarms"} {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			_, _ = w.Write([]byte(body))
			_ = w.Close()
			res, answer := s.postTo(t, "/service/"+granite+"/operation/"+operation,
				map[string]string{"Smithy-Protocol": "rpc-v2-cbor",
					"Content-Encoding": "gzip", "Authorization": signed("k", "r", "monitoring")}, z.String())
			x, err := cbor.Decode([]byte(answer))
			if _, ok := x.(cbor.Map); err != nil || !ok || (res.StatusCode != 200 && res.StatusCode != 400) {
				t.Fatalf("%q is answered by %d %q", body, res.StatusCode, answer)
			}
		}
	})
}
