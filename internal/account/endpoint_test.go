package account_test

import (
	"context"
	"testing"

	"github.com/sluice-ecs/sluice/internal/account"
)

// The endpoint is that of ECS, and empty for every endpoint of AWS.
func TestECSEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		vars []string
		flag string
		want string
	}{
		"none":         {nil, "", ""},
		"the flag":     {[]string{"AWS_ENDPOINT_URL=http://127.0.0.1:1"}, "http://127.0.0.1:3/", "http://127.0.0.1:3"},
		"the variable": {[]string{"AWS_ENDPOINT_URL=http://127.0.0.1:1"}, "", "http://127.0.0.1:1"},
		"the one of ECS": {[]string{"AWS_ENDPOINT_URL=http://a.test", "AWS_ENDPOINT_URL_ECS=http://b.test"}, "",
			"http://b.test"},
		"only one of STS":   {[]string{"AWS_ENDPOINT_URL_STS=http://127.0.0.1:1"}, "", ""},
		"a VPC endpoint":    {nil, "https://vpce-0-1.ecs.us-east-1.vpce.amazonaws.com", ""},
		"AWS in China":      {nil, "https://ecs.cn-north-1.amazonaws.com.cn", ""},
		"a name like AWS's": {nil, "https://amazonaws.com.example.test", "https://amazonaws.com.example.test"},
	} {
		t.Run(name, func(t *testing.T) {
			noFields(t, "", c.vars...)
			got, err := account.Config{EndpointURL: c.flag}.ECSEndpoint(context.Background())
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A call is in progress until its last attempt has ended.
func TestCallInProgress(t *testing.T) {
	noFields(t, "", key, "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=us-east-1")
	var log []string
	w := &wire{}
	at, err := withUnanswered(w, func(c *account.Config) {
		c.OnBegin = func(operation, _ string) func() {
			log = append(log, "begin "+operation)
			return func() { log = append(log, "end "+operation) }
		}
		c.OnCall = func(c account.Call) { log = append(log, "attempt "+c.Operation) }
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := describe(context.Background(), at); err != nil {
		t.Fatal(err)
	}
	want := []string{"begin ecs:DescribeServices", "attempt DescribeServices", "end ecs:DescribeServices"}
	if len(log) != 3 || log[0] != want[0] || log[1] != want[1] || log[2] != want[2] {
		t.Errorf("%q", log)
	}
}
